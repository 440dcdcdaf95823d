package label

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
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
		if got := Clean(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	got := Clean(long)
	if len(got) > Max || !strings.HasSuffix(got, "...") || !utf8.ValidString(got) {
		t.Errorf("a long label is %q (%d bytes)", got, len(got))
	}
}
