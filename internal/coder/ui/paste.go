package ui

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"

	// shownWhole is how long a text may be that is pasted into the line itself.
	shownWhole = 500
	// lineFeed stands in the line for one of a paste: the editor has a single line.
	lineFeed = "␤"
)

// pastes takes what is pasted out of the keys, so that its lines are no lines of
// their own: a short text goes into the line, a long one is kept and named there.
type pastes struct {
	in   bool
	tail []byte // of the keys; what is pasted, while in
	kept []string
}

// filter gives the keys for the editor.
func (p *pastes) filter(keys []byte) []byte {
	var out []byte
	for _, b := range keys {
		p.tail = append(p.tail, b)
		switch {
		case p.in && bytes.HasSuffix(p.tail, []byte(pasteEnd)):
			out = append(out, p.shown(string(p.tail[:len(p.tail)-len(pasteEnd)]))...)
			out = append(out, pasteEnd...)
			p.in, p.tail = false, nil
		case p.in:
		case b == ctrlC:
			out = append(out, breakKey)
		default:
			out = append(out, b)
			p.tail = p.tail[max(0, len(p.tail)-len(pasteStart)):]
			if string(p.tail) == pasteStart {
				p.in, p.tail = true, nil
			}
		}
	}
	return out
}

// shown is what stands in the line for a text.
func (p *pastes) shown(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if len(text) <= shownWhole && Harmless(text) == text && !strings.ContainsAny(text, "\t"+lineFeed) {
		return strings.ReplaceAll(text, "\n", lineFeed)
	}
	p.kept = append(p.kept, text)
	return p.name(len(p.kept) - 1)
}

// name names a text that was kept.
func (p *pastes) name(i int) string {
	lines := strings.Count(strings.TrimSuffix(p.kept[i], "\n"), "\n") + 1
	return fmt.Sprintf("[pasted %d: %d lines, %d characters]", i+1, lines, utf8.RuneCountInString(p.kept[i]))
}

// whole is a line with the texts that it names.
func (p *pastes) whole(line string) string {
	line = strings.ReplaceAll(line, lineFeed, "\n")
	if len(p.kept) == 0 {
		return line
	}
	names := make([]string, 0, 2*len(p.kept))
	for i, text := range p.kept {
		names = append(names, p.name(i), text)
	}
	return strings.NewReplacer(names...).Replace(line)
}
