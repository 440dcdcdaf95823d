package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
)

// ErrMalformed says that an object could not be read, not even leniently. It
// holds nothing of the input.
var ErrMalformed = errors.New("input is not valid JSON")

// Fields is a JSON object whose fields are looked at one by one, so that a field
// of an unexpected type costs no other. Asking a field for a type that it does
// not have gives the zero value.
type Fields struct {
	values map[string]json.RawMessage
	// Repaired says that the text was no valid JSON and was mended: backslashes
	// in it may have been meant as such, so nothing with one can be trusted.
	Repaired bool
}

// Parse reads an object. A text that breaks the grammar only by backslashes
// that were not escaped, or by control characters inside of strings, is mended.
func Parse(object []byte) (Fields, error) {
	var f Fields
	if json.Unmarshal(object, &f.values) == nil && f.values != nil {
		return f, nil
	}
	f = Fields{Repaired: true}
	if json.Unmarshal(repair(object), &f.values) != nil {
		return Fields{}, ErrMalformed
	}
	if f.values == nil {
		return Fields{}, ErrNotObject
	}
	return f, nil
}

// Has says whether there is a field of this name that is not null.
func (f Fields) Has(name string) bool {
	raw, ok := f.values[name]
	return ok && !bytes.Equal(raw, []byte("null"))
}

// Text returns a field that is a string. A character that cannot be told (half
// of a surrogate pair, bytes that are not UTF-8) comes as U+FFFD.
func (f Fields) Text(name string) string {
	var s string
	if json.Unmarshal(f.values[name], &s) != nil {
		return ""
	}
	return s
}

// Number returns a field that is a whole number, or a string that holds one.
func (f Fields) Number(name string) int {
	var n float64
	raw := f.values[name]
	if s := f.Text(name); s != "" {
		raw = json.RawMessage(s)
	}
	if json.Unmarshal(raw, &n) != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return 0
	}
	return int(n)
}

// Object returns a field that is an object.
func (f Fields) Object(name string) Fields {
	inner := Fields{Repaired: f.Repaired}
	if json.Unmarshal(f.values[name], &inner.values) != nil {
		inner.values = nil
	}
	return inner
}

// List returns the objects of a field that is an array; other elements are left
// out.
func (f Fields) List(name string) []Fields {
	var raw []json.RawMessage
	if json.Unmarshal(f.values[name], &raw) != nil {
		return nil
	}
	var list []Fields
	for _, r := range raw {
		inner := Fields{Repaired: f.Repaired}
		if json.Unmarshal(r, &inner.values) == nil && inner.values != nil {
			list = append(list, inner)
		}
	}
	return list
}

// repair escapes, inside of strings, backslashes that start no JSON escape and
// control characters.
func repair(object []byte) []byte {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(object)+len(object)/8)
	inString := false
	for i := 0; i < len(object); i++ {
		c := object[i]
		switch {
		case c == '"':
			inString = !inString
			out = append(out, c)
		case !inString:
			out = append(out, c)
		case c == '\\' && isEscape(object[i+1:]):
			i++
			out = append(out, c, object[i])
		case c == '\\':
			out = append(out, '\\', '\\')
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return out
}

func isEscape(rest []byte) bool {
	if len(rest) == 0 {
		return false
	}
	if rest[0] == 'u' {
		return len(rest) >= 5 && len(bytes.Trim(rest[1:5], "0123456789abcdefABCDEF")) == 0
	}
	return bytes.IndexByte([]byte(`"\/bfnrt`), rest[0]) >= 0
}
