// Package ui is how our agent talks: lines in a terminal, plain text or JSON for
// scripts.
package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/loop"
	"github.com/turnback/turnback/internal/coder/provider"
)

// Face is a loop's face that also tells the end.
type Face interface {
	loop.Face
	// Ended tells that the turn of a headless run is over.
	Ended(sessionID string, ok bool)
}

// Lines writes what the model says to one writer, and what is about it to another.
type Lines struct {
	Text, About io.Writer
	Colour      bool
	Terminal    bool // Text is one: what it might act on is left out

	inText bool // the last piece did not end a line
}

var _ Face = (*Lines)(nil)

// Said implements loop.Face.
func (l *Lines) Said(text string) {
	if l.Terminal {
		text = Harmless(text)
	}
	if text == "" {
		return
	}
	_, _ = io.WriteString(l.Text, text)
	l.inText = !strings.HasSuffix(text, "\n")
}

// endText ends a line of the model's that is open.
func (l *Lines) endText() {
	if l.inText {
		_, _ = io.WriteString(l.Text, "\n")
		l.inText = false
	}
}

// about writes a line that is not the model's.
func (l *Lines) about(text string) {
	l.endText()
	text = Harmless(strings.ReplaceAll(text, "\n", " "))
	if l.Colour {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	_, _ = io.WriteString(l.About, text+"\n")
}

// Calling implements loop.Face.
func (l *Lines) Calling(_, _, line string, _ []byte) { l.about("* " + line) }

// Called implements loop.Face: only what went wrong is shown.
func (l *Lines) Called(_, _, result string, isError bool) {
	if isError {
		l.about("  " + shorten(lastLine(result)))
	}
}

// Note implements loop.Face.
func (l *Lines) Note(text string) { l.about("! " + text) }

// Reported implements loop.Face.
func (l *Lines) Reported(r session.Rewind) {
	l.about("< rewound to the checkpoint: " + r.Goal)
}

// Used implements loop.Face.
func (l *Lines) Used(provider.Usage, int, int) { l.endText() }

// Compacted implements loop.Face.
func (l *Lines) Compacted(tokens int) {
	l.about(fmt.Sprintf("< the conversation was made shorter: a summary is in the place of %d tokens", tokens))
}

// Ended implements Face.
func (l *Lines) Ended(string, bool) { l.endText() }

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200]) + " ..."
	}
	return text
}

// Harmless leaves out what a terminal might act on.
func Harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// visible shows what a terminal might act on, or would not show, in the place of
// doing so: nobody can allow what is not seen.
func visible(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0xa0 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// JSON writes one JSON object a line.
type JSON struct{ Out io.Writer }

var _ Face = JSON{}

// line is one line, as docs/json.md tells.
type line struct {
	Type        string          `json:"type"` // text, call, result, note, rewind, usage, compaction, end
	Text        string          `json:"text,omitempty"`
	ID          string          `json:"id,omitempty"`
	Name        string          `json:"name,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	IsError     bool            `json:"is_error,omitempty"`
	Goal        string          `json:"goal,omitempty"`
	Report      string          `json:"report,omitempty"`
	Usage       *provider.Usage `json:"usage,omitempty"`
	BytesBefore int             `json:"bytes_before,omitempty"`
	BytesAfter  int             `json:"bytes_after,omitempty"`
	Tokens      int             `json:"tokens,omitempty"`
	Session     string          `json:"session,omitempty"`
	OK          *bool           `json:"ok,omitempty"`
}

func (j JSON) put(l line) {
	raw, err := provider.JSON(l)
	if err != nil {
		return // arguments that are no JSON never get here
	}
	_, _ = j.Out.Write(append(raw, '\n'))
}

// Said implements loop.Face.
func (j JSON) Said(text string) { j.put(line{Type: "text", Text: text}) }

// Calling implements loop.Face.
func (j JSON) Calling(id, name, _ string, args []byte) {
	if !json.Valid(args) {
		args = []byte("{}")
	}
	j.put(line{Type: "call", ID: id, Name: name, Arguments: args})
}

// Called implements loop.Face.
func (j JSON) Called(id, name, result string, isError bool) {
	j.put(line{Type: "result", ID: id, Name: name, Text: result, IsError: isError})
}

// Note implements loop.Face.
func (j JSON) Note(text string) { j.put(line{Type: "note", Text: text}) }

// Reported implements loop.Face.
func (j JSON) Reported(r session.Rewind) {
	j.put(line{Type: "rewind", Goal: r.Goal, Report: r.Report})
}

// Used implements loop.Face.
func (j JSON) Used(u provider.Usage, before, after int) {
	j.put(line{Type: "usage", Usage: &u, BytesBefore: before, BytesAfter: after})
}

// Compacted implements loop.Face.
func (j JSON) Compacted(tokens int) { j.put(line{Type: "compaction", Tokens: tokens}) }

// Ended implements Face.
func (j JSON) Ended(sessionID string, ok bool) { j.put(line{Type: "end", Session: sessionID, OK: &ok}) }
