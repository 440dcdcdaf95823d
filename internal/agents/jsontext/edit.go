package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Style is how a text is laid out.
type Style struct {
	indent  string // one step; empty: all on one line
	newline string
}

// StyleOf tells the layout of text, whose root is v: the step by which the first
// member of the root is indented, else two blanks. A text on one line that has
// members stays on one line.
func StyleOf(text []byte, v Value) Style {
	s := Style{indent: "  ", newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	items := v.items()
	if len(items) == 0 {
		return s
	}
	if !bytes.ContainsRune(text[v.From:v.To], '\n') {
		return Style{}
	}
	if step := indentAt(text, items[0][0]); step != "" && startsLine(text, items[0][0]) {
		s.indent = step
	}
	return s
}

// Append returns text with one more member (key not empty) or element at the end
// of container, which is a value of text.
func Append(text []byte, container Value, s Style, key string, value any) ([]byte, error) {
	items := container.items()
	inline := s.indent == "" ||
		len(items) > 0 && !bytes.ContainsRune(text[container.From:container.To], '\n')
	outer := indentAt(text, container.From)
	inner := outer + s.indent
	if len(items) > 0 && !inline && startsLine(text, items[0][0]) {
		inner = indentAt(text, items[0][0])
	}
	item, err := render(key, value, inline, inner, s)
	if err != nil {
		return nil, err
	}
	switch {
	case len(items) == 0 && inline:
		return splice(text, container.From+1, container.To-1, item), nil
	case len(items) == 0:
		return splice(text, container.From+1, container.To-1, s.newline+inner+item+s.newline+outer), nil
	case inline:
		end := items[len(items)-1][1]
		gap := "," + strings.TrimPrefix(between(text, items), ",")
		return splice(text, end, end, gap+item), nil
	default:
		end := items[len(items)-1][1]
		return splice(text, end, end, ","+s.newline+inner+item), nil
	}
}

// between is what stands between the items of a container on one line: ", " or
// ",", as its first two have it.
func between(text []byte, items [][2]int) string {
	if len(items) < 2 {
		return ", "
	}
	return string(text[items[0][1]:items[1][0]])
}

// Remove returns text without the members or elements of container whose places
// in it are listed. A container that is left without any is empty, with nothing
// between its brackets.
func Remove(text []byte, container Value, places ...int) []byte {
	items := container.items()
	if len(places) == len(items) {
		return splice(text, container.From+1, container.To-1, "")
	}
	slices.Sort(places)
	for _, i := range slices.Backward(places) {
		if last := len(items) - 1; i == last {
			text = splice(text, items[i-1][1], items[i][1], "")
			items = items[:last]
			continue
		}
		// All that comes before stays where it is; what follows is not needed any more.
		text = splice(text, items[i][0], items[i+1][0], "")
		shift := items[i+1][0] - items[i][0]
		items = slices.Delete(items, i, i+1)
		for j := i; j < len(items); j++ {
			items[j][0] -= shift
			items[j][1] -= shift
		}
	}
	return text
}

// Replace returns text with value in the place of old.
func Replace(text []byte, old Value, s Style, value any) ([]byte, error) {
	inline := s.indent == "" || !bytes.ContainsRune(text[old.From:old.To], '\n') && old.Len() > 0
	item, err := render("", value, inline, indentAt(text, old.From), s)
	if err != nil {
		return nil, err
	}
	return splice(text, old.From, old.To, item), nil
}

// render writes a value, and a key before it if there is one.
func render(key string, value any, inline bool, indent string, s Style) (string, error) {
	text, err := encode(value)
	if err != nil {
		return "", err
	}
	gap := ": "
	if inline && s.indent == "" {
		gap = ":"
	}
	if !inline {
		var b bytes.Buffer
		if err := json.Indent(&b, text, indent, s.indent); err != nil {
			return "", fmt.Errorf("indent: %w", err)
		}
		text = bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(s.newline))
	}
	if key == "" {
		return string(text), nil
	}
	name, err := encode(key)
	if err != nil {
		return "", err
	}
	return string(name) + gap + string(text), nil
}

// encode writes a value as agents do: characters of HTML are not escaped.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func splice(text []byte, from, to int, with string) []byte {
	return slices.Concat(text[:from], []byte(with), text[to:])
}

// indentAt is the blank text that the line of at starts with.
func indentAt(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// startsLine says that only blanks stand before at in its line.
func startsLine(text []byte, at int) bool {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return len(bytes.TrimLeft(line, " \t")) == 0
}
