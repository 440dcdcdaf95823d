package label

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzClean makes labels of whatever agents write.
func FuzzClean(f *testing.F) {
	f.Add("  Add a retry\tto the client\nand more")
	f.Add("\x1b[31mred\x1b[0m \xff\u2028\u202e")
	f.Add("token ghp_0123456789012345678901234567890123456789")
	f.Fuzz(func(t *testing.T, text string) {
		label := Clean(text)
		if len(label) > Max || !utf8.ValidString(label) {
			t.Errorf("%q has %d bytes", label, len(label))
		}
		for _, r := range label {
			if unicode.IsControl(r) {
				t.Errorf("%q holds a control character", label)
			}
		}
		if again := Clean(label); again != label && len(label) < Max {
			t.Errorf("%q became %q", label, again)
		}
	})
}
