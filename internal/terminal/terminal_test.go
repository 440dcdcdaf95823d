//go:build linux || darwin

package terminal

import (
	"os"
	osexec "os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// exec is a command with one variable in its environment besides PATH.
func exec(variable string, argv ...string) *osexec.Cmd {
	cmd := osexec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), variable}
	return cmd
}

// start starts cmd, ends it with the test, and returns its id once the program
// itself runs, not the copy of this process that will become it.
func start(t *testing.T, cmd *osexec.Cmd) int {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// onTerminal starts argv on a new terminal and returns its id.
func onTerminal(t *testing.T, argv ...string) (pid int, end func()) {
	t.Helper()
	cmd := osexec.Command(argv[0], argv[1:]...)
	f, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = f.Close()
		}
	}
	t.Cleanup(end)
	return cmd.Process.Pid, end
}

// until waits for a condition of the process table.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// child waits for a child of pid with this name.
func child(t *testing.T, pid int, name string) int {
	t.Helper()
	found := 0
	until(t, "there is a child "+name, func() bool {
		out, _ := osexec.Command("pgrep", "-P", strconv.Itoa(pid), "-x", name).Output()
		found, _ = strconv.Atoi(strings.TrimSpace(string(out)))
		return found != 0
	})
	t.Cleanup(func() { _ = syscall.Kill(found, syscall.SIGKILL) }) // its parent's end is not its own
	return found
}

func TestKeysOfATerminal(t *testing.T) {
	shell, end := onTerminal(t, "sh", "-c", "sleep 60 & wait")
	inside := child(t, shell, "sleep")
	keys := Identify(env(nil), shell)
	if len(keys) != 1 || !regexp.MustCompile(`^tty:/dev/[a-z0-9/]+@[0-9A-Za-z-]+:[0-9.]+/[0-9]+$`).MatchString(keys[0]) {
		t.Fatalf("Identify = %q, want one key of a terminal", keys)
	}
	if got := Identify(env(nil), inside); !slices.Equal(got, keys) {
		t.Errorf("Identify of a child = %q, want %q", got, keys)
	}
	if got := IdentifyAgent(env(nil), inside); !slices.Equal(got, keys) {
		t.Errorf("IdentifyAgent of a child = %q, want %q", got, keys)
	}
	vars := map[string]string{"TMUX": "/tmp/t,1,0", "TMUX_PANE": "%1"}
	if got := Identify(env(vars), inside); !slices.Equal(got, []string{"tmux:/tmp/t,%1", keys[0]}) {
		t.Errorf("Identify in tmux = %q, want the pane's key first", got)
	}
	end()
	if got := IdentifyAgent(env(nil), shell); len(got) != 0 {
		t.Errorf("IdentifyAgent of a process that ended = %q, want none", got)
	}
}

// The name of a terminal is used again; its key is not.
func TestKeyOfATerminalIsNotUsedAgain(t *testing.T) {
	first, end := onTerminal(t, "sleep", "60")
	before := Identify(env(nil), first)
	end()
	second, _ := onTerminal(t, "sleep", "60")
	after := Identify(env(nil), second)
	name := func(keys []string) string { n, _, _ := strings.Cut(keys[0], "@"); return n }
	if len(before) != 1 || len(after) != 1 {
		t.Fatalf("keys = %q and %q, want one each", before, after)
	}
	if name(before) != name(after) {
		t.Logf("the system did not use %s again", name(before))
	}
	if before[0] == after[0] {
		t.Errorf("two terminals have the key %q", before[0])
	}
}

// What an agent's shell tool runs has no terminal; the agent has.
func TestCommandWithoutATerminal(t *testing.T) {
	shell, _ := onTerminal(t, "sh", "-c", "setsid sh -c 'sleep 60; :' & wait")
	keys := Identify(env(nil), shell)
	tool := child(t, shell, "sh")
	var detached int
	until(t, "the tool has left the terminal", func() bool {
		p, err := Lookup(tool)
		detached = p.PID
		return err == nil && p.Session == tool
	})
	t.Cleanup(func() { _ = syscall.Kill(-tool, syscall.SIGKILL) }) // a session of its own, with a child
	if got := Identify(env(nil), detached); len(keys) != 1 || !slices.Equal(got, keys) {
		t.Errorf("Identify = %q, want the terminal of the ancestor, %q", got, keys)
	}
	if got := IdentifyAgent(env(nil), detached); len(got) != 0 {
		t.Errorf("IdentifyAgent = %q, want none: an agent without a terminal is not its launcher", got)
	}
}

func TestProcessAlive(t *testing.T) {
	cmd := osexec.Command("sleep", "60")
	pid := start(t, cmd)
	started, err := ProcessStart(pid)
	if err != nil {
		t.Fatal(err)
	}
	if !ProcessAlive(pid, started) || !ProcessAlive(pid, "") {
		t.Error("a process that runs is not alive")
	}
	if ProcessAlive(pid, started+"0") {
		t.Error("a process that had the id before is alive")
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Nobody has waited for it: the entry is still there.
	until(t, "the process has ended", func() bool { return !ProcessAlive(pid, started) })
	_ = cmd.Wait()
	if ProcessAlive(pid, started) || ProcessAlive(pid, "") {
		t.Error("a process that is gone is alive")
	}
	for _, none := range []int{0, -1} {
		if ProcessAlive(none, "") {
			t.Errorf("process %d is alive", none)
		}
	}
}

func TestAncestors(t *testing.T) {
	pid := start(t, osexec.Command("sh", "-c", "sleep 60 & wait"))
	list := Ancestors(child(t, pid, "sleep"))
	if len(list) < 2 || list[0].PID != pid || list[1].PID != os.Getpid() {
		t.Errorf("Ancestors = %+v, want the shell and then this process", list)
	}
	if got := Ancestors(-1); got != nil {
		t.Errorf("Ancestors of no process = %+v", got)
	}
}
