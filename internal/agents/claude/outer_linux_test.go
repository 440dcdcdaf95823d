package claude

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestOuterAgent(t *testing.T) {
	run := func(pid int) int {
		cmd := exec.Command("sleep", "60")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "CLAUDE_PID=" + strconv.Itoa(pid)}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
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
