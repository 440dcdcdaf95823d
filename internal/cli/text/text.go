// Package text turns the results of verbs into what a person reads. Its
// functions are pure: a result and a Format go in, text comes out.
package text

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Format is what the text depends on besides the result.
type Format struct {
	Now      time.Time // its location is the reader's time zone
	QuoteAll bool      // names: quote bytes from 0x80 up, as git does by default
}

// maxNames is how many names a line lists before it says how many more there are.
const maxNames = 20

// Name is a path as it is printed.
func (f Format) Name(path string) string { return screen.QuoteName(path, f.QuoteAll) }

// rawName is Name for a path that may not be UTF-8.
func (f Format) rawName(path, b64 string) string {
	if raw, err := base64.StdEncoding.DecodeString(b64); err == nil && b64 != "" {
		return f.Name(string(raw))
	}
	return f.Name(path)
}

// Taken is a time in a table: the clock time today, else with the date.
func (f Format) Taken(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	at = at.In(f.Now.Location())
	if at.Format(time.DateOnly) == f.Now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	if at.Year() == f.Now.Year() {
		return at.Format("Jan _2 15:04")
	}
	return at.Format("Jan _2 2006")
}

// nameList joins names, the first maxNames of total.
func nameList(names []string, total int) string {
	if len(names) > maxNames {
		names = names[:maxNames]
	}
	s := strings.Join(names, ", ")
	switch more := total - len(names); {
	case more <= 0:
		return s
	case s == "":
		return fmt.Sprintf("%d places", more)
	default:
		return fmt.Sprintf("%s and %d more", s, more)
	}
}

func (f Format) paths(paths []string) string {
	names := make([]string, 0, min(len(paths), maxNames))
	for _, p := range paths[:min(len(paths), maxNames)] {
		names = append(names, f.Name(p))
	}
	return nameList(names, len(paths))
}

func files(n int) string { return count(n, "file") }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short is an abbreviated object id.
func short(id string) string {
	if len(id) > 7 {
		return id[:7]
	}
	return dash(id)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ofPane is "SESSION, pane ID", the way every result names its window.
func (f Format) ofPane(p api.Pane) string {
	return f.Name(p.Session) + ", pane " + f.Name(p.Pane)
}

// lines collects the parts of an answer and writes them at once.
type lines struct{ b strings.Builder }

func (l *lines) addf(format string, args ...any) {
	fmt.Fprintf(&l.b, format, args...)
	l.b.WriteByte('\n')
}

func (l *lines) table(rows [][]string) {
	_ = screen.Table(&l.b, rows) // a strings.Builder takes everything
}

// take moves the first n lines of text to l and returns the rest.
func (l *lines) take(text string, n int) string {
	for ; n > 0; n-- {
		line, rest, _ := strings.Cut(text, "\n")
		l.addf("%s", line)
		text = rest
	}
	return text
}

func (l *lines) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, l.b.String())
	return err
}
