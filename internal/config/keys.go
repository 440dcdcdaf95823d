package config

import (
	"reflect"
	"slices"
)

// keysOf lists the keys that a table takes; none when there is no such table.
func keysOf(table []string) []string {
	typ := reflect.TypeFor[Config]()
	for _, name := range table {
		i := slices.Index(tags(typ), name)
		if i < 0 || typ.Field(i).Type.Kind() != reflect.Struct {
			return nil
		}
		typ = typ.Field(i).Type
	}
	return tags(typ)
}

func tags(typ reflect.Type) []string {
	out := make([]string, 0, typ.NumField())
	for i := range typ.NumField() {
		out = append(out, typ.Field(i).Tag.Get("toml"))
	}
	return out
}
