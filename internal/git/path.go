package git

import (
	"errors"
	"fmt"
	"strings"

	"github.com/turnback/turnback/internal/git/dotgit"
)

// ErrBadPath says that a path must not be in a tree or a work tree.
var ErrBadPath = errors.New("path is not allowed")

// CheckPath applies git's own path checks (core.protectHFS, core.protectNTFS) to
// a path relative to the root, on every system alike: no empty component, no "."
// or "..", nothing that a file system could take for ".git".
func CheckPath(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if err := CheckName(part); err != nil {
			return fmt.Errorf("%w in %.200q", err, path)
		}
	}
	return nil
}

// CheckEntry is CheckPath for what has that mode in a tree: git follows no link
// called .gitmodules, and takes none.
func CheckEntry(path string, mode uint32) error {
	if mode == ModeLink && dotgit.IsModules(path[strings.LastIndexByte(path, '/')+1:]) {
		return fmt.Errorf("%w: link %.200q", ErrBadPath, path)
	}
	return CheckPath(path)
}

// CheckName is CheckPath for one component.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || dotgit.Is(name) {
		return fmt.Errorf("%w: component %.80q", ErrBadPath, name)
	}
	return nil
}
