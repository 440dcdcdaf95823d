package tour

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stage is a tour with a stand-in for turnback: a shell script that writes down
// how it was called. The real program takes the tour in testdata/script/tour.txt.
type stage struct {
	Options
	out  bytes.Buffer
	log  string
	temp string
}

func newStage(t *testing.T, body string) *stage {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tbstage")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &stage{log: filepath.Join(dir, "log"), temp: filepath.Join(dir, "temp")}
	program := filepath.Join(dir, "turnback")
	script := "#!/bin/sh\necho \"$*\" >>" + s.log + "\nenv >>" + s.log + ".env\n" + body + "\n"
	if err := errors.Join(os.Mkdir(s.temp, 0o700), os.WriteFile(program, []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	s.Options = Options{
		In: strings.NewReader(""), Out: &s.out, Err: &s.out, Program: program, Git: git, TempDir: s.temp,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/u", "TMUX=/s,1", "TURNBACK_PANE_ID=00d333ce", "GIT_DIR=/x", "XDG_RUNTIME_DIR=/run/user/0"},
	}
	return s
}

const answer = `case "$1 $2" in "daemon start") echo '{"pid":0}';; *) echo done;; esac`

func (s *stage) calls(t *testing.T) []string {
	t.Helper()
	log, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(log)), "\n")
}

// leavesNothing checks that the private daemon was stopped last and that no file
// is left.
func (s *stage) leavesNothing(t *testing.T) {
	t.Helper()
	calls := s.calls(t)
	if last := calls[len(calls)-1]; last != "daemon stop" {
		t.Errorf("the last command was %q", last)
	}
	left, err := os.ReadDir(s.temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestTheTourShowsTheMainJob(t *testing.T) {
	s := newStage(t, answer)
	if err := Run(t.Context(), s.Options); err != nil {
		t.Fatal(err)
	}
	s.leavesNothing(t)
	calls := s.calls(t)
	at := 0
	for _, want := range []string{
		"daemon start --json",
		"set-agent-state working -w build --prompt Add a retry to the client", "set-agent-state done -w build",
		"set-agent-state done -w build", "set-agent-state done -w build",
		"checkpoint list -w build", "checkpoint diff -w build 2", "checkpoint restore -w build 1", "undo -w build",
	} {
		found := slices.Index(calls[at:], want)
		if found < 0 {
			t.Fatalf("%q does not come after %q in\n%s", want, calls[:at], strings.Join(calls, "\n"))
		}
		at += found + 1
	}
	for _, shown := range []string{"$ turnback undo -w build\ndone\n", "(writes retry.go)", "(removes README.md)"} {
		if !strings.Contains(s.out.String(), shown) {
			t.Errorf("%q is not shown in\n%s", shown, s.out.String())
		}
	}
}

func TestTheTourKeepsAwayFromThePersonsOwn(t *testing.T) {
	s := newStage(t, answer)
	if err := Run(t.Context(), s.Options); err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(s.log + ".env")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(env)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case name == "TMUX" || name == "TURNBACK_PANE_ID" || name == "GIT_DIR" || name == "XDG_RUNTIME_DIR":
			t.Errorf("a command sees %s", line)
		case name == "HOME" || strings.HasPrefix(name, "XDG_") || name == "TURNBACK_SOCKET":
			if !strings.HasPrefix(value, s.temp) {
				t.Errorf("a command sees %s", line)
			}
		}
	}
}

func TestALongTempDirIsPassedOver(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := scratch(long)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if len(filepath.Join(dir, "run", "s")) > 100 {
		t.Errorf("the socket's path would be too long in %s", dir)
	}
}

func TestAStepThatFailsEndsTheTour(t *testing.T) {
	s := newStage(t, `case "$1 $2" in "daemon start") echo '{"pid":0}';; "checkpoint list") exit 1;; esac`)
	err := Run(t.Context(), s.Options)
	if err == nil || !strings.Contains(err.Error(), `the tour stopped at "turnback checkpoint list -w build"`) {
		t.Errorf("error %v", err)
	}
	s.leavesNothing(t)
}

// closedAfter is an output whose reader goes away after some text.
type closedAfter struct {
	io.Writer
	text string
	gone bool
}

func (c *closedAfter) Write(p []byte) (int, error) {
	if c.gone {
		return 0, syscall.EPIPE
	}
	c.gone = bytes.Contains(p, []byte(c.text))
	return c.Writer.Write(p)
}

func TestAReaderThatGoesAwayEndsTheTour(t *testing.T) {
	const failing = `case "$1 $2" in "daemon start") echo '{"pid":0}';; "checkpoint list") exit 141;; *) echo done;; esac`
	for text, body := range map[string]string{"First version": answer, "$ turnback checkpoint list": failing} {
		s := newStage(t, body)
		s.Out = &closedAfter{Writer: &s.out, text: text}
		if err := Run(t.Context(), s.Options); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("gone after %q: error %v", text, err)
		}
		s.leavesNothing(t)
	}
}

func TestADaemonThatStaysIsToldOfEvenWithoutAReader(t *testing.T) {
	s := newStage(t, `case "$1 $2" in "daemon start") echo '{"pid":0}';; "daemon stop") exit 1;; esac`)
	s.Out = &closedAfter{Writer: &s.out, text: "First version"}
	err := Run(t.Context(), s.Options)
	if err == nil || errors.Is(err, syscall.EPIPE) || !strings.Contains(err.Error(), "stop the private daemon") {
		t.Errorf("error %v", err)
	}
}

func TestADaemonThatDoesNotStopIsKilled(t *testing.T) {
	daemon := exec.Command("sleep", "600")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, fmt.Sprintf(`case "$1 $2" in "daemon start") echo '{"pid":%d}';; "daemon stop") exit 1;; esac`, daemon.Process.Pid))
	if err := Run(t.Context(), s.Options); err == nil || !strings.Contains(err.Error(), "stop the private daemon") {
		t.Errorf("error %v", err)
	}
	late := time.AfterFunc(10*time.Second, func() { _ = daemon.Process.Signal(os.Interrupt) })
	defer late.Stop()
	if err := daemon.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the daemon ended with %v", err)
	}
	s.leavesNothing(t)
}

func TestEnterGoesOnAndTheEndOfInputGoesThrough(t *testing.T) {
	s := newStage(t, answer)
	s.Pause = true
	s.In = strings.NewReader("\n\n")
	if err := Run(t.Context(), s.Options); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(s.out.String(), "[Enter goes on"); got != 3 {
		t.Errorf("it paused %d times, want 3: two lines and the end of input", got)
	}
	s.leavesNothing(t)
}

// onPause interrupts the tour at its first pause.
type onPause struct {
	io.Writer
	interrupt func()
}

func (o onPause) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("[Enter goes on")) {
		o.interrupt()
	}
	return o.Writer.Write(p)
}

func TestAnInterruptWhileItPausesLeavesNothing(t *testing.T) {
	s := newStage(t, answer)
	in, keep := io.Pipe()
	s.Pause, s.In = true, in
	ctx, cancel := context.WithCancel(t.Context())
	s.Out = onPause{&s.out, cancel}
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, s.Options) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	s.leavesNothing(t)
	if err := keep.Close(); err != nil {
		t.Error(err)
	}
}
