package ui

import (
	"strings"
	"testing"
)

func TestWhatIsPastedIsOneLine(t *testing.T) {
	long := strings.Repeat("a long line\n", 1000)
	for _, c := range []struct{ name, keys, line, whole string }{
		{"typed", "a line", "a line", "a line"},
		{"short", pasteStart + "one\r\ntwo\rthree" + pasteEnd + "!", pasteStart + "one␤two␤three" + pasteEnd + "!", "one\ntwo\nthree!"},
		{"long", "see " + pasteStart + long + pasteEnd, "see " + pasteStart + "[pasted 1: 1000 lines, 12000 characters]" + pasteEnd, "see " + long},
		{"with escapes", pasteStart + "a\x1b[2Jb\x03" + pasteEnd, pasteStart + "[pasted 1: 1 lines, 7 characters]" + pasteEnd, "a\x1b[2Jb\x03"},
		{"with the sign for a line feed", pasteStart + "a␤\nb" + pasteEnd, pasteStart + "[pasted 1: 2 lines, 4 characters]" + pasteEnd, "a␤\nb"},
		{"two", pasteStart + "\ta" + pasteEnd + pasteStart + "\tb" + pasteEnd, pasteStart + "[pasted 1: 1 lines, 2 characters]" + pasteEnd + pasteStart + "[pasted 2: 1 lines, 2 characters]" + pasteEnd, "\ta\tb"},
		{"an interrupt", "\x03", string(rune(breakKey)), string(rune(breakKey))},
	} {
		for _, piece := range []int{1, 5, len(c.keys)} {
			var p pastes
			var line string
			for keys := c.keys; keys != ""; {
				n := min(piece, len(keys))
				line += string(p.filter([]byte(keys[:n])))
				keys = keys[n:]
			}
			if line != c.line {
				t.Errorf("%s, in pieces of %d: the editor gets %q, want %q", c.name, piece, line, c.line)
			}
			edited := strings.NewReplacer(pasteStart, "", pasteEnd, "").Replace(line)
			if got := p.whole(edited); got != c.whole {
				t.Errorf("%s: the line is %.60q, want %.60q", c.name, got, c.whole)
			}
		}
	}
}
