package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// formatVersion is what the trailer Turnback-Format says. A reader that meets
// another version calls the checkpoint damaged.
const formatVersion = "1"

const trailerPrefix = "Turnback-"

var errTrailers = errors.New("malformed trailers")

// trailers are the metadata of a commit: names in their order, one value each,
// held as they are written.
type trailers struct {
	names []string
	raw   map[string]string
}

func newTrailers() *trailers { return &trailers{raw: map[string]string{}} }

// add appends a trailer; an empty value is left out.
func (t *trailers) add(name, value string) { t.addRaw(name, escape(value, false)) }

// addList appends a trailer that holds a list; see splitList.
func (t *trailers) addList(name string, items [][]string) { t.addRaw(name, joinList(items)) }

func (t *trailers) addRaw(name, raw string) {
	if raw == "" {
		return
	}
	t.names = append(t.names, name)
	t.raw[name] = raw
}

// get gives a value, empty where there is none. parseTrailers saw to it that it
// can be read.
func (t *trailers) get(name string) string {
	value, err := unescape(t.raw[name])
	if err != nil {
		return ""
	}
	return value
}

// message is the commit message: a subject for people, then the trailers.
func (t *trailers) message(subject string) string {
	var b strings.Builder
	b.WriteString(subject)
	b.WriteString("\n\n")
	for _, name := range t.names {
		b.WriteString(trailerPrefix + name + ": " + t.raw[name] + "\n")
	}
	return b.String()
}

// parseTrailers reads the message of a commit of ours. A repeated trailer, a
// line that is none, and another version than ours are errors.
func parseTrailers(message string) (*trailers, error) {
	i := strings.Index(message, "\n\n")
	if i < 0 {
		return nil, fmt.Errorf("%w: there are none", errTrailers)
	}
	t := newTrailers()
	for line := range strings.Lines(message[i+2:]) {
		line = strings.TrimSuffix(line, "\n")
		name, raw, ok := strings.Cut(line, ": ")
		name, ours := strings.CutPrefix(name, trailerPrefix)
		if !ok || !ours || name == "" {
			return nil, fmt.Errorf("%w: %.60q", errTrailers, line)
		}
		if _, err := unescape(raw); err != nil {
			return nil, err
		}
		if _, twice := t.raw[name]; twice {
			return nil, fmt.Errorf("%w: %s stands twice", errTrailers, name)
		}
		t.names = append(t.names, name)
		t.raw[name] = raw
	}
	if v := t.get("Format"); v != formatVersion {
		return nil, fmt.Errorf("%w: format %.20q is not known", errTrailers, v)
	}
	return t, nil
}

// escape encodes value so that it stays on one line and comes back byte for
// byte: control characters, "%", and what is not UTF-8 become %XX; in a list,
// spaces and colons do too.
func escape(value string, inList bool) string {
	var b strings.Builder
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRuneInString(value[i:])
		c := value[i]
		edge := c == ' ' && (i == 0 || i == len(value)-1)
		switch {
		case r == utf8.RuneError && size <= 1, c < 0x20, c == 0x7f, c == '%', edge, inList && (c == ' ' || c == ':'), r == 0x85, r == 0x2028, r == 0x2029:
			for _, x := range []byte(value[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", x)
			}
		default:
			b.WriteString(value[i : i+size])
		}
		i += size
	}
	return b.String()
}

func unescape(raw string) (string, error) {
	if !strings.Contains(raw, "%") {
		return raw, nil
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '%' {
			b.WriteByte(raw[i])
			continue
		}
		if i+2 >= len(raw) || unhex(raw[i+1]) < 0 || unhex(raw[i+2]) < 0 {
			return "", fmt.Errorf("%w: broken escape in %.60q", errTrailers, raw)
		}
		b.WriteByte(byte(unhex(raw[i+1])<<4 | unhex(raw[i+2])))
		i += 2
	}
	return b.String(), nil
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// joinList encodes a list of lists of words as one trailer value: fields are
// parted by colons, items by spaces.
func joinList(items [][]string) string {
	words := make([]string, len(items))
	for i, fields := range items {
		escaped := make([]string, len(fields))
		for k, f := range fields {
			escaped[k] = escape(f, true)
		}
		words[i] = strings.Join(escaped, ":")
	}
	return strings.Join(words, " ")
}

// splitList decodes what joinList made; every item must have n fields.
func splitList(value string, n int) ([][]string, error) {
	var items [][]string
	if value == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(value, " ") {
		fields := strings.Split(word, ":")
		if len(fields) != n {
			return nil, fmt.Errorf("%w: broken list item %.60q", errTrailers, word)
		}
		for i := range fields {
			var err error
			if fields[i], err = unescape(fields[i]); err != nil {
				return nil, err
			}
		}
		items = append(items, fields)
	}
	return items, nil
}
