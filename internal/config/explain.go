package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/turnback/turnback/internal/nearest"
)

// explain says in the words of the file what the decoder did not take.
func explain(err error) []Problem {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		out := make([]Problem, 0, len(missing.Errors))
		for _, e := range missing.Errors {
			out = append(out, unknownKey(&e))
		}
		return out
	}
	decode, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		return []Problem{{Text: strings.TrimPrefix(err.Error(), "toml: ")}}
	}
	line, _ := decode.Position()
	text := strings.TrimPrefix(decode.Error(), "toml: ")
	if p, ok := wrongKind(decode.Key(), text); ok {
		p.Line = line
		return []Problem{p}
	}
	return []Problem{{Line: line, Key: strings.Join(decode.Key(), "."), Text: text}}
}

func unknownKey(e *toml.DecodeError) Problem {
	line, _ := e.Position()
	key := e.Key()
	p := Problem{Line: line, Key: strings.Join(key, "."), Text: "unknown key"}
	if len(key) == 0 {
		return p
	}
	p.Accepted = keysOf(key[:len(key)-1])
	p.DidYouMean = nearest.Word(key[len(key)-1], p.Accepted)
	return p
}

// wrongKind reads the decoder's text about a value of a kind that the key does
// not take. It names the Go field that it could not fill, which in an inline
// table lies deeper than the key that it gives.
func wrongKind(key []string, text string) (Problem, bool) {
	var found string
	if value, ok := strings.CutPrefix(text, "cannot decode TOML "); ok {
		var target string
		found, target, _ = strings.Cut(value, " into ")
		field, _, _ := strings.Cut(strings.TrimPrefix(target, "struct field "), " of type ")
		if deeper := fieldKey(reflect.TypeFor[Config](), nil, field); deeper != nil {
			key = deeper
		}
	} else if value, ok := strings.CutPrefix(text, "cannot store "); ok {
		found, _, _ = strings.Cut(value, " in a ")
		found = strings.TrimPrefix(strings.TrimPrefix(found, "an "), "a ")
	}
	takes := kindOf(key)
	for ; takes == "" && len(key) > 0; takes = kindOf(key) {
		key = key[:len(key)-1] // a table below a key that takes none
	}
	if found == "" || len(key) == 0 {
		return Problem{}, false
	}
	p := Problem{Key: strings.Join(key, "."), Accepted: []string{takes}}
	if more := accepted(p.Key); more != "" {
		p.Accepted[0] += ", " + more
	}
	p.Text = "takes " + p.Accepted[0] + ", not " + named(found)
	return p, true
}

// fieldKey is the key of a Go field, given as config.Checkpoints.Keep; nil:
// there is none.
func fieldKey(typ reflect.Type, above []string, field string) []string {
	for i := range typ.NumField() {
		f := typ.Field(i)
		key := append(slices.Clone(above), f.Tag.Get("toml"))
		if typ.String()+"."+f.Name == field {
			return key
		}
		if f.Type.Kind() == reflect.Struct {
			if below := fieldKey(f.Type, key, field); below != nil {
				return below
			}
		}
	}
	return nil
}

// kindOf is the kind of value that a key takes; empty: there is no such key.
func kindOf(key []string) string {
	typ := reflect.TypeFor[Config]()
	for _, name := range key {
		if typ = below(typ, name); typ == nil {
			return ""
		}
	}
	switch typ.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a string"
	default:
		return "a table"
	}
}

// named puts the decoder's name of a kind into a sentence.
func named(kind string) string {
	switch kind {
	case "integer":
		return "a whole number"
	case "float":
		return "a floating point number"
	}
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}
