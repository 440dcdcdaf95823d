//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// screenOf collects what a program writes to its terminal.
type screenOf struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screenOf) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screenOf) waitFor(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		found := bytes.Contains(s.text.Bytes(), []byte(want))
		s.mu.Unlock()
		if found {
			return
		}
	}
	t.Fatalf("the screen never showed %q:\n%s", want, s.text.String())
}

// testTourInterrupted goes two steps into the tour on a terminal, presses
// Ctrl-C, and looks for what is left: nothing may be.
func testTourInterrupted(t *testing.T, bin string) {
	temp, err := os.MkdirTemp("/tmp", "tbtour")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	cmd := exec.Command(filepath.Join(bin, "turnback"), "tour")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+temp, "TERM=xterm", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	var screen screenOf
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&screen, terminal) }) // a pty ends with an error
	screen.waitFor(t, "First version")
	screen.waitFor(t, "[Enter goes on")
	press(t, terminal, "\n")
	screen.waitFor(t, "checkpoint 3 saved")
	runs := daemonsBelow(t, temp)
	if len(runs) != 1 {
		t.Errorf("private daemons while the tour runs: %v", runs)
	}
	press(t, terminal, "\x03")
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("exit status %d, want 130", cmd.ProcessState.ExitCode())
	}
	_ = terminal.Close()
	reading.Wait()
	leavesNothing(t, temp, runs)
}

// testTourUnread reads the first lines of a tour and closes the pipe, as head
// does.
func testTourUnread(t *testing.T, bin string) {
	temp, err := os.MkdirTemp("/tmp", "tbtour")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	cmd := exec.Command(filepath.Join(bin, "turnback"), "tour")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "HOME="+temp, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shown screenOf
	if _, err := io.CopyN(&shown, out, 40); err != nil {
		t.Error(err)
	}
	runs := daemonsBelow(t, temp)
	if err := out.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 141 {
		t.Errorf("it ended with %v, want exit status 141", err)
	}
	if complaints.Len() > 0 {
		t.Errorf("stderr: %s", complaints.String())
	}
	if len(runs) != 1 {
		t.Errorf("private daemons while the tour runs: %v", runs)
	}
	leavesNothing(t, temp, runs)
	for _, pid := range runs {
		if !waitGone(pid, time.Millisecond) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func leavesNothing(t *testing.T, temp string, daemons []int) {
	t.Helper()
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("left behind: %s", f.Name())
	}
	for _, pid := range daemons {
		if !waitGone(pid, 5*time.Second) {
			t.Errorf("the daemon, pid %d, is still there", pid)
		}
	}
}

func press(t *testing.T, terminal io.Writer, keys string) {
	t.Helper()
	if _, err := io.WriteString(terminal, keys); err != nil {
		t.Fatal(err)
	}
}
