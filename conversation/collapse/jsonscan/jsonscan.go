// Package jsonscan reads JSON where it lies: it tells at which offsets values
// are and builds nothing, so that a text can be changed in places and the rest
// of it stays the same bytes. It goes over a text once and refuses what is not
// JSON, except that the encoding of characters is not looked at.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"unicode/utf8"
)

// Errors that a scan ends with.
var (
	ErrSyntax  = errors.New("not JSON")
	ErrTooDeep = errors.New("nested too deep")
	ErrTooLong = errors.New("too long")
)

// maxDepth is what encoding/json allows, too.
const maxDepth = 10_000

// Span is a part of a text, from the first byte to the one after the last.
type Span struct{ From, To int32 }

// Len is the number of bytes.
func (s Span) Len() int { return int(s.To - s.From) }

// In is the part itself; it shares the text's bytes.
func (s Span) In(text []byte) []byte { return text[s.From:s.To] }

// Scanner stands before a value of a text. The first error stays, and no call
// moves it on afterwards.
type Scanner struct {
	text  []byte
	at    int
	depth int
	err   error
}

// New stands before the one value of a text.
func New(text []byte) *Scanner { return Within(text, Span{0, int32(min(len(text), math.MaxInt32))}) }

// Within stands before the one value of a part of a text. Offsets are those of
// the whole text.
func Within(text []byte, part Span) *Scanner {
	s := &Scanner{at: int(part.From)}
	if len(text) >= math.MaxInt32 {
		s.err = ErrTooLong
		return s
	}
	s.text = text[:part.To]
	return s
}

// Err is the error that ended the scan.
func (s *Scanner) Err() error { return s.err }

// End fails unless only space is left.
func (s *Scanner) End() error {
	if s.space(); s.err == nil && s.at < len(s.text) {
		s.fail(ErrSyntax)
	}
	return s.err
}

// Kind is the first byte of the value that comes next: one of { [ " t f n, or
// the start of a number; 0 at the end of the text and after an error.
func (s *Scanner) Kind() byte {
	s.space()
	return s.peek()
}

// Object goes over an object's members. The function is called before each
// value, with the key as it reads; it may take the value by a call of the
// scanner's, and what it leaves is skipped. Anything but an object is an error.
func (s *Scanner) Object(member func(key []byte)) Span {
	from := s.open('{')
	for first := true; s.err == nil; first = false {
		if s.space(); s.peek() == '}' && first {
			break
		}
		if !first && !s.more('}') {
			break
		}
		key := s.key()
		if s.space(); s.peek() != ':' {
			s.fail(ErrSyntax)
			break
		}
		s.at++
		s.offer(func() { member(key) })
	}
	return s.close(from)
}

// Array goes over an array's elements, as Object does over members.
func (s *Scanner) Array(element func()) Span {
	from := s.open('[')
	for first := true; s.err == nil; first = false {
		if s.space(); s.peek() == ']' && first {
			break
		}
		if !first && !s.more(']') {
			break
		}
		s.offer(element)
	}
	return s.close(from)
}

// Skip goes over a value of any kind and tells where it is.
func (s *Scanner) Skip() Span {
	s.space()
	from := s.at
	switch c := s.peek(); c {
	case '{':
		return s.Object(func([]byte) {})
	case '[':
		return s.Array(func() {})
	case '"':
		s.str()
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
	return s.span(from)
}

// offer lets a function take a value, and skips it when the function did not.
func (s *Scanner) offer(take func()) {
	if s.space(); s.err != nil {
		return
	}
	at := s.at
	take()
	if s.err == nil && s.at == at {
		s.Skip()
	}
}

func (s *Scanner) open(bracket byte) (from int) {
	s.space()
	from = s.at
	switch {
	case s.peek() != bracket:
		s.fail(ErrSyntax)
	case s.depth == maxDepth:
		s.fail(ErrTooDeep)
	default:
		s.depth++
		s.at++
	}
	return from
}

// more goes over the comma between two members; false before the closing
// bracket.
func (s *Scanner) more(bracket byte) bool {
	switch s.peek() {
	case ',':
		s.at++
		s.space()
		return s.err == nil
	case bracket:
	default:
		s.fail(ErrSyntax)
	}
	return false
}

func (s *Scanner) close(from int) Span {
	if s.err == nil {
		s.depth--
		s.at++
	}
	return s.span(from)
}

func (s *Scanner) key() []byte {
	s.space()
	if s.peek() != '"' {
		s.fail(ErrSyntax)
		return nil
	}
	from := s.at
	if s.str(); s.err != nil {
		return nil
	}
	raw := s.text[from+1 : s.at-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	text, _ := Unquote(s.text[from:s.at])
	return []byte(text)
}

// str goes over a string; it stands at its first quote.
func (s *Scanner) str() {
	text, at := s.text, s.at+1
	for at < len(text) {
		switch c := text[at]; {
		case c == '"':
			s.at = at + 1
			return
		case c == '\\':
			n := escape(text[at:])
			if n == 0 {
				s.fail(ErrSyntax)
				return
			}
			at += n
		case c < ' ':
			s.fail(ErrSyntax)
			return
		default:
			at++
		}
	}
	s.fail(ErrSyntax)
}

// escape is the length of the escape that a text starts with, 0 when it is none.
func escape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) < 6 {
			return 0
		}
		for _, c := range text[2:6] {
			if !isHex(c) {
				return 0
			}
		}
		return 6
	}
	return 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *Scanner) word(word string) {
	if !bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		s.fail(ErrSyntax)
		return
	}
	s.at += len(word)
}

func (s *Scanner) number() {
	if s.err != nil {
		return
	}
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else {
		s.digits()
	}
	if s.peek() == '.' {
		s.at++
		s.digits()
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		s.digits()
	}
}

func (s *Scanner) digits() {
	from := s.at
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	if s.at == from {
		s.fail(ErrSyntax)
	}
}

func (s *Scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *Scanner) peek() byte {
	if s.err != nil || s.at >= len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func (s *Scanner) span(from int) Span {
	if s.err != nil {
		return Span{}
	}
	return Span{int32(from), int32(s.at)}
}

func (s *Scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Unquote reads a JSON string; false when it is none.
func Unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), value[len(value)-1] == '"' && bytes.IndexByte(inner, '"') < 0
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// Quote writes a string as JSON. Only what JSON wants escaped is.
func Quote(text string) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always encodes, and a buffer always takes it
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
