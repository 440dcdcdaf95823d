package git

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrBadPath says that a path must not be in a tree or a work tree.
var ErrBadPath = errors.New("path is not allowed")

// CheckPath applies git's own path checks to a path relative to the root, on
// every system alike: no empty component, no "." or "..", nothing that a file
// system could take for ".git".
func CheckPath(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if err := CheckName(part); err != nil {
			return fmt.Errorf("%w in %.200q", err, path)
		}
	}
	return nil
}

// CheckName is CheckPath for one component.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || isDotGit(name) {
		return fmt.Errorf("%w: component %.80q", ErrBadPath, name)
	}
	return nil
}

// isDotGit tells whether a case-folding, HFS+ or NTFS file system could take
// name for .git.
func isDotGit(name string) bool {
	if len(name) < 4 {
		return false
	}
	folded := strings.ToLower(dropIgnoredRunes(name))
	if folded == ".git" {
		return true
	}
	// NTFS drops dots and spaces at the end, takes ":" for a stream and "\" for a
	// separator, and knows .git by its short name too.
	for _, short := range []string{".git", "git~1"} {
		if rest, ok := strings.CutPrefix(folded, short); ok {
			if i := strings.IndexAny(rest, ":\\"); i >= 0 {
				rest = rest[:i]
			}
			if strings.Trim(rest, " .") == "" {
				return true
			}
		}
	}
	return false
}

// dropIgnoredRunes removes the code points that HFS+ does not compare.
func dropIgnoredRunes(name string) string {
	if !utf8.ValidString(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
}
