package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
)

// harness is a host that lives through a conversation.
type harness struct {
	t     testing.TB
	lib   session.Library
	s     *session.Session
	calls int
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	return newHarnessIn(t, t.TempDir())
}

func newHarnessIn(t testing.TB, dir string) *harness {
	t.Helper()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	h := &harness{t: t, lib: session.Library{
		Dir: filepath.Join(dir, "conversations"),
		Now: func() time.Time { at = at.Add(time.Second); return at },
	}}
	s, err := h.lib.Create("/src/app")
	h.must(err)
	h.s = s
	t.Cleanup(func() { h.s.Close() })
	return h
}

func (h *harness) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) add(m session.Message) *session.Entry {
	h.t.Helper()
	e, err := h.s.Append(m)
	h.must(err)
	return e
}

func (h *harness) user(text string) *session.Entry {
	h.t.Helper()
	return h.add(session.UserMessage(text))
}

func (h *harness) says(text string) *session.Entry {
	h.t.Helper()
	return h.add(session.Message{Role: session.RoleAssistant, Parts: []session.Part{session.Text(text)}, Stop: "end_turn"})
}

// call is a call of a tool, with an id of its own.
func (h *harness) call(name string, arguments any) session.Part {
	h.calls++
	text, err := json.Marshal(arguments)
	h.must(err)
	return session.Part{Kind: session.KindCall, CallID: fmt.Sprintf("call%d", h.calls), Name: name, Arguments: string(text)}
}

func (h *harness) checkpoint(goal string) session.Part {
	return h.call("checkpoint", map[string]string{"goal": goal})
}

func (h *harness) rewind(report string) session.Part {
	return h.call("rewind", map[string]string{"report": report})
}

func (h *harness) read(path string) session.Part {
	return h.call("read", map[string]string{"path": path})
}

// asks adds a message of the model with these calls.
func (h *harness) asks(text string, calls ...session.Part) *session.Entry {
	h.t.Helper()
	m := session.Message{Role: session.RoleAssistant, Model: "anthropic/m", Stop: "tool_use"}
	if text != "" {
		m.Parts = append(m.Parts, session.Text(text))
	}
	m.Parts = append(m.Parts, calls...)
	return h.add(m)
}

// result runs a call.
func (h *harness) result(call session.Part) session.Part {
	h.t.Helper()
	var arguments struct{ Goal, Report string }
	h.must(json.Unmarshal([]byte(call.Arguments), &arguments))
	made := conversation.Call{ID: call.CallID, At: h.lib.Now()}
	switch call.Name {
	case "checkpoint":
		made.Text = arguments.Goal
		r, err := h.s.State().Checkpoint(made)
		return session.Answer(call.CallID, r, err)
	case "rewind":
		made.Text = arguments.Report
		r, err := h.s.State().Rewind(made)
		return session.Answer(call.CallID, r, err)
	}
	return session.Part{Kind: session.KindResult, CallID: call.CallID, Content: []session.Part{session.Text(call.Name + " of " + call.CallID)}}
}

// step is a message with calls, their results one by one, and the rewind that
// may be due.
func (h *harness) step(text string, calls ...session.Part) {
	h.t.Helper()
	h.asks(text, calls...)
	for _, c := range calls {
		h.add(session.Results(h.result(c)))
	}
	if h.s.Due() != nil {
		_, err := h.s.Rewind()
		h.must(err)
	}
}

// reopen ends the process and begins another.
func (h *harness) reopen() {
	h.t.Helper()
	h.must(h.s.Close())
	s, err := h.lib.Open(h.s.ID())
	h.must(err)
	h.s = s
}

// same compares what is in memory with what a new process reads.
func (h *harness) same() {
	h.t.Helper()
	read, err := h.lib.Read(h.s.ID())
	h.must(err)
	if diff := cmp.Diff(h.s.Context(), read.Context()); diff != "" {
		h.t.Fatalf("the context changes when it is read again (-memory +file):\n%s", diff)
	}
	if diff := cmp.Diff(h.s.State(), read.State()); diff != "" {
		h.t.Fatalf("the state changes when it is read again (-memory +file):\n%s", diff)
	}
	if h.s.Leaf() != read.Leaf() {
		h.t.Fatalf("the leaf is %s, read again %s", h.s.Leaf(), read.Leaf())
	}
}

// shown is a context in short lines: role, and its parts.
func shown(messages []session.Message) string {
	var out strings.Builder
	for _, m := range messages {
		out.WriteString(string(m.Role))
		if m.Origin != "" {
			out.WriteString("(" + string(m.Origin) + ")")
		}
		out.WriteString(":")
		for _, p := range m.Parts {
			switch p.Kind {
			case session.KindText:
				fmt.Fprintf(&out, " %q", p.Text)
			case session.KindCall:
				fmt.Fprintf(&out, " %s=%s", p.CallID, p.Name)
			case session.KindResult:
				fmt.Fprintf(&out, " ->%s", p.CallID)
				for _, c := range p.Content {
					fmt.Fprintf(&out, " %q", c.Text)
				}
				if p.IsError {
					out.WriteString("!")
				}
			default:
				fmt.Fprintf(&out, " %s%s", p.Kind, p.Raw)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

func (h *harness) wantContext(want string) {
	h.t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), shown(h.s.Context())); diff != "" {
		h.t.Errorf("context (-want +got):\n%s", diff)
	}
}

// framed is a checkpoint's result after the rewind.
func framed(goal, report, facts string, said ...string) string {
	return fmt.Sprintf("%q %q", "Checkpoint created.\nGoal: "+goal,
		conversation.Frame{Report: report, Facts: facts, Said: said}.String())
}

func TestB145ARewindIsTheSameInMemoryAndReloaded(t *testing.T) {
	h := newHarness(t)
	h.user("find the bug")
	h.step("I look.", h.read("a.go"), h.checkpoint("the bug"), h.read("b.go"))
	want := &conversation.Boundary{EntryID: h.s.Leaf(), Messages: 5}
	if got := h.s.State().Open.Boundary; *got != *want {
		t.Errorf("boundary %+v, want that behind the batch, %+v", got, want)
	}
	h.step("", h.read("c.go"))
	h.step("In d.go perhaps.", h.read("d.go"))
	left := h.s.Leaf()
	h.step("Found it.", h.rewind("it is in d.go"))
	context := `
user: "find the bug"
assistant: "I look." call1=read call2=checkpoint call3=read
tool: ->call1 "read of call1" ->call2 ` + framed("the bug", "it is in d.go", "", "Found it.") + ` ->call3 "read of call3"
`
	h.wantContext(context)
	h.same()
	h.reopen()
	h.wantContext(context)
	h.same()

	h.says("It is in d.go.")
	context += `assistant: "It is in d.go."` + "\n"
	h.wantContext(context)

	// The branch that was left can be gone back to, also after a restart.
	h.must(h.s.MoveLeaf(left))
	h.same()
	h.reopen()
	if h.s.Leaf() != left {
		t.Errorf("the leaf is %s after a restart, want %s", h.s.Leaf(), left)
	}
	if text := shown(h.s.Context()); !strings.Contains(text, "read of call5") || strings.Contains(text, "checkpoint-report") {
		t.Errorf("the left branch is not what it was:\n%s", text)
	}
	if h.s.State().Open == nil {
		t.Error("on the left branch, before its rewind, the checkpoint is not open")
	}
}

func TestASecondOpenerIsToldWhoHasIt(t *testing.T) {
	h := newHarness(t)
	h.user("hello")
	_, err := h.lib.Open(h.s.ID())
	var inUse *session.InUseError
	if !errors.As(err, &inUse) || err.Error() != fmt.Sprintf("session in use by pid %d", os.Getpid()) {
		t.Fatalf("second opener: %v", err)
	}
	fork, err := h.lib.Fork(h.s.ID(), "", "/src/other")
	h.must(err)
	defer fork.Close()
	if diff := cmp.Diff(h.s.Context(), fork.Context()); diff != "" {
		t.Errorf("the fork says otherwise:\n%s", diff)
	}
	_, err = fork.Append(session.UserMessage("in the fork"))
	h.must(err)
	if strings.Contains(shown(h.s.Context()), "in the fork") {
		t.Error("the fork writes into its origin")
	}
	h.same()
	h.reopen()
}

func itoa(n int) string { return strconv.Itoa(n) }

// line is an entry as a file has it.
func line(t testing.TB, e session.Entry) []byte {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}
