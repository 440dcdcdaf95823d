// Package dotgit knows the names that a file system could take for ".git".
package dotgit

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// Is tells whether a case-folding, HFS+ or NTFS file system could take
// name, or for NTFS a part of it behind a backslash, for .git.
func Is(name string) bool {
	if isNameOnHFS(name, ".git") {
		return true
	}
	for part := range backslashed(name) {
		for _, taken := range []string{".git", "git~1"} {
			rest, ok := cutFolded(part, taken)
			if rest, _, _ = strings.Cut(rest, `\`); ok && isDroppedByNTFS(rest) {
				return true
			}
		}
	}
	return false
}

// IsModules is Is for .gitmodules.
func IsModules(name string) bool {
	if isNameOnHFS(name, ".gitmodules") {
		return true
	}
	for part := range backslashed(name) {
		rest, ok := cutFolded(part, ".gitmodules")
		if !ok {
			rest, ok = cutShortName(part)
		}
		if ok && isDroppedByNTFS(rest) {
			return true
		}
	}
	return false
}

// backslashed gives the whole name, and what stands behind each backslash in it
// but one at its start: those git takes for separators.
func backslashed(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(name) {
			if i == 0 && !yield(name) || i > 0 && name[i] == '\\' && !yield(name[i+1:]) {
				return
			}
		}
	}
}

// cutShortName cuts an 8.3 name off that NTFS could give .gitmodules: the first
// six letters and a number up to 4, or the hashed form with any number.
func cutShortName(name string) (rest string, ok bool) {
	if rest, ok := cutFolded(name, "gitmod~"); ok && rest != "" && rest[0] >= '1' && rest[0] <= '4' {
		return rest[1:], true
	}
	const hashed, length = "gi7eba", 8
	if len(name) < length {
		return "", false
	}
	letters, number, ok := strings.Cut(name[:length], "~")
	if _, known := cutFolded(hashed, letters); !ok || !known || number == "" || number[0] == '0' {
		return "", false
	}
	return name[length:], strings.Trim(number, "0123456789") == ""
}

// cutFolded is strings.CutPrefix, whatever the case of ASCII letters.
func cutFolded(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) {
		return s, false
	}
	for i := range len(prefix) {
		if lower(s[i]) != lower(prefix[i]) {
			return s, false
		}
	}
	return s[len(prefix):], true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// isDroppedByNTFS tells whether NTFS passes over the end of a name: dots and
// spaces, and whatever stands behind a ":", which names a stream.
func isDroppedByNTFS(end string) bool {
	end, _, _ = strings.Cut(end, ":")
	return strings.Trim(end, " .") == ""
}

// isNameOnHFS tells whether HFS+ could take name for want, which is ASCII in
// lower case: it folds case and passes over some code points. As in git, a name
// ends where it is not UTF-8.
func isNameOnHFS(name, want string) bool {
	for {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == utf8.RuneError && size <= 1, r == 0xfffe, r == 0xffff:
			return want == ""
		case isIgnoredByHFS(r):
		case want == "" || r >= utf8.RuneSelf || lower(byte(r)) != want[0]:
			return false
		default:
			want = want[1:]
		}
		name = name[size:]
	}
}

// isIgnoredByHFS tells whether HFS+ passes over r when it compares names.
func isIgnoredByHFS(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}
