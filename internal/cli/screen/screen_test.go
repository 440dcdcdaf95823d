package screen

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQuoteNameIsGits(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt":         "a.txt",
		"with space":    "with space",
		`say "hi"`:      `"say \"hi\""`,
		`back\slash`:    `"back\\slash"`,
		"a\tb\nc\r\x01": `"a\tb\nc\r\001"`,
		"ü":             `"\303\274"`,
		"\xff":          `"\377"`,
		"\x7f":          `"\177"`,
		"":              "",
	} {
		if got := QuoteName(name, true); got != want {
			t.Errorf("QuoteName(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestQuoteNameKeepsLettersWhenQuotePathIsOff(t *testing.T) {
	for name, want := range map[string]string{
		"日本語":          "日本語",
		"ü\u202eb":     `"ü\342\200\256b"`,
		"\u0085":       `"\302\205"`,
		"ü\xff":        `"ü\377"`,
		"plain":        "plain",
		"\u00fc\x1b[m": `"ü\033[m"`,
	} {
		if got := QuoteName(name, false); got != want {
			t.Errorf("QuoteName(%q) = %s, want %s", name, got, want)
		}
	}
}

// TestQuoteNameAgainstGit asks git itself how it prints a name.
func TestQuoteNameAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("git is needed")
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[ -~]{0,3}[\x01-\x1f"\\é語]{0,3}[a-z]`).Draw(rt, "name")
		name = strings.ReplaceAll(name, "/", "_")
		cmd := exec.Command(git, "diff", "--no-index", "--name-only", "--", "/dev/null", "./"+name)
		cmd.Dir = t.TempDir()
		write(rt, cmd.Dir, name)
		cmd.Env = []string{"HOME=" + cmd.Dir, "GIT_CONFIG_NOSYSTEM=1"}
		out, _ := cmd.Output() // it exits with 1 when there is a difference
		if got, want := QuoteName("./"+name, true), strings.TrimSuffix(string(out), "\n"); got != want && QuoteName(name, true) != want {
			rt.Fatalf("got %s, git prints %s", got, want)
		}
	})
}

func TestLineShowsWhatATerminalWouldActOn(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 語":        "plain ü 語",
		"\x1b[31mred":      "^[[31mred",
		"a\nb\tc":          "a^Jb^Ic",
		"\u009b2J":         "<U+009B>2J",
		"\x9b2J":           "<9B>2J",
		"x\u202ey":         "x<U+202E>y",
		"\x7f\x00":         "^?^@",
		"tail\xe2\x80":     "tail<E2><80>",
		"\u2066isolated":   "<U+2066>isolated",
		"fine: \u200d zwj": "fine: \u200d zwj",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Block("a\nb\tc\r"); got != "a\nb\tc^M" {
		t.Errorf("Block = %q", got)
	}
}

func TestLineNeverLetsAControlCharacterThrough(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes"))
		for _, r := range Line(in) {
			if r < 0x20 || r == 0x7f || hiddenRune(r) || r == '\ufffd' && !strings.Contains(in, "\ufffd") {
				rt.Fatalf("Line(%q) lets %U through", in, r)
			}
		}
	})
}

func TestTableLinesUpWideLetters(t *testing.T) {
	var b strings.Builder
	if err := Table(&b, [][]string{{"a", "b", "c"}, {"語", "", ""}, {"xyz", "1"}}); err != nil {
		t.Fatal(err)
	}
	if want := "a    b  c\n語\nxyz  1\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestPatchColoursAHunkByItsCounts(t *testing.T) {
	patch := "diff --git a/q b/q\nindex 1..2 100644\n--- a/q\n+++ b/q\n@@ -1,2 +1,2 @@ f\n--- a line that was removed\n ctx\n+++ a line that was added\n\\ No newline at end of file\n"
	var b strings.Builder
	if err := Patch(&b, []byte(patch), PatchStyle{Colour: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\x1b[1mdiff --git a/q b/q\x1b[m\n", "\x1b[1m--- a/q\x1b[m\n", "\x1b[36m@@ -1,2 +1,2 @@ f\x1b[m\n",
		"\x1b[31m--- a line that was removed\x1b[m\n", "\n ctx\n", "\x1b[32m+++ a line that was added\x1b[m\n",
		"\n\\ No newline at end of file\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in %q", want, b.String())
		}
	}
}

func TestColour(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tc := range []struct {
		when     string
		terminal bool
		getenv   func(string) string
		want     bool
	}{
		{"auto", true, env("TERM", "xterm"), true},
		{"auto", false, env(), false},
		{"auto", true, env("NO_COLOR", "1"), false},
		{"auto", true, env("TERM", "dumb"), false},
		{"always", false, env("NO_COLOR", "1"), true},
		{"never", true, env(), false},
	} {
		if got := Colour(tc.when, tc.terminal, tc.getenv); got != tc.want {
			t.Errorf("Colour(%s, %v) = %v", tc.when, tc.terminal, got)
		}
	}
}

func TestProgressWaitsASecond(t *testing.T) {
	at := time.Unix(0, 0)
	var b strings.Builder
	p := NewProgress(&b, true, func() time.Time { return at })
	p.Update("writing files", 1, 4)
	if b.Len() > 0 {
		t.Fatalf("it drew at once: %q", b.String())
	}
	at = at.Add(time.Second)
	p.Update("writing files", 2, 4)
	p.Update("writing files", 3, 4) // too soon after the one before
	p.Done()
	if want := "\r\x1b[Kwriting files: 50% (2/4)\r\x1b[K"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	silent := NewProgress(&b, false, func() time.Time { return at })
	silent.Update("x", 1, 2)
	silent.Done()
}
