package trailers

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTrailersComeBackByteForByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.SliceOf(rapid.Byte()).Draw(rt, "value")
		items := rapid.SliceOfN(rapid.SliceOfN(rapid.StringN(1, 8, 30), 2, 2), 0, 4).Draw(rt, "items")
		w := New()
		w.Add("Label", string(value))
		w.AddList("List", items)
		message := w.Message("subject")
		if n := strings.Count(message, "\n"); n > 6 {
			rt.Fatalf("a value spans lines: %q", message)
		}
		r, err := Parse(message)
		if err != nil {
			rt.Fatalf("parse %q: %v", message, err)
		}
		if r.Get("Label") != string(value) {
			rt.Fatalf("%q came back as %q", value, r.Get("Label"))
		}
		got, err := r.List("List", 2)
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
		if _, err := Parse(message); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("s\n\nTurnback-Format: 1\nTurnback-Label: a%20b\nTurnback-Left-Out: too%20large:big.bin\n")
	f.Add("s\n\nTurnback-Format: 1\n\n\n")
	f.Fuzz(func(t *testing.T, message string) {
		r, err := Parse(message)
		if err != nil {
			return
		}
		for _, name := range r.names {
			if strings.ContainsAny(r.raw[name], "\n") {
				t.Errorf("%s spans lines", name)
			}
			_, _ = r.List(name, 2)
		}
	})
}
