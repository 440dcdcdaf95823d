package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/coder/tool"
)

// bench is one with a person who says no, and counts.
type bench struct {
	*tool.Bench
	t     *testing.T
	asked []tool.Ask
	no    bool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "tree")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t}
	b.Bench = &tool.Bench{Root: root, Dir: root, Shell: "/bin/sh", Environ: []string{"PATH=/bin:/usr/bin"}, Shown: tool.NewShown()}
	b.Permit = func(_ context.Context, a tool.Ask) error {
		b.asked = append(b.asked, a)
		if b.no {
			return tool.ErrDenied
		}
		return nil
	}
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.Root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run calls a tool; an error comes back as its text with "error: " in front.
func (b *bench) run(ctx context.Context, name string, words ...string) string {
	b.t.Helper()
	args := map[string]string{}
	for i := 0; i < len(words); i += 2 {
		args[words[i]] = words[i+1]
	}
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, t := range b.Tools() {
		if t.Name != name {
			continue
		}
		r, err := t.Run(ctx, tool.Call{ID: "c", Arguments: raw})
		if err != nil {
			return "error: " + err.Error()
		}
		return r.Parts[0].Text
	}
	b.t.Fatalf("no tool %s", name)
	return ""
}

func (b *bench) gives(want, name string, words ...string) {
	b.t.Helper()
	if got := b.run(b.t.Context(), name, words...); got != want {
		b.t.Errorf("%s %q gives %q, want %q", name, words, got, want)
	}
}

func TestEditWantsOnePlace(t *testing.T) {
	b := newBench(t)
	b.write("a", "one two two\n")
	b.write("crlf", "one\r\ntwo\r\n")
	b.gives("error: the old text is not in a", "edit", "path", "a", "old", "three", "new", "x")
	b.gives("error: the old text is 2 times in a; give more of what is around it", "edit", "path", "a", "old", "two", "new", "x")
	b.gives("error: the old text is empty; write makes a file", "edit", "path", "a", "old", "", "new", "x")
	b.gives("error: the old text and the new one are the same", "edit", "path", "a", "old", "one", "new", "one")
	b.gives("error: there is no b", "edit", "path", "b", "old", "x", "new", "y")
	b.gives("Edited a.", "edit", "path", "a", "old", "one two", "new", "1")
	b.gives("Edited crlf.", "edit", "path", "crlf", "old", "one\ntwo", "new", "1\n2")
	b.gives("1 two\n", "read", "path", "a")
	b.gives("1\r\n2\r\n", "read", "path", "crlf")
}

func TestOutsideIsAskedAbout(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.Root), "secret")
	if err := os.WriteFile(outside, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.Root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(b.Root), filepath.Join(b.Root, "up")); err != nil {
		t.Fatal(err)
	}
	b.write(".git/config", "[core]\n")
	b.no = true
	denied := "error: " + tool.ErrDenied.Error()
	for _, path := range []string{"../secret", outside, "link", "up/secret", "sub/../../secret", ".git/config", "up/new"} {
		before := len(b.asked)
		b.gives(denied, "read", "path", path)
		b.gives(denied, "write", "path", path, "content", "x")
		b.gives(denied, "edit", "path", path, "old", "secret", "new", "x")
		b.gives(denied, "grep", "pattern", "s", "path", path)
		for _, a := range b.asked[before:] {
			if !a.Outside {
				t.Errorf("%s: asked as if it were inside: %+v", path, a)
			}
		}
		if n := len(b.asked) - before; n != 4 {
			t.Errorf("%s: asked %d times", path, n)
		}
	}
	b.gives(denied, "glob", "pattern", "../*")
	if data, err := os.ReadFile(outside); err != nil || string(data) != "secret\n" {
		t.Errorf("it holds %q, %v", data, err)
	}
}

func TestReadingInsideIsNotAskedAbout(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "text\n")
	b.gives("text\n", "read", "path", "a.txt")
	b.gives("a.txt:1:text", "grep", "pattern", "te.t")
	b.gives("a.txt", "glob", "pattern", "*.txt")
	if len(b.asked) > 0 {
		t.Errorf("asked %+v", b.asked)
	}
	b.no = true
	b.gives("error: "+tool.ErrDenied.Error(), "bash", "command", "touch b")
	if _, err := os.Stat(filepath.Join(b.Root, "b")); err == nil {
		t.Error("the command ran though the person said no")
	}
}

func TestTheWholeOfACommandIsAskedAbout(t *testing.T) {
	b := newBench(t)
	b.no = true
	for _, command := range []string{"echo harmless\nrm -rf x", "echo " + strings.Repeat("x", 300) + "; rm -rf x", "\nrm -rf x"} {
		b.run(t.Context(), "bash", "command", command)
		if got := b.asked[len(b.asked)-1]; got.Whole != command {
			t.Errorf("of %q the person is shown %q and %q", command, got.Line, got.Whole)
		}
	}
	b.run(t.Context(), "bash", "command", "rm -rf x")
	if got := b.asked[len(b.asked)-1]; got.Line != "run rm -rf x" || got.Whole != "" {
		t.Errorf("a short command is asked about as %+v", got)
	}
}

func TestReadLimits(t *testing.T) {
	b := newBench(t)
	b.write("many", strings.Repeat("x\n", 3000))
	b.write("wide", strings.Repeat("x", 300_000))
	b.write("binary", "a\x00b")
	b.write("empty", "")
	for _, name := range []string{"many", "wide"} {
		got := b.run(t.Context(), "read", "path", name)
		if !strings.Contains(got, "[cut: "+name) || len(got) > 201_000 {
			t.Errorf("%s: %d bytes, ends in %q", name, len(got), got[len(got)-100:])
		}
	}
	b.gives("error: binary is no text", "read", "path", "binary")
	b.gives("[the file is empty]", "read", "path", "empty")
	b.gives("error: sub is a folder; list it by glob", "read", "path", "sub")
	b.gives("error: there is no none", "read", "path", "none")
}

func TestBash(t *testing.T) {
	b := newBench(t)
	b.gives("out\nerr\n", "bash", "command", "echo out; echo err >&2")
	b.gives("[no output]", "bash", "command", "true")
	b.gives("error: x\n[exit status 3]", "bash", "command", "echo x; exit 3")
	b.gives(b.Root+"\n", "bash", "command", "pwd")
	got := b.run(t.Context(), "bash", "command", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done")
	if len(got) > 61_000 || !strings.HasPrefix(got, "line 0\n") || !strings.HasSuffix(got, "line 19999\n") || !strings.Contains(got, "bytes are left out here") {
		t.Errorf("%d bytes of output", len(got))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if got := b.run(ctx, "bash", "command", "echo begun; (sleep 60 & wait)"); got != "begun\n[interrupted by the user]" {
		t.Errorf("an interrupted command gives %q", got)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// TestBashLeavesWhatHoldsItsOutput: a command that starts something in the
// background has done what it was to do.
func TestBashLeavesWhatHoldsItsOutput(t *testing.T) {
	b := newBench(t)
	got := b.run(t.Context(), "bash", "command", "sleep 30 & echo $!")
	pid, note, _ := strings.Cut(got, "\n")
	if note != "[what runs on in the background can write nothing more here: give it a file for its output]" {
		t.Errorf("the result is %q", got)
	}
	b.gives("[no output]", "bash", "command", "kill "+pid)
}

func TestSearchPassesIgnoredFilesOver(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"a.go", "sub/b.go", "sub/deep/c.go", "ignored.go", "sub/x.txt"} {
		b.write(name, "needle\n")
	}
	b.Files = func(context.Context) ([]string, error) {
		return []string{"sub/b.go", "a.go", "sub/deep/c.go", "sub/x.txt", "gone.go", "nested/"}, nil
	}
	b.gives("a.go:1:needle\nsub/b.go:1:needle\nsub/deep/c.go:1:needle\nsub/x.txt:1:needle", "grep", "pattern", "need")
	b.gives("sub/x.txt:1:needle", "grep", "pattern", "need", "path", "sub/x.txt")
	b.gives("a.go", "glob", "pattern", "*.go")
	b.gives("sub/b.go\nsub/deep/c.go", "glob", "pattern", "sub/**/*.go")
	b.gives("a.go\nsub/b.go\nsub/deep/c.go", "glob", "pattern", "**/*.go")
	b.gives("sub/b.go\nsub/x.txt", "glob", "pattern", "sub/*.{go,txt}")
	b.gives("sub/b.go", "glob", "pattern", "sub/[a-b].go")
	b.gives("No matches.", "grep", "pattern", "nothing")
	b.gives("No files.", "glob", "pattern", "*.c")
	b.gives("error: the pattern is no regular expression: error parsing regexp: missing closing ): `(`", "grep", "pattern", "(")
}

func TestUnknownArgumentsAreTold(t *testing.T) {
	b := newBench(t)
	got := b.run(t.Context(), "read", "file", "a")
	if !strings.Contains(got, "the arguments are not as the tool takes them") || !strings.Contains(got, `"file"`) {
		t.Errorf("got %q", got)
	}
}
