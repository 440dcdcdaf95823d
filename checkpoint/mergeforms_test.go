package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// wide encodes text in UTF-16 with a byte order mark.
func wide(text string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		if lo, hi := byte(u), byte(u>>8); big {
			b.Write([]byte{hi, lo})
		} else {
			b.Write([]byte{lo, hi})
		}
	}
	return b.String()
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// mixed ends every third line with "\r\n".
func mixed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch line {
		case "3\n", "6\n", "9\n", "neun\n", "three\n":
			line = crlf(line)
		}
		b.WriteString(line)
	}
	return b.String()
}

// TestB53MergedTextsKeepTheirFormOnDisk takes a turn back whose file was edited
// since, in each form that a file can have on disk.
func TestB53MergedTextsKeepTheirFormOnDisk(t *testing.T) {
	const attributes = "*.txt text\n*.u16 text working-tree-encoding=UTF-16\n*.crlf.u16 eol=crlf\n"
	for path, form := range map[string]func(string) string{
		"lf.txt": func(s string) string { return s }, "crlf.txt": crlf, "mixed.txt": mixed,
		"little.u16": func(s string) string { return wide(s, false) }, "big.u16": func(s string) string { return wide(s, true) },
		"ends.u16": func(s string) string { return wide(crlf(s), false) }, "set.crlf.u16": func(s string) string { return wide(crlf(s), true) },
	} {
		for _, how := range []string{"revert", "undo"} {
			t.Run(fmt.Sprintf("B53 %s, %s", path, how), func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, map[string]string{".gitattributes": attributes})
				r.WriteAll(map[string]string{path: form(tenLines), "taken" + path: form(tenLines)})
				r.take("zero", func() { r.Write("zero", "") })
				two := strings.Replace(tenLines, "2\n", "two\n", 1)
				c := r.take("one", func() { r.WriteAll(map[string]string{path: form(two), "taken" + path: form(two)}) })
				r.Write(path, form(strings.Replace(two, "9\n", "neun\n", 1)))
				before := r.Tree(".git")
				res, err := r.revert(c.N)
				if how == "undo" {
					req := r.request(0)
					req.KeepEdits = true
					r.restore(res.Safety.N)
					res, err = r.store.Undo(t.Context(), req)
				}
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]string{path: form(strings.Replace(tenLines, "9\n", "neun\n", 1)), "taken" + path: form(tenLines)}
				got := map[string]string{path: r.Read(path), "taken" + path: r.Read("taken" + path)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("on disk (- want, + got):\n%s", diff)
				}
				r.restore(res.Safety.N)
				if diff := cmp.Diff(before, r.Tree(".git")); diff != "" {
					t.Errorf("taken back (- before, + now):\n%s", diff)
				}
			})
		}
	}
}
