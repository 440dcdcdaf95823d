//go:build unix

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testAgentTakesItsCommandsAlong: whatever ends the agent ends what it runs, with
// the children of that.
func testAgentTakesItsCommandsAlong(t *testing.T, bin string) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			h := newAgentHouse(t, bin, toolCalls("", "bash", "command", "trap '' TERM HUP INT; sleep 300 & echo $$ $! >pids.new; mv pids.new pids; wait; sleep 300"))
			cmd := h.command("agent", "--model", "openai/m", "--yes", "-p", "go")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(30 * time.Second); !h.repo.Exists("pids") && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			pids := strings.Fields(h.repo.Read("pids"))
			if len(pids) != 2 {
				t.Fatalf("the command is not running: %q", pids)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was ended
			if code := cmd.ProcessState.ExitCode(); signal != syscall.SIGKILL && code != 130 {
				t.Errorf("the agent ended with %d", code)
			}
			for _, word := range pids {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				ended(t, pid)
			}
		})
	}
}

// ended waits until a process has ended; one that nobody has waited for has, too.
func ended(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		zombie := err == nil && strings.Contains(string(stat), ") Z ")
		if zombie || syscall.Kill(pid, 0) != nil {
			return
		}
		if time.Now().After(end) {
			t.Errorf("process %d still runs", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
			return
		}
	}
}
