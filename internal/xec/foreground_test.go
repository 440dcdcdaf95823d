package xec

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestForegroundPassesTheStreamsOn(t *testing.T) {
	var out, stderr bytes.Buffer
	c := Command{Path: "/bin/sh", Args: []string{"-c", `cat; echo "$X" >&2; exit 3`}, Env: []string{"X=y", "PATH=/bin:/usr/bin"}, Stdin: strings.NewReader("in"), Stdout: &out}
	err := Foreground(context.Background(), c, &stderr)
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || exit.Code != 3 || out.String() != "in" || stderr.String() != "y\n" {
		t.Errorf("error %v, stdout %q, stderr %q", err, out.String(), stderr.String())
	}
}

// onWrite calls itself at the first output.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestForegroundEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := Command{Path: "/bin/sh", Args: []string{"-c", "echo up; exec sleep 60"}, Env: []string{"PATH=/bin:/usr/bin"}, Stdout: onWrite(cancel)}
	if err := Foreground(ctx, c, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestForegroundTellsOfAProgramThatIsNotThere(t *testing.T) {
	if Foreground(context.Background(), Command{Path: "/nonexistent/program"}, io.Discard) == nil {
		t.Error("no error")
	}
}

// TestForegroundSharesTheProcessGroup is the point of it: only a program in the
// foreground group may read the terminal.
func TestForegroundSharesTheProcessGroup(t *testing.T) {
	group := func(run func(out io.Writer) error) string {
		var out bytes.Buffer
		if err := run(&out); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	c := Command{Path: "/bin/sh", Args: []string{"-c", `ps -o pgid= -p $$; ps -o pgid= -p $PPID`}, Env: []string{"PATH=/bin:/usr/bin"}}
	shared := group(func(out io.Writer) error { c.Stdout = out; return Foreground(context.Background(), c, io.Discard) })
	own := group(func(out io.Writer) error { c.Stdout = out; return Run(context.Background(), c) })
	if f := strings.Fields(shared); len(f) != 2 || f[0] != f[1] {
		t.Errorf("Foreground: program and caller have the groups %q", shared)
	}
	if f := strings.Fields(own); len(f) != 2 || f[0] == f[1] {
		t.Errorf("Run: program and caller have the groups %q", own)
	}
}
