// Package jsontext changes a JSON text where a person or another program keeps
// it: only the bytes of what is added or taken away change, and the order of
// keys, the spacing and the line ends of the rest stay.
package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Value is a value of a text, with its place in it.
type Value struct {
	Kind     byte // '{', '[', '"', '0' for a number, 't', 'f', 'n'
	From, To int  // the bytes text[From:To]
	Members  []Member
	Elements []Value
}

// Member is a key of an object with its value.
type Member struct {
	Key   string
	From  int // where the key starts
	Value Value
}

// Parse reads a text that is one JSON value.
func Parse(text []byte) (Value, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return Value{}, describe(text, err)
	}
	// The grammar holds, so the parser below need not look for faults.
	p := parser{text: text}
	return p.value(), nil
}

func describe(text []byte, err error) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	line, column := 1, 1
	for _, c := range text[:min(max(syntax.Offset-1, 0), int64(len(text)))] {
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	return fmt.Errorf("line %d, column %d: %w", line, column, syntax)
}

// Get returns the value of key; of a repeated key the last, as agents read it.
func (v Value) Get(key string) (Value, bool) {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return v.Members[i].Value, true
		}
	}
	return Value{}, false
}

// Repeated returns a key that v holds more than once, or an empty text.
func (v Value) Repeated() string {
	seen := map[string]bool{}
	for _, m := range v.Members {
		if seen[m.Key] {
			return m.Key
		}
		seen[m.Key] = true
	}
	return ""
}

// Len is the number of members or elements.
func (v Value) Len() int { return len(v.Members) + len(v.Elements) }

// String returns the text of a string; ok is false for another kind of value.
func (v Value) String(text []byte) (s string, ok bool) {
	if v.Kind != '"' {
		return "", false
	}
	return s, json.Unmarshal(text[v.From:v.To], &s) == nil
}

// items are the places of the members or elements.
func (v Value) items() [][2]int {
	var list [][2]int
	for _, m := range v.Members {
		list = append(list, [2]int{m.From, m.Value.To})
	}
	for _, e := range v.Elements {
		list = append(list, [2]int{e.From, e.To})
	}
	return list
}

type parser struct {
	text []byte
	at   int
}

func (p *parser) blanks() {
	for p.at < len(p.text) && isBlank(p.text[p.at]) {
		p.at++
	}
}

func (p *parser) value() Value {
	p.blanks()
	v := Value{Kind: p.text[p.at], From: p.at}
	switch v.Kind {
	case '{', '[':
		p.items(&v)
	case '"':
		p.skipString()
	default:
		if v.Kind == '-' || v.Kind >= '0' && v.Kind <= '9' {
			v.Kind = '0'
		}
		for p.at < len(p.text) && !isBlank(p.text[p.at]) && !isDelimiter(p.text[p.at]) {
			p.at++
		}
	}
	v.To = p.at
	return v
}

func (p *parser) items(v *Value) {
	end := byte(']')
	if v.Kind == '{' {
		end = '}'
	}
	p.at++
	for p.blanks(); p.text[p.at] != end; p.blanks() {
		switch {
		case p.text[p.at] == ',':
			p.at++
		case v.Kind == '{':
			v.Members = append(v.Members, p.member())
		default:
			v.Elements = append(v.Elements, p.value())
		}
	}
	p.at++
}

func (p *parser) member() Member {
	m := Member{From: p.at}
	p.skipString()
	// A key that is half of a surrogate pair decodes too, to U+FFFD.
	_ = json.Unmarshal(p.text[m.From:p.at], &m.Key)
	p.blanks()
	p.at++ // the colon
	m.Value = p.value()
	return m
}

func (p *parser) skipString() {
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
}

func isBlank(c byte) bool     { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isDelimiter(c byte) bool { return c == ',' || c == '}' || c == ']' || c == ':' }
