package gittest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Fingerprint is everything of a repository that belongs to the user, by name:
// "ref refs/heads/main" holds an object id, "file index" holds the hash of its
// bytes, small text files hold their text. Two of them compare with == of
// their parts, so [cmp.Diff] names what changed.
type Fingerprint map[string]string

// Fingerprint reads the index, HEAD, all refs outside refs/turnback (the stash
// is one), reflogs, configuration, hooks, and every other file of the git
// directory and of the linked work trees' git directories; but not objects,
// and nothing that turnback keeps for itself.
func (r *Repo) Fingerprint() Fingerprint {
	r.t.Helper()
	print := Fingerprint{}
	r.addRefs(print)
	common := r.Git("rev-parse", "--path-format=absolute", "--git-common-dir")
	err := filepath.WalkDir(common, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, common), string(filepath.Separator)))
		if d.IsDir() {
			if notTheUsers(name) {
				return fs.SkipDir
			}
			return nil
		}
		if name == "packed-refs" {
			return nil // read as refs: packing changes no ref
		}
		print["file "+name], err = fileValue(path, d)
		return err
	})
	if err != nil {
		r.t.Fatalf("take a fingerprint: %v", err)
	}
	return print
}

func (r *Repo) addRefs(print Fingerprint) {
	r.t.Helper()
	for line := range strings.Lines(r.Git("for-each-ref", "--format=%(refname) %(objectname) %(symref)")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, "refs/turnback/") {
			print["ref "+name] = value
		}
	}
}

// notTheUsers says whether a directory inside the git directory is left out:
// objects, refs (asked from git instead) and what turnback keeps, in the
// repository and in each linked work tree.
func notTheUsers(name string) bool {
	if rest, ok := strings.CutPrefix(name, "worktrees/"); ok {
		_, rest, _ = strings.Cut(rest, "/")
		return rest == "turnback" || rest == "refs/turnback" || rest == "logs/refs/turnback"
	}
	switch name {
	case "objects", "refs", "turnback", "logs/refs/turnback":
		return true
	}
	return false
}

func fileValue(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return info.Mode().String(), nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	const readable = 4096
	if len(content) > readable || strings.ContainsRune(string(content), 0) {
		return fmt.Sprintf("%v %d bytes %s", info.Mode(), len(content), sum(content)), nil
	}
	return fmt.Sprintf("%v %s", info.Mode(), content), nil
}

// Without returns the fingerprint less the parts whose name starts with one of
// the prefixes, for a command that is meant to change them.
func (f Fingerprint) Without(prefixes ...string) Fingerprint {
	rest := maps.Clone(f)
	maps.DeleteFunc(rest, func(name, _ string) bool {
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	})
	return rest
}

// Kinds of an [Entry].
const (
	File    = "file"
	Dir     = "dir"
	Link    = "link"
	Special = "special"
)

// Entry is one thing in a work tree.
type Entry struct {
	// Kind is File, Dir, Link or Special (a pipe, a socket, a device).
	Kind string
	// Mode holds the permission bits with setuid, setgid and sticky; zero for
	// a link, which has none of its own.
	Mode fs.FileMode
	// Sum is the SHA-256 of a file's bytes in hex, or the target of a link.
	Sum string
}

// Tree lists everything below dir by slash-separated path, folders too. A .git
// at the top of dir is left out; one deeper down is not. A path named in
// except is left out with all that is below it.
func Tree(t testing.TB, dir string, except ...string) map[string]Entry {
	t.Helper()
	tree := map[string]Entry{}
	walk(t, dir, except, func(name, path string, info fs.FileInfo) error {
		entry, err := entryOf(path, info)
		tree[name] = entry
		return err
	})
	return tree
}

// Tree lists the work tree: see the function of the same name.
func (r *Repo) Tree(except ...string) map[string]Entry {
	r.t.Helper()
	return Tree(r.t, r.Root, except...)
}

// Times lists the modification time of every file and link below dir, as
// [Tree] names them: an untouched file keeps its time.
func Times(t testing.TB, dir string, except ...string) map[string]time.Time {
	t.Helper()
	times := map[string]time.Time{}
	walk(t, dir, except, func(name, _ string, info fs.FileInfo) error {
		if !info.IsDir() {
			times[name] = info.ModTime()
		}
		return nil
	})
	return times
}

func walk(t testing.TB, dir string, except []string, visit func(name, path string, info fs.FileInfo) error) {
	t.Helper()
	skip := map[string]bool{".git": true}
	for _, path := range except {
		skip[path] = true
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if skip[name] {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return visit(name, path, info)
	})
	if err != nil {
		t.Fatalf("list %s: %v", dir, err)
	}
}

func entryOf(path string, info fs.FileInfo) (Entry, error) {
	mode := info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	switch {
	case info.IsDir():
		return Entry{Kind: Dir, Mode: mode}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return Entry{Kind: Link, Sum: target}, err
	case !info.Mode().IsRegular():
		return Entry{Kind: Special, Mode: mode, Sum: info.Mode().Type().String()}, nil
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrPermission) {
		return Entry{Kind: File, Mode: mode, Sum: "unreadable"}, nil
	}
	return Entry{Kind: File, Mode: mode, Sum: sum(content)}, err
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}
