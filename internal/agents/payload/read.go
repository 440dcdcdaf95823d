// Package payload reads what an agent's hook gets on its standard input: one
// JSON object, in whatever way agents have been seen to write it (a byte order
// mark, UTF-16, Windows paths that are not escaped, an input that is never
// closed, fields of another type than announced).
package payload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Errors of Read. They hold nothing of the input.
var (
	ErrNotObject  = errors.New("input is not a JSON object")
	ErrIncomplete = errors.New("input ended in the middle of a JSON object")
	ErrEmpty      = errors.New("input is empty")
	ErrTooLarge   = errors.New("input is too large")
	ErrTimeout    = errors.New("input was not complete in time")
)

const chunkSize = 64 << 10

// Read reads r up to the end of the first complete JSON object and returns that
// object as UTF-8, without a byte order mark; what follows it is not looked at.
// It returns as soon as the object is complete, also when r stays open, and not
// later than deadline when r is an *os.File that can be polled (a pipe, a
// terminal). An object of more than limit bytes is read to its end, so that its
// writer is not hurt, and is ErrTooLarge.
func Read(r io.Reader, limit int, deadline time.Time) ([]byte, error) {
	in := inputOf(r, deadline)
	chunk := make([]byte, chunkSize)
	var d decoder
	var s scanner
	var object []byte
	size := 0
	for {
		n, err := in.Read(chunk)
		text := d.decode(chunk[:n])
		taken, state := s.scan(text)
		size += taken
		switch {
		case state == scanBad:
			return nil, ErrNotObject
		case size <= limit:
			object = append(object, text[s.skipped:taken]...)
		}
		s.skipped = 0
		switch {
		case state == scanDone && size > limit:
			return nil, ErrTooLarge
		case state == scanDone:
			return object, nil
		case err != nil:
			return nil, endOf(err, size, limit, len(object))
		}
	}
}

func endOf(err error, size, limit, got int) error {
	switch {
	case size > limit:
		return ErrTooLarge
	case errors.Is(err, ErrTimeout):
		return ErrTimeout
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("read input: %w", err)
	case got == 0:
		return ErrEmpty
	default:
		return ErrIncomplete
	}
}

// inputOf gives reads of r a deadline where that is possible.
func inputOf(r io.Reader, deadline time.Time) io.Reader {
	if f, ok := r.(*os.File); ok {
		return polled{f, deadline}
	}
	return untilReader{r, deadline}
}

// untilReader checks the deadline between reads: enough for a reader that
// always has something to give.
type untilReader struct {
	io.Reader
	deadline time.Time
}

func (u untilReader) Read(b []byte) (int, error) {
	if !time.Now().Before(u.deadline) {
		return 0, ErrTimeout
	}
	return u.Reader.Read(b)
}

// decoder turns the stream into UTF-8: it drops a byte order mark and reads
// UTF-16 where one announces it.
type decoder struct {
	rest  []byte // bytes that are not decoded yet
	order binary.ByteOrder
	known bool // the start of the stream has been looked at
}

func (d *decoder) decode(chunk []byte) []byte {
	if !d.known {
		d.rest = append(d.rest, chunk...)
		chunk = d.start()
	}
	if d.order == nil {
		return chunk
	}
	d.rest = append(d.rest, chunk...)
	var text []byte
	for len(d.rest) >= 2 {
		unit, width := rune(d.order.Uint16(d.rest)), 2
		if utf16.IsSurrogate(unit) {
			if len(d.rest) < 4 {
				break
			}
			if pair := utf16.DecodeRune(unit, rune(d.order.Uint16(d.rest[2:]))); pair != utf8.RuneError {
				unit, width = pair, 4
			}
		}
		text = utf8.AppendRune(text, unit)
		d.rest = d.rest[width:]
	}
	return text
}

// start looks for a byte order mark and returns the bytes behind it.
func (d *decoder) start() []byte {
	b := d.rest
	switch {
	case len(b) == 0, len(b) < 3 && b[0] == 0xEF, len(b) < 2 && b[0] >= 0xFE:
		return nil // may become a mark
	case b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF:
		b = b[3:]
	case len(b) >= 2 && b[0] == 0xFF && b[1] == 0xFE:
		d.order, b = binary.LittleEndian, b[2:]
	case len(b) >= 2 && b[0] == 0xFE && b[1] == 0xFF:
		d.order, b = binary.BigEndian, b[2:]
	}
	d.known, d.rest = true, nil
	return b
}

type scanState int

const (
	scanMore scanState = iota // the object is not complete
	scanDone
	scanBad // there is no object
)

// scanner finds the end of a JSON object by its brackets and strings alone; it
// does not check the rest of the grammar.
type scanner struct {
	depth    int
	inString bool
	escaped  bool
	skipped  int // bytes of the newest text that stand before the object
}

// scan returns how many bytes of text have been looked at, up to the end of the
// object where the state is scanDone.
func (s *scanner) scan(text []byte) (int, scanState) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case s.inString:
			i += s.skipText(text[i:]) - 1
		case s.depth == 0 && isBlank(c):
			s.skipped = i + 1
		case s.depth == 0 && c != '{':
			return i, scanBad
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth == 0 {
				return i + 1, scanDone
			}
		}
	}
	return len(text), scanMore
}

// skipText returns how many bytes of text, at least one, belong to the string
// that text is in, up to an escape or the string's end. Most of a large payload
// is passed over here.
func (s *scanner) skipText(text []byte) int {
	if s.escaped {
		s.escaped = false
		return 1
	}
	end := bytes.IndexByte(text, '"')
	if end < 0 {
		end = len(text)
	}
	if escape := bytes.IndexByte(text[:end], '\\'); escape >= 0 {
		s.escaped = true
		return escape + 1
	}
	if end == len(text) {
		return end
	}
	s.inString = false
	return end + 1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
