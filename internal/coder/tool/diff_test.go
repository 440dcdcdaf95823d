package tool_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/coder/tool"
)

// shown is what the person is shown before a call of a tool; they say no.
func shown(t *testing.T, b *bench, name string, words ...string) string {
	t.Helper()
	b.no = true
	b.run(t.Context(), name, words...)
	if len(b.asked) == 0 {
		t.Fatal("nobody was asked")
	}
	ask := b.asked[len(b.asked)-1]
	if ask.Diff == nil {
		t.Fatalf("asked about %q without what changes", ask.Line)
	}
	return ask.Line + "\n" + ask.Diff()
}

func TestAPersonIsShownWhatChanges(t *testing.T) {
	var lines []string
	for _, c := range "abcdefghijklmnop" {
		lines = append(lines, string(c)+"\n")
	}
	text := strings.Join(lines, "")
	two := strings.Replace(strings.Replace(text, "c\n", "C\n", 1), "n\n", "N\nNN\n", 1)
	long := strings.Repeat("é", 1000)
	for name, c := range map[string]struct {
		before string // "-": no file
		tool   []string
		want   string
	}{
		"an edit":       {text, []string{"edit", "path", "f", "old", "e\nf", "new", "E\nF"}, "edit f\n  c\n  d\n- e\n- f\n+ E\n+ F\n  g\n  h"},
		"in a line":     {"one two\n", []string{"edit", "path", "f", "old", "two", "new", "three"}, "edit f\n- one two\n+ one three"},
		"taken out":     {"a\nb\nc\n", []string{"edit", "path", "f", "old", "b\n", "new", ""}, "edit f\n  a\n- b\n  c"},
		"a new file":    {"-", []string{"write", "path", "f", "content", "a\nb"}, "write f (1 lines)\n+ a\n+ b [no line feed at its end]"},
		"two places":    {text, []string{"write", "path", "f", "content", two}, "write f (17 lines)\n  a\n  b\n- c\n+ C\n  d\n  e\n  [6 lines stay]\n  l\n  m\n- n\n+ N\n+ NN\n  o\n  p"},
		"all of it":     {"a\n", []string{"write", "path", "f", "content", ""}, "write f (0 lines)\n- a"},
		"nothing":       {"a\n", []string{"write", "path", "f", "content", "a\n"}, "write f (1 lines)\nnothing changes"},
		"the end of it": {"a", []string{"write", "path", "f", "content", "a\n"}, "write f (1 lines)\n- a [no line feed at its end]\n+ a"},
		"no text":       {"a\x00b", []string{"write", "path", "f", "content", "a\n"}, "write f (1 lines)\n[in the place of 3 bytes that cannot be shown]\n+ a"},
		"a long line":   {"-", []string{"write", "path", "f", "content", long + "\n"}, "write f (1 lines)\n+ " + long[:400] + " [cut: 800 more characters]"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if c.before != "-" {
				b.write("f", c.before)
			}
			if got := shown(t, b, c.tool[0], c.tool[1:]...); got != c.want {
				t.Errorf("shown:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestWhatIsShownOfAChangeIsBounded(t *testing.T) {
	b := newBench(t)
	b.write("f", strings.Repeat("old\n", 5000))
	for _, lines := range []int{300, 5000} { // the second is more than is compared line by line
		got := strings.Split(shown(t, b, "write", "path", "f", "content", strings.Repeat("new\n", lines)), "\n")
		if len(got) > 90 {
			t.Errorf("%d lines are shown", len(got))
		}
		if all := strings.Join(got, "\n"); !strings.Contains(all, "lines are not shown here, of which 4960 go and") || !strings.HasSuffix(all, "+ new") {
			t.Errorf("shown:\n%s", all)
		}
	}
}

// Out of the work tree the file itself is not looked at before the person allows it.
func TestOutsideOnlyTheArgumentsAreShown(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(filepath.Dir(b.Root), "f")
	if err := os.WriteFile(path, []byte("secret one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, words := range map[string][]string{
		"- one [no line feed at its end]\n+ two [no line feed at its end]": {"edit", "path", path, "old", "one", "new", "two"},
		"+ two [no line feed at its end]":                                  {"write", "path", path, "content", "two"},
	} {
		if got, all := shown(t, b, words[0], words[1:]...), words[0]+" "+path+", outside the work tree\n"+want; got != all {
			t.Errorf("shown:\n%s\nwant:\n%s", got, all)
		}
	}
}

func TestAFileThatChangesWhileThePersonIsAskedIsLeftAlone(t *testing.T) {
	b := newBench(t)
	b.write("f", "one two\n")
	b.Permit = func(context.Context, tool.Ask) error {
		b.write("f", "one two three\n")
		return nil
	}
	got := b.run(t.Context(), "edit", "path", "f", "old", "two", "new", "2")
	if !strings.Contains(got, "was changed while the user was asked") {
		t.Errorf("result %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(b.Root, "f")); err != nil || string(data) != "one two three\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}
