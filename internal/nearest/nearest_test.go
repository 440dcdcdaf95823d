package nearest_test

import (
	"testing"

	"github.com/turnback/turnback/internal/nearest"
)

func TestWord(t *testing.T) {
	words := []string{"list-checkpoints", "restore-checkpoint", "undo", "redo", "keep", "enabled"}
	cases := []struct{ word, want string }{
		{"list-checkpoint", "list-checkpoints"},
		{"restroe-checkpoint", "restore-checkpoint"},
		{"udno", "undo"},
		{"keeep", "keep"},
		{"enabeld", "enabled"},
		{"keep", "keep"},
		{"xyzzy", ""},
		{"", ""},
		{"up", ""},
		{"frobnicate-all-things", ""},
	}
	for _, c := range cases {
		if got := nearest.Word(c.word, words); got != c.want {
			t.Errorf("Word(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}

func TestWordOfNone(t *testing.T) {
	if got := nearest.Word("undo", nil); got != "" {
		t.Errorf("Word with nothing to choose from = %q", got)
	}
}
