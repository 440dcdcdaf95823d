//go:build unix

package xec

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func attend(t *testing.T, script string, held []*os.File, signals chan os.Signal) (int, string) {
	t.Helper()
	var out bytes.Buffer
	c := Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/bin:/usr/bin"}, Stdout: &out}
	status, err := Attended(c, io.Discard, held, signals)
	if err != nil {
		t.Fatal(err)
	}
	return status, out.String()
}

func TestAttendedGivesTheStatusAsShellsDo(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9} {
		if got, _ := attend(t, script, nil, nil); got != want {
			t.Errorf("%s: status %d, want %d", script, got, want)
		}
	}
	if _, err := Attended(Command{Path: "/nonexistent"}, io.Discard, nil, nil); err == nil {
		t.Error("a program that is not there started")
	}
}

func TestAttendedHandsSignalsOn(t *testing.T) {
	signals := make(chan os.Signal, 1)
	var out bytes.Buffer
	c := Command{
		Path: "/bin/sh", Args: []string{"-c", `trap 'echo got it; exit 5' TERM; echo up; while :; do sleep 0.05; done`},
		Env: []string{"PATH=/bin:/usr/bin"}, Stdout: onWrite(func() {
			select {
			case signals <- syscall.SIGTERM:
			default:
			}
		}),
	}
	status, err := Attended(c, &out, nil, signals)
	if err != nil || status != 5 {
		t.Errorf("status %d, %v", status, err)
	}
}

// TestAttendedSharesTheProcessGroup: only then may an agent read the terminal.
func TestAttendedSharesTheProcessGroup(t *testing.T) {
	_, out := attend(t, `ps -o pgid= -p $$; ps -o pgid= -p $PPID`, nil, nil)
	if f := strings.Fields(out); len(f) != 2 || f[0] != f[1] {
		t.Errorf("program and caller have the groups %q", out)
	}
}

// TestAttendedHoldsThePipeOfAnother: so that one lives as long as the program.
func TestAttendedHoldsThePipeOfAnother(t *testing.T) {
	other, err := Start(context.Background(), Command{Path: "/bin/cat", Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if other.Pipe() == nil {
		t.Fatal("there is no pipe")
	}
	ended := make(chan error, 1)
	running := make(chan struct{})
	go func() {
		c := Command{Path: "/bin/sh", Args: []string{"-c", "echo up; exec sleep 0.3"}, Env: []string{"PATH=/bin:/usr/bin"}, Stdout: onWrite(func() { close(running) })}
		_, err := Attended(c, io.Discard, []*os.File{nil, other.Pipe()}, nil)
		ended <- err
	}()
	<-running
	_ = other.Stdin.Close()
	gone := make(chan error, 1)
	go func() { _, _ = io.Copy(io.Discard, other.Stdout); gone <- other.Wait() }()
	select {
	case <-gone:
		t.Error("it ended before the program that holds its input")
	case <-time.After(100 * time.Millisecond):
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	select {
	case err := <-gone:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		other.Kill()
		t.Error("it outlives the program that held its input")
	}
}

func TestFindLooksAsAShellDoes(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"agent": 0o755, "plain": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, path, want string }{
		{"agent", "/nonexistent:" + dir, dir + "/agent"},
		{"agent", ".:/nonexistent", ""},
		{"plain", dir, ""},
		{"./agent", "", dir + "/agent"},
		{dir + "/agent", "", dir + "/agent"},
	} {
		got, err := Find(test.name, dir, test.path)
		if test.want == "" && err == nil || test.want != "" && got != test.want {
			t.Errorf("Find(%q, %q) = %q, %v", test.name, test.path, got, err)
		}
	}
	if _, err := Find("agent", dir, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not found is %v", err)
	}
}
