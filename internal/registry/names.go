package registry

import (
	"path/filepath"
	"strconv"
	"strings"
)

// SessionName is the name of the session of a work tree: the tree's base name;
// for a linked work tree the repository's name, a hyphen and the branch, with
// hyphens for its slashes. branch is empty when none is checked out.
func SessionName(root, commonDir, branch string, linked bool) string {
	if !linked || branch == "" {
		return filepath.Base(root)
	}
	return repoName(commonDir) + "-" + strings.ReplaceAll(branch, "/", "-")
}

// repoName is the name of the folder that holds the git directory, or the git
// directory's own name where it is a bare one.
func repoName(commonDir string) string {
	base := filepath.Base(commonDir)
	if base == ".git" {
		return filepath.Base(filepath.Dir(commonDir))
	}
	return strings.TrimSuffix(base, ".git")
}

// freeName returns name, with -2, -3 and so on when a live window of the
// session has it.
func (r *Registry) freeName(session, name string) string {
	free := name
	for n := 2; r.nameTaken(session, free); n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return free
}

func (r *Registry) nameTaken(session, name string) bool {
	for _, w := range r.windows {
		if w.Session == session && w.Name == name && !w.Gone {
			return true
		}
	}
	return false
}
