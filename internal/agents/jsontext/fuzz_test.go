package jsontext

import (
	"encoding/json"
	"testing"
)

// FuzzParse parses settings files of agents: what is JSON is taken, and nothing else.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}],"c":"\u0000\""}`))
	f.Add([]byte(" [ ] \n"))
	f.Add([]byte("{,}"))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := Parse(text); (err == nil) != json.Valid(text) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
