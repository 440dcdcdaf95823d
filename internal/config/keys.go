package config

import (
	"reflect"
	"slices"
)

// keysOf lists the keys that a table takes; none when there is no such table.
func keysOf(table []string) []string {
	typ := reflect.TypeFor[Config]()
	for _, name := range table {
		if typ = below(typ, name); typ == nil {
			return nil
		}
	}
	if typ.Kind() != reflect.Struct {
		return nil
	}
	return tags(typ)
}

// below is the type of a key of a table; nil when the table has no such key. A
// table of tables takes any name.
func below(table reflect.Type, name string) reflect.Type {
	switch table.Kind() {
	case reflect.Map:
		return table.Elem()
	case reflect.Struct:
		if i := slices.Index(tags(table), name); i >= 0 {
			return table.Field(i).Type
		}
	}
	return nil
}

func tags(typ reflect.Type) []string {
	out := make([]string, 0, typ.NumField())
	for i := range typ.NumField() {
		out = append(out, typ.Field(i).Tag.Get("toml"))
	}
	return out
}
