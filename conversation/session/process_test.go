package session_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation/session"
)

// holderDir names the folder and the session for TestHolder, a process of its own.
const holderDir, holderID = "TURNBACK_TEST_HOLDER_DIR", "TURNBACK_TEST_HOLDER_ID"

// TestHolder is the other process of TestB136AKilledProcessLetsGo.
func TestHolder(t *testing.T) {
	dir := os.Getenv(holderDir)
	if dir == "" {
		return
	}
	s, err := session.Library{Dir: dir, Now: time.Now}.Open(os.Getenv(holderID))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(session.UserMessage("from the other process")); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("open\n")
	time.Sleep(time.Minute)
}

func TestB136AKilledProcessLetsGo(t *testing.T) {
	h := newHarness(t)
	h.must(h.s.Close())
	ctx := t.Context()
	other := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestHolder$")
	other.Env = []string{holderDir + "=" + h.lib.Dir, holderID + "=" + h.s.ID()}
	out, err := other.StdoutPipe()
	h.must(err)
	h.must(other.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	_, err = h.lib.Open(h.s.ID())
	if inUse, ok := errors.AsType[*session.InUseError](err); !ok || inUse.PID != other.Process.Pid {
		t.Errorf("opened beside process %d: %v", other.Process.Pid, err)
	}
	h.must(other.Process.Kill())
	if err := other.Wait(); err == nil {
		t.Error("the other process ended by itself")
	}
	h.s, err = h.lib.Open(h.s.ID())
	h.must(err)
	h.wantContext("\n" + `user: "from the other process"` + "\n")
}
