package payload

import (
	"encoding/json"
	"errors"
	"testing"
)

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestFieldsOfAnyType(t *testing.T) {
	f, err := Parse([]byte(`{"text":"x","number":7,"list":[{"a":"b"},3,null,"s"],"object":{"a":"b"},"null":null,"half":"\ud800!",
		"word":"12","large":1e300,"float":1.5,"bad":"x1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if f.Text("text") != "x" || f.Text("number") != "" || f.Text("list") != "" || f.Text("absent") != "" || f.Text("null") != "" {
		t.Error("Text takes what is no string")
	}
	if got := f.Text("half"); got != "\uFFFD!" {
		t.Errorf("half of a pair = %q", got)
	}
	if f.Number("number") != 7 || f.Number("word") != 12 || f.Number("text") != 0 || f.Number("large") != 0 || f.Number("float") != 0 || f.Number("bad") != 0 {
		t.Error("Number takes what is no whole number")
	}
	if f.Object("object").Text("a") != "b" || f.Object("text").Text("a") != "" || f.Object("null").Has("a") {
		t.Error("Object takes what is no object")
	}
	if l := f.List("list"); len(l) != 1 || l[0].Text("a") != "b" {
		t.Errorf("List has %d objects, want the one", len(l))
	}
	if f.List("object") != nil || !f.Has("text") || f.Has("null") || f.Has("absent") {
		t.Error("List or Has is wrong")
	}
}

func TestRepair(t *testing.T) {
	tests := []struct {
		in, want string
		repaired bool
	}{
		{`{"p":"C:\\Users\\d"}`, `C:\Users\d`, false},
		{`{"p":"C:\Users\d"}`, `C:\Users\d`, true},
		{`{"p":"\\server\Share"}`, `\server\Share`, true},
		{`{"p":"C:\Üx"}`, `C:\Üx`, true},
		{`{"p":"\u00e9\uXYZ1"}`, `é\uXYZ1`, true},
		{"{\"p\":\"a\nb\x01\"}", "a\nb\x01", true},
		{`{"q":"C:\x","p":"say \"hi\""}`, `say "hi"`, true},
	}
	for _, tt := range tests {
		f, err := Parse([]byte(tt.in))
		if err != nil {
			t.Errorf("Parse(%s): %v", tt.in, err)
			continue
		}
		if got := f.Text("p"); got != tt.want || f.Repaired != tt.repaired {
			t.Errorf("Parse(%s) gives %q, repaired %v; want %q, %v", tt.in, got, f.Repaired, tt.want, tt.repaired)
		}
		if inner := f.Object("none"); inner.Repaired != f.Repaired {
			t.Errorf("Parse(%s): an inner object does not know that the text was mended", tt.in)
		}
	}
	for _, in := range []string{``, `{`, `{"a":}`, `{"a":1,}`, `[1]`, `null`, `"x"`, `{'a':1}`} {
		if _, err := Parse([]byte(in)); !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrNotObject) {
			t.Errorf("Parse(%s) = %v, want an error", in, err)
		}
	}
}
