package snapshot

import (
	"errors"
	"strings"

	"github.com/turnback/turnback/internal/git"
)

// Refusal tells whether err, of a git that was to take paths from the disk, is
// about some of these alone, and for which reason a single one is left out. A
// store that cannot be written, a git that was killed or had no memory is no
// such thing. What git says in words not known here counts as NotStorable.
func Refusal(err error, paths []string) (reason string, ok bool) {
	var e *git.Error
	if !errors.As(err, &e) || e.Code != 128 && e.Code != 1 {
		return "", false
	}
	said := complaints(e.Stderr, paths)
	switch {
	case strings.Contains(said, ": clean filter '"):
		return Filter, true
	case containsAny(said, storeFailures()):
		return "", false
	case strings.Contains(said, "filter"):
		return Filter, true
	case strings.Contains(said, "invalid path"):
		return BadName, true
	case containsAny(said, unreadable()):
		return Unreadable, true
	}
	return NotStorable, true
}

// storeFailures are words for what hits every path alike.
func storeFailures() []string {
	return []string{
		"no space left", "disk quota exceeded", "object database", "repository database", "read-only file system", "unable to write",
		"unable to create temporary file", "file write error", "write error on", "unable to create thread", "index.lock", "out of memory",
		"cannot allocate memory", "too many open files", "unable to deflate", "error when closing",
	}
}

// unreadable are words for a file that cannot be read.
func unreadable() []string {
	return []string{
		"permission denied", "unable to process path", "short read", "input/output error", "unsupported file type", "is a directory",
		"symbolic link", "file name too long",
	}
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// complaints are git's own errors in stderr, in lower case, without the paths
// that could be taken for words of git. Filter programs write there too.
func complaints(stderr string, paths []string) string {
	var own []string
	for line := range strings.Lines(strings.ToLower(stderr)) {
		if strings.HasPrefix(line, "error:") || strings.HasPrefix(line, "fatal:") {
			own = append(own, line)
		}
	}
	said := strings.Join(own, "")
	words := append(append(storeFailures(), unreadable()...), "filter", "invalid path")
	for _, path := range paths {
		if path = strings.ToLower(path); containsAny(path, words) {
			said = strings.ReplaceAll(said, path, "")
		}
	}
	return said
}
