package claude

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// waitForEnviron waits until the kernel shows a new program's environment: Start
// returns a moment before.
func waitForEnviron(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(env, []byte("CLAUDE_PID=")) {
			return
		}
	}
	t.Fatalf("process %d never showed its environment", pid)
}

func TestOuterAgent(t *testing.T) {
	run := func(pid int) int {
		cmd := exec.Command("sleep", "60")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "CLAUDE_PID=" + strconv.Itoa(pid)}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		waitForEnviron(t, cmd.Process.Pid)
		return outerAgent(cmd.Process.Pid)
	}
	if got := run(os.Getpid()); got != os.Getpid() {
		t.Errorf("a process below an agent has the outer agent %d, want %d", got, os.Getpid())
	}
	if got := run(os.Getpid() + 100000); got != 0 {
		t.Errorf("a variable that names no ancestor gives %d, want 0", got)
	}
	if got := outerAgent(1); got != 0 {
		t.Errorf("the first process has the outer agent %d", got)
	}
}
