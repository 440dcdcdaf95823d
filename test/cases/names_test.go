package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

// oddNames are names that lists parted by lines, or quoted ones, get wrong.
func oddNames() []string {
	return []string{
		"日本語.txt", "quo\"te", "back\\slash", "new\nline", "tab\there", "return\rhere", " leading", "trailing ", "a -> b", "-n", "--output=x", ":(glob)**", ":!x", "*", "?", "[a]",
		"not\xffutf8", "esc\x1b[31m", "é", "e\u0301", "#hash", "!bang", "\"quoted\"", "$(touch pwned)", "a;b", "%41", "dir with/ space", "d/日本",
	}
}

func TestB22NamesThatGitWouldQuote(t *testing.T) {
	for _, quote := range []string{"", "false"} {
		t.Run("core.quotePath="+quote, func(t *testing.T) { oddNamesComeBack(t, quote, true) })
	}
}

func TestB23NamesThatLinesWouldBreak(t *testing.T) { oddNamesComeBack(t, "", false) }

func oddNamesComeBack(t *testing.T, quote string, tracked bool) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	if quote != "" {
		r.Git("config", "core.quotePath", quote)
	}
	fill := func(content string) {
		for i, name := range oddNames() {
			r.Write(name, fmt.Sprintf("%s %d\n", content, i))
		}
	}
	if tracked {
		fill("zero")
		r.Commit("odd names")
	}
	one := r.take(func() { fill("one") })
	then := r.Tree()
	two := r.take(func() {
		for _, name := range oddNames()[:10] {
			r.Remove(name)
		}
		r.Rename(oddNames()[11], oddNames()[11]+" moved\n")
		fill("two")
		r.Write("more\n", "m\n")
	})
	r.back(one.N, func() { same(t, "files of the first turn", then, r.Tree()) })
	now := r.Tree()
	r.restore(one.N)
	r.restore(two.N)
	same(t, "files of the second turn", now, r.Tree())
}

func TestB22APathOfADiffIsNoPattern(t *testing.T) {
	names := []string{":(glob)**", ":!x", "*", "?", "[a]", "a"}
	r := newRoom(t, map[string]string{"x": "1\n"})
	c := r.take(func() {
		for _, name := range names {
			r.Write(name, "1\n")
		}
	})
	for _, name := range names {
		d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: c.N, Paths: []string{name}, Context: 3})
		if err != nil || len(d.Files) != 1 || d.Files[0].Path != name || strings.Count(string(d.Patch), "\n@@ ") != 1 {
			t.Errorf("%q: %v, %+v", name, err, d.Files)
		}
	}
}

func TestB25TwoFormsOfOneNameAreTwoFiles(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	composed, decomposed := "caf\u00e9", "cafe\u0301"
	c := r.take(func() { r.Write(composed, "composed\n"); r.Write(decomposed, "decomposed\n") })
	r.take(func() { r.Remove(composed); r.Write(decomposed, "later\n") })
	r.back(c.N, func() {
		r.wantFile(composed, "composed\n")
		r.wantFile(decomposed, "decomposed\n")
	})
}

// TestB26ARenameOfCaseAloneLosesNothing is for file systems that tell case apart; a
// rename there never removes what it made. For others see the page of decisions.
func TestB26ARenameOfCaseAloneLosesNothing(t *testing.T) {
	r := newRoom(t, map[string]string{"README.md": "1\n", "App/x": "x\n"})
	one := r.take(func() { r.Write("README.md", "2\n") })
	two := r.take(func() { r.Rename("README.md", "readme.md"); r.Rename("App", "app") })
	r.wantPaths(two, "app/x", "readme.md")
	r.back(one.N, func() {
		r.wantFile("README.md", "2\n")
		r.wantFile("App/x", "x\n")
		if r.Exists("readme.md") || r.Exists("app") {
			t.Error("the later spelling is still there")
		}
	})
	r.restore(one.N)
	r.restore(two.N)
	r.wantFile("readme.md", "2\n")
	r.wantFile("app/x", "x\n")
}
