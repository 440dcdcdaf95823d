package shell

import "testing"

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"api-feat-retry": "api-feat-retry", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'",
	} {
		if got := Word(in); got != want {
			t.Errorf("Word(%q) = %s, want %s", in, got, want)
		}
	}
}
