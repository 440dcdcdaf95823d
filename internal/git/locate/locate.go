// Package locate looks for the git program.
package locate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrMissing says that no usable git was found.
var ErrMissing = errors.New("git not found")

// Git gives the absolute path of git: the one that the configuration names, if it
// names any, else the first of path, a list like PATH. Entries are passed over
// that are relative, inside a work tree, or writable by others.
func Git(configured, path string) (string, error) {
	if configured != "" {
		if !filepath.IsAbs(configured) {
			return "", fmt.Errorf("%w: config names %q, which is not an absolute path", ErrMissing, configured)
		}
		if !isProgram(configured) {
			return "", fmt.Errorf("%w: config names %q, which is no program", ErrMissing, configured)
		}
		return configured, nil
	}
	var passed []string
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, "git")
		if !filepath.IsAbs(dir) || !isProgram(candidate) {
			continue
		}
		if why := untrusted(dir, candidate); why != "" {
			passed = append(passed, candidate+" ("+why+")")
			continue
		}
		return candidate, nil
	}
	if len(passed) > 0 {
		return "", fmt.Errorf("%w: passed over %s", ErrMissing, strings.Join(passed, ", "))
	}
	return "", fmt.Errorf("%w in PATH", ErrMissing)
}

// untrusted says why a git in dir may not be used; empty: it may.
func untrusted(dir, program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "unreadable"
	}
	for _, p := range []string{dir, filepath.Dir(real), real} {
		st, err := os.Stat(p)
		if err != nil {
			return "unreadable"
		}
		if st.Mode().Perm()&0o002 != 0 {
			return "writable by others"
		}
	}
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return "inside a work tree"
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}
