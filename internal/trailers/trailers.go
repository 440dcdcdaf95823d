// Package trailers reads and writes the metadata of a commit of ours: lines
// "Turnback-Name: value" behind a subject, each name once, each value on one
// line and byte for byte what was put in.
package trailers

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Version is what the trailer Turnback-Format says. Another one is an error.
const Version = "1"

const prefix = "Turnback-"

// ErrMalformed says that a message holds something else than our trailers.
var ErrMalformed = errors.New("malformed trailers")

// Set is the metadata of a commit: names in their order, one value each, held as
// they are written.
type Set struct {
	names []string
	raw   map[string]string
}

// New makes a Set that says which version it is.
func New() *Set {
	t := &Set{raw: map[string]string{}}
	t.Add("Format", Version)
	return t
}

// Add appends a trailer; an empty value is left out.
func (t *Set) Add(name, value string) { t.addRaw(name, escape(value, false)) }

// AddList appends a trailer that holds a list of items with the same number of
// fields; see List.
func (t *Set) AddList(name string, items [][]string) { t.addRaw(name, joinList(items)) }

func (t *Set) addRaw(name, raw string) {
	if raw == "" {
		return
	}
	t.names = append(t.names, name)
	t.raw[name] = raw
}

// Get gives a value, empty where there is none. Parse saw to it that it can be
// read.
func (t *Set) Get(name string) string {
	value, err := unescape(t.raw[name])
	if err != nil {
		return ""
	}
	return value
}

// Message is the commit message: a subject for people, then the trailers.
func (t *Set) Message(subject string) string {
	var b strings.Builder
	b.WriteString(subject)
	b.WriteString("\n\n")
	for _, name := range t.names {
		b.WriteString(prefix + name + ": " + t.raw[name] + "\n")
	}
	return b.String()
}

// Parse reads the message of a commit of ours. A repeated trailer, a
// line that is none, and another version than ours are errors.
func Parse(message string) (*Set, error) {
	i := strings.Index(message, "\n\n")
	if i < 0 {
		return nil, fmt.Errorf("%w: there are none", ErrMalformed)
	}
	t := &Set{raw: map[string]string{}}
	for line := range strings.Lines(message[i+2:]) {
		line = strings.TrimSuffix(line, "\n")
		name, raw, ok := strings.Cut(line, ": ")
		name, ours := strings.CutPrefix(name, prefix)
		if !ok || !ours || name == "" {
			return nil, fmt.Errorf("%w: %.60q", ErrMalformed, line)
		}
		if _, err := unescape(raw); err != nil {
			return nil, err
		}
		if _, twice := t.raw[name]; twice {
			return nil, fmt.Errorf("%w: %s stands twice", ErrMalformed, name)
		}
		t.names = append(t.names, name)
		t.raw[name] = raw
	}
	if v := t.Get("Format"); v != Version {
		return nil, fmt.Errorf("%w: format %.20q is not known", ErrMalformed, v)
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
			return "", fmt.Errorf("%w: broken escape in %.60q", ErrMalformed, raw)
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

// Names lists the names in their order.
func (t *Set) Names() []string { return t.names }

// List gives the items of a list; every one must have n fields.
func (t *Set) List(name string, n int) ([][]string, error) { return splitList(t.raw[name], n) }

// splitList decodes what joinList made; every item must have n fields.
func splitList(value string, n int) ([][]string, error) {
	var items [][]string
	if value == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(value, " ") {
		fields := strings.Split(word, ":")
		if len(fields) != n {
			return nil, fmt.Errorf("%w: broken list item %.60q", ErrMalformed, word)
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
