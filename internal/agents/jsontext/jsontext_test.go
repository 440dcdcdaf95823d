package jsontext

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func parse(t testing.TB, text string) Value {
	t.Helper()
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParsePlaces(t *testing.T) {
	text := ` { "a\"" : [1, -2.5e3,true , null,"x]"] , "b":{} } `
	v := parse(t, text)
	var got []string
	var walk func(Value)
	walk = func(v Value) {
		got = append(got, string(v.Kind)+" "+text[v.From:v.To])
		for _, m := range v.Members {
			got = append(got, "key "+m.Key+" at "+text[m.From:m.From+2])
			walk(m.Value)
		}
		for _, e := range v.Elements {
			walk(e)
		}
	}
	walk(v)
	want := []string{
		"{ " + strings.TrimSpace(text), `key a" at "a`, `[ [1, -2.5e3,true , null,"x]"]`, "0 1", "0 -2.5e3", "t true", "n null", `" "x]"`,
		`key b at "b`, "{ {}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

func TestParseSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": 1,\n}": "line 3, column 1", "": "line 1, column 1", "{} x": "line 1, column 4", "{\"a\"": "line 1",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q in it", text, err, want)
		}
	}
}

func TestAppendAndRemove(t *testing.T) {
	tests := []struct {
		name, text, key string
		value           any
		want            string
	}{
		{"a member to none", "{}", "k", 1, "{\n  \"k\": 1\n}"},
		{"an element to none, on one line", "[]", "", 1, "[\n  1\n]"},
		{"a member", "{\n  \"a\": 1\n}\n", "k", []int{1}, "{\n  \"a\": 1,\n  \"k\": [\n    1\n  ]\n}\n"},
		{"tabs", "{\n\t\"a\": 1\n}\n", "k", []int{1}, "{\n\t\"a\": 1,\n\t\"k\": [\n\t\t1\n\t]\n}\n"},
		{"on one line", `{"a":1,"b":2}`, "k", map[string]int{"x": 1}, `{"a":1,"b":2,"k":{"x":1}}`},
		{"on one line with blanks", `{"a":1, "b":2}`, "k", 3, `{"a":1, "b":2, "k":3}`},
		{"an element", "[\r\n 1,\r\n 2\r\n]", "", "<&>", "[\r\n 1,\r\n 2,\r\n \"<&>\"\r\n]"},
		{"members on the line of the bracket", "{\"a\": 1,\n \"b\": 2}", "k", 3, "{\"a\": 1,\n \"b\": 2,\n  \"k\": 3}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := parse(t, tt.text)
			got, err := Append([]byte(tt.text), v, StyleOf([]byte(tt.text), v), tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Append (-want +got):\n%s", diff)
			}
			after := parse(t, string(got))
			if back := string(Remove(got, after, after.Len()-1)); back != tt.text {
				t.Errorf("Remove: %q, want %q", back, tt.text)
			}
		})
	}
}

func TestReplace(t *testing.T) {
	text := "{\n  \"a\": {\n    \"b\": \"old\"\n  }\n}\n"
	v := parse(t, text)
	a, _ := v.Get("a")
	b, _ := a.Get("b")
	got, err := Replace([]byte(text), b, StyleOf([]byte(text), v), "new")
	if want := strings.Replace(text, "old", "new", 1); err != nil || string(got) != want {
		t.Errorf("Replace: %q, %v, want %q", got, err, want)
	}
	got, err = Replace([]byte(text), a, StyleOf([]byte(text), v), map[string]any{"c": []int{1}})
	if want := "{\n  \"a\": {\n    \"c\": [\n      1\n    ]\n  }\n}\n"; err != nil || string(got) != want {
		t.Errorf("Replace: %q, %v, want %q", got, err, want)
	}
}

func TestRepeatedKeys(t *testing.T) {
	v := parse(t, `{"a":1,"b":2,"a":3}`)
	if v.Repeated() != "a" || parse(t, `{"a":1}`).Repeated() != "" {
		t.Error("Repeated is wrong")
	}
	if a, ok := v.Get("a"); !ok || a.From != 17 {
		t.Errorf("Get gives the value at %d, want the last", a.From)
	}
}

// Removing any of the elements leaves the values of the others in their order.
func TestRemoveAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.String(), 1, 6).Draw(t, "list")
		indent := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent")
		text, err := json.MarshalIndent(list, "", indent)
		if indent == "" {
			text, err = json.Marshal(list)
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var places []int
		want := []string{}
		for i, s := range list {
			if rapid.Bool().Draw(t, "remove") {
				places = append(places, i)
			} else {
				want = append(want, s)
			}
		}
		if len(places) == 0 {
			return
		}
		after := Remove(text, v, places...)
		var got []string
		if err := json.Unmarshal(after, &got); err != nil {
			t.Fatalf("%v in %q", err, after)
		}
		var plain []string
		if raw, err := json.Marshal(want); err != nil || json.Unmarshal(raw, &plain) != nil || !reflect.DeepEqual(plain, got) {
			t.Fatalf("Remove(%q, %v) = %q", text, places, after)
		}
	})
}
