package checkpoint

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTrailersComeBackByteForByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.SliceOf(rapid.Byte()).Draw(rt, "value")
		items := rapid.SliceOfN(rapid.SliceOfN(rapid.StringN(1, 8, 30), 2, 2), 0, 4).Draw(rt, "items")
		w := newTrailers()
		w.add("Format", formatVersion)
		w.add("Label", string(value))
		w.addList("List", items)
		message := w.message("subject")
		if n := strings.Count(message, "\n"); n > 6 {
			rt.Fatalf("a value spans lines: %q", message)
		}
		r, err := parseTrailers(message)
		if err != nil {
			rt.Fatalf("parse %q: %v", message, err)
		}
		if r.get("Label") != string(value) {
			rt.Fatalf("%q came back as %q", value, r.get("Label"))
		}
		got, err := splitList(r.raw["List"], 2)
		if err != nil || !slices.EqualFunc(got, items, slices.Equal[[]string]) {
			rt.Fatalf("%q came back as %q (%v)", items, got, err)
		}
	})
}

func TestMalformedTrailersAreErrors(t *testing.T) {
	for name, message := range map[string]string{
		"none":            "subject\n",
		"repeated":        "s\n\nTurnback-Format: 1\nTurnback-N: 1\nTurnback-N: 2\n",
		"unknown version": "s\n\nTurnback-Format: 2\n",
		"no version":      "s\n\nTurnback-N: 1\n",
		"foreign line":    "s\n\nTurnback-Format: 1\nSigned-off-by: x\n",
		"broken escape":   "s\n\nTurnback-Format: 1\nTurnback-Label: %G1\n",
		"cut escape":      "s\n\nTurnback-Format: 1\nTurnback-Label: %4\n",
	} {
		if _, err := parseTrailers(message); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParseTrailers(f *testing.F) {
	f.Add("s\n\nTurnback-Format: 1\nTurnback-Label: a%20b\nTurnback-Left-Out: too%20large:big.bin\n")
	f.Add("s\n\nTurnback-Format: 1\n\n\n")
	f.Fuzz(func(t *testing.T, message string) {
		r, err := parseTrailers(message)
		if err != nil {
			return
		}
		for _, name := range r.names {
			if strings.ContainsAny(r.raw[name], "\n") {
				t.Errorf("%s spans lines", name)
			}
			_, _ = splitList(r.raw[name], 2)
		}
	})
}

func TestLabel(t *testing.T) {
	long := strings.Repeat("wörd ", 40)
	for _, c := range []struct{ name, in, want string }{
		{"first line", "Add a retry\nand more", "Add a retry"},
		{"first line with something on it", "\n \t\n  Add\ta   retry  \r\n", "Add a retry"},
		{"control characters", "a\x1b[31mred\x07\x00b", "a[31mredb"},
		{"direction marks", "a\u202eb\u200bc", "abc"},
		{"not UTF-8", "a\xffb", "a\uFFFDb"},
		{"empty", " \n", ""},
		{"anthropic key", "use sk-" + "ant-" + strings.Repeat("x1", 12) + " now", "use *** now"},
		{"github token", "push with ghp_abcdefghijklmnopqrstuvwxyz0123456789", "push with ***"},
		{"assignment", "export API_KEY=hunter2hunter2 please", "export API_KEY=*** please"},
		{"bearer", "curl -H 'Authorization: Bearer abcdefghijklmnop'", "curl -H 'Authorization: Bearer ***'"},
		{"address", "clone https://me:s3cr3tpw@example.com/x", "clone https://me:***@example.com/x"},
		{"ordinary words", "Make the token counter configurable", "Make the token counter configurable"},
	} {
		if got := Label(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	got := Label(long)
	if len(got) > MaxLabel || !strings.HasSuffix(got, "...") || !utf8.ValidString(got) {
		t.Errorf("a long label is %q (%d bytes)", got, len(got))
	}
}
