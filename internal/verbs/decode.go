package verbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/nearest"
)

// Decode reads data, one JSON object, into the struct that into points to. It is
// strict where encoding/json is not: an unknown or repeated name, a name in
// other case, null for a value, a missing parameter that is not optional, or
// anything after the object is an *api.Error with invalid_params that names the
// parameter. Empty data is an empty object.
func Decode(data []byte, into any) error {
	fields, err := fieldsOf(into)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	if err := checkObject(data, fields); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields() // of objects within
	if err := dec.Decode(into); err != nil {
		return explain(err, fields)
	}
	return nil
}

// checkObject walks the outermost object of data.
func checkObject(data []byte, fields []api.Field) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return explain(err, fields)
	}
	if start != json.Delim('{') {
		return api.Errorf(api.CodeInvalidParams, "the parameters are no JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return explain(err, fields)
		}
		name, ok := key.(string)
		if !ok {
			return api.Errorf(api.CodeInvalidParams, "the parameters are no JSON object")
		}
		if err := checkName(name, seen, fields); err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return explain(err, fields)
		}
		if string(value) == "null" {
			return wrongType(name, "null", fields)
		}
	}
	if _, err := dec.Token(); err != nil {
		return explain(err, fields)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return api.Errorf(api.CodeInvalidParams, "there is more after the parameters' object")
	}
	for _, f := range fields {
		if !f.Optional && !seen[f.Name] {
			e := api.Errorf(api.CodeInvalidParams, "parameter %q is missing", f.Name)
			return e.WithHint(api.Hint{Param: f.Name, Accepted: []string{f.Type}})
		}
	}
	return nil
}

func checkName(name string, seen map[string]bool, fields []api.Field) error {
	names := make([]string, 0, len(fields))
	known := false
	for _, f := range fields {
		names = append(names, f.Name)
		known = known || f.Name == name
	}
	if !known {
		e := api.Errorf(api.CodeInvalidParams, "unknown parameter %q", name)
		return e.WithHint(api.Hint{Param: name, Accepted: names, DidYouMean: nearest.Word(strings.ToLower(name), names)})
	}
	if seen[name] {
		e := api.Errorf(api.CodeInvalidParams, "parameter %q is given twice", name)
		return e.WithHint(api.Hint{Param: name})
	}
	seen[name] = true
	return nil
}

// explain turns an error of encoding/json into one that names the parameter.
func explain(err error, fields []api.Field) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		// With embedded structs the path starts with the type's name.
		path := strings.Split(wrong.Field, ".")
		for _, name := range path {
			for _, f := range fields {
				if f.Name == name {
					return wrongType(name, wrong.Value, fields)
				}
			}
		}
		return wrongType(wrong.Field, wrong.Value, fields)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return api.Errorf(api.CodeInvalidParams, "the parameters end in the middle of a JSON value")
	}
	return api.Errorf(api.CodeInvalidParams, "the parameters are not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func wrongType(name, got string, fields []api.Field) error {
	for _, f := range fields {
		if f.Name == name {
			e := api.Errorf(api.CodeInvalidParams, "parameter %q is %s, not %s", name, article(got), article(f.Type))
			return e.WithHint(api.Hint{Param: name, Accepted: []string{f.Type}})
		}
	}
	return api.Errorf(api.CodeInvalidParams, "a parameter is %s", article(got)).WithHint(api.Hint{Param: name})
}

// article puts "a" or "an" before a type's name; "number 1.5" and null stand as
// they are.
func article(kind string) string {
	switch {
	case kind == "null", strings.HasPrefix(kind, "number "):
		return kind
	case strings.ContainsAny(kind[:1], "aeiou"):
		return "an " + kind
	default:
		return "a " + kind
	}
}

// fieldsOf lists the parameters of the struct that into points to, embedded
// structs' fields among them, in order.
func fieldsOf(into any) ([]api.Field, error) {
	typ := reflect.TypeOf(into)
	if typ == nil || typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("parameters must be a pointer to a struct, not %T", into)
	}
	return structFields(typ.Elem()), nil
}

func structFields(typ reflect.Type) []api.Field {
	var out []api.Field
	for i := range typ.NumField() {
		sf := typ.Field(i)
		tag, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case sf.Anonymous && tag == "":
			out = append(out, structFields(sf.Type)...)
			continue
		case !sf.IsExported(), tag == "-":
			continue
		case tag == "":
			tag = sf.Name
		}
		optional := sf.Type.Kind() == reflect.Pointer || strings.Contains(options, "omitempty")
		out = append(out, api.Field{Name: tag, Type: typeName(sf.Type), Optional: optional})
	}
	return out
}

func typeName(typ reflect.Type) string {
	switch typ.Kind() {
	case reflect.Pointer:
		return typeName(typ.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice, reflect.Array:
		return "array of " + typeName(typ.Elem()) + "s"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Struct, reflect.Map:
		return "object"
	default:
		return "integer"
	}
}
