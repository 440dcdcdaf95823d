package ui

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/coder/tool"
)

func TestAQuestionShowsTheWhole(t *testing.T) {
	got := question(tool.Ask{Line: "run echo ...", Whole: "echo\x1b[2J\r hi\nrm -rf x"})
	if want := "? run echo ...\n    echo\\x1b[2J\\r hi\n    rm -rf x\n? that, as it stands above,"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	ask := tool.Ask{Line: "edit a\nb\x1b[1m", Diff: func() string { return "- a\u202eb\u200b\n+ c\u009b" }}
	if got, want := question(ask), "? edit a\\nb\\x1b[1m\n    - a\\u{202e}b\\u{200b}\n    + c\\x9b\n? that, as it stands above,"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := question(tool.Ask{Line: "write a (1 lines)"}); got != "? write a (1 lines)" {
		t.Errorf("got %q", got)
	}
}

// The question is about one command; who answers "a" to it allows all others too.
func TestAQuestionSaysWhatAlwaysAllows(t *testing.T) {
	for want, ask := range map[string]tool.Ask{
		"y / n / a = every command of this session": {Tool: "bash"},
		"y / n / a = every write of this session":   {Tool: "write"},
		"y / n / a = every edit of this session":    {Tool: "edit"},
		"y / n":                                     {Tool: "write", Outside: true},
	} {
		if got := choices(ask); got != want {
			t.Errorf("%+v: %q, want %q", ask, got, want)
		}
	}
}

func TestNoKeyOfALineIsAnAnswer(t *testing.T) {
	for _, c := range []struct {
		chunks  string // parted by |
		outside bool
		want    string
	}{
		{chunks: "y", want: "yes"},
		{chunks: "y\r", want: "yes"},
		{chunks: "N", want: "no"},
		{chunks: "a", want: "always"},
		{chunks: "a", outside: true},
		{chunks: "yes please\r"},
		{chunks: "w|h|a|t|\r"},
		{chunks: "w|h|a|t|\r|y", want: "yes"},
		{chunks: "w|h|\x03", want: "no"},
		{chunks: "w|\x1b", want: "no"},
		{chunks: "\x1b[200~a long text|y"},
	} {
		k, got := answerKeys{outside: c.outside}, ""
		for chunk := range strings.SplitSeq(c.chunks, "|") {
			if answer, known := k.take([]byte(chunk)); known {
				got = map[Answer]string{No: "no", Yes: "yes", Always: "always"}[answer]
			}
		}
		if got != c.want {
			t.Errorf("%q is the answer %q, want %q", c.chunks, got, c.want)
		}
	}
}
