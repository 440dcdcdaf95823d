// Package shell writes command lines that can be given to a POSIX shell as they are.
package shell

import "strings"

// Word quotes a word for a POSIX shell when it needs it.
func Word(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !safe(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func safe(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return strings.ContainsRune("-_./:@%+=,", r)
}
