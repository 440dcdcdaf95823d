package screen

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// QuoteName quotes a path as git prints it: as it is when it is harmless, else
// between double quotes with C escapes. With high, bytes from 0x80 up are
// escaped too (core.quotePath, git's default). Without it, only those are that
// a terminal might act on or that are not UTF-8.
func QuoteName(name string, high bool) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		escape := escapeByte
		switch {
		case size == 1:
			if plainByte(name[i]) {
				b.WriteByte(name[i])
				i++
				continue
			}
		case !high && !hiddenRune(r):
			b.WriteString(name[i : i+size])
			i += size
			continue
		default:
			escape = octal
		}
		quoted = true
		for _, c := range []byte(name[i : i+size]) {
			b.WriteString(escape(c))
		}
		i += size
	}
	if !quoted {
		return name
	}
	return `"` + b.String() + `"`
}

// HasHigh reports whether a name holds a byte that core.quotePath is about.
func HasHigh(name string) bool {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

func plainByte(c byte) bool {
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'
}

func escapeByte(c byte) string {
	const letters = "abtnvfr" // from 0x07 to 0x0d
	switch {
	case c == '"' || c == '\\':
		return `\` + string(c)
	case c >= 0x07 && c <= 0x0d:
		return `\` + string(letters[c-0x07])
	default:
		return octal(c)
	}
}

func octal(c byte) string { return fmt.Sprintf(`\%03o`, c) }

// hiddenRune reports runes that a terminal acts on instead of showing them: C1
// controls, and the marks that change the direction of the text around them.
func hiddenRune(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	case r == 0x200e, r == 0x200f, r == 0x061c, r == 0x2028, r == 0x2029:
		return true
	}
	return false
}

// Line makes text of unknown origin fit for one line of a terminal: what a
// terminal would act on is shown instead (^[ for escape, <U+202E>, <9B>).
func Line(s string) string { return visible(s, "") }

// Block is Line for text of many lines: line feeds and tabs stay.
func Block(s string) string { return visible(s, "\n\t") }

func visible(s, keep string) string {
	if !needsWork(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<%02X>", s[i])
		case r < 0x20 && strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteString("^" + string(r+'@'))
		case r == 0x7f:
			b.WriteString("^?")
		case hiddenRune(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func needsWork(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return true
		}
	}
	return false
}
