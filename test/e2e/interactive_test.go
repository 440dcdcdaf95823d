//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// hookCount is how many events of a name there were so far.
func (w *world) hookCount(name string) int {
	count := 0
	for _, e := range w.hooks() {
		if e.Name == name {
			count++
		}
	}
	return count
}

// turnEnds waits until the nth turn has ended and every hook has done its work.
// A state would tell too early: it changes when the hook begins.
func (w *world) turnEnds(n int) {
	w.t.Helper()
	w.eventually("the end of a turn", func() bool { return w.hookCount("Stop") >= n })
	last := lastOf(w.hooks(), "Stop")
	want := 0
	for _, e := range w.hooks() {
		if e.Name == "Stop" && e.Session == last.Session {
			want++
		}
	}
	w.eventually("the hooks at the end of a turn", func() bool { return w.summaries(last.Transcript) == want })
}

// summaries is how often a transcript tells that the hooks of a Stop have run.
func (w *world) summaries(transcript string) int {
	w.t.Helper()
	text, err := os.ReadFile(transcript)
	if err != nil {
		w.t.Fatal(err)
	}
	count := 0
	for line := range bytes.Lines(text) {
		var entry struct{ Type, Subtype string }
		if json.Unmarshal(line, &entry) == nil && entry.Type == "system" && entry.Subtype == "stop_hook_summary" {
			count++
		}
	}
	return count
}

// One sitting at a terminal: a turn by tool, one that goes on in a background
// subagent, one that changes nothing, edits by hand, a message typed while the
// agent works, /clear, an API error.
func TestSittingAtATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	users := w.repo.Fingerprint()
	term := w.start("--allowed-tools", "Bash,Write,Edit,Read,Agent")
	term.waitFor(0, "shortcuts")

	w.model.Add(does(w.write("new.txt", "by tool\n")), says("Turn one is over."))
	term.submit("write a file")
	w.turnEnds(1)
	first := w.repo.Tree()

	second := w.backgroundTurn(term)

	w.model.Add(says("Nothing to do."))
	term.submit("what is there to do")
	w.turnEnds(4)

	w.repo.Write("a.txt", "one\nby hand\n")
	byHand := w.repo.Tree()
	fourth := w.queuedMessageTurn(term)

	term.submit("/clear")
	w.eventually("the session to be cleared", func() bool { return w.lastSource() == "clear" })
	w.model.Add(does(shell("echo after clear >>a.txt")), says("Turn five is over."))
	term.submit("one more line")
	w.turnEnds(6)

	w.model.Add(
		does(shell("echo before the error >>a.txt")),
		fakemodel.Entry{Kind: fakemodel.Main, Keep: true, Error: &fakemodel.APIError{
			Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "scripted",
		}},
	)
	term.submit("run into an error")
	w.eventually("the turn to fail", func() bool { return w.hookCount("StopFailure") == 1 })
	w.waitState("errored")
	w.model.Clear()

	term.submit("/exit")
	term.waitExit()
	w.wantCheckpoints(
		`1 turn 1 turn done base:HEAD "write a file"`,
		`2 turn 2 turn idle base:checkpoint "hand it to another"`, // while the subagent works
		`3 turn 2 turn done base:checkpoint "hand it to another"`,
		`4 turn 4 start  base: "edits before turn 4"`,
		`5 turn 4 turn done base:checkpoint "two steps please"`,
		`6 turn 5 turn done base:checkpoint "one more line"`,
		`7 turn 6 turn errored base:checkpoint "run into an error"`,
	)
	w.sessionsDiffer(5, 6)
	for n, want := range map[string]files{"1": first, "3": second, "4": byHand, "5": fourth} {
		w.turnback("checkpoint", "restore", n)
		w.wantFiles(want, "after restoring checkpoint "+n)
	}
	if diff := cmp.Diff(users, w.repo.Fingerprint()); diff != "" {
		t.Errorf("the user's things changed (-before +after):\n%s", diff)
	}
}

// backgroundTurn is a turn that a subagent outlives: the main loop stops while
// it works, and goes on when it is told of its end. All of it is one turn.
func (w *world) backgroundTurn(term *terminal) files {
	w.t.Helper()
	gate := make(chan struct{})
	held := inSubagent(does(w.write("part.txt", "by a subagent\n")))
	held.Gate = gate
	w.model.Add(
		does(shell("echo two >>a.txt"), subagent("write the part", true)),
		says("It works in the background."),
		held,
		inSubagent(says("The part is written.")),
		says("Turn two is over."),
	)
	term.submit("hand it to another")
	w.eventually("the main loop to stop", func() bool { return w.hookCount("Stop") == 2 })
	if events := w.hooks(); len(lastOf(events, "Stop").Background) != 1 {
		w.t.Errorf("the CLI stopped with %d background tasks", len(lastOf(events, "Stop").Background))
	}
	close(gate)
	w.turnEnds(3)
	return w.repo.Tree()
}

// queuedMessageTurn is a turn in which a second message is typed while the
// agent works; the CLI hands it over as part of the same turn.
func (w *world) queuedMessageTurn(term *terminal) files {
	w.t.Helper()
	gate := make(chan struct{})
	held := does(shell("echo step one >>a.txt"))
	held.Gate = gate
	w.model.Add(held, does(shell("echo step two >>a.txt")), says("Turn four is over."))
	term.submit("two steps please")
	w.model.WaitFor(w.t, patience, "the prompt", func(requests []fakemodel.Request) bool {
		return bytes.Contains(requests[len(requests)-1].Body, []byte("two steps please"))
	})
	term.submit("and hurry")
	close(gate)
	w.turnEnds(5)
	if queued := lastOf(w.hooks(), "UserPromptSubmit"); queued.Prompt != "and hurry" {
		w.t.Errorf("the last prompt is %q", queued.Prompt)
	}
	return w.repo.Tree()
}

func (w *world) lastSource() string { return lastOf(w.hooks(), "SessionStart").Source }

func lastOf(events []hookEvent, name string) hookEvent {
	var last hookEvent
	for _, e := range events {
		if e.Name == name {
			last = e
		}
	}
	return last
}

// sessionsDiffer checks that two checkpoints of one pane know that they come
// from two sessions of the agent.
func (w *world) sessionsDiffer(a, b int) {
	w.t.Helper()
	sessions := map[int]string{}
	for _, c := range w.list().Checkpoints {
		sessions[c.N] = c.AgentSession
	}
	if sessions[a] == "" || sessions[b] == "" || sessions[a] == sessions[b] {
		w.t.Errorf("checkpoints %d and %d come from sessions %q and %q", a, b, sessions[a], sessions[b])
	}
}

// interruptIsWritten waits until the transcript tells of n interrupts: the CLI
// writes it a moment after it shows it.
func (w *world) interruptIsWritten(n int) {
	w.t.Helper()
	w.eventually("the interrupt in the transcript", func() bool {
		text, err := os.ReadFile(lastOf(w.hooks(), "UserPromptSubmit").Transcript)
		return err == nil && bytes.Count(text, []byte(`"interruptedMessageId"`)) == n
	})
}

// Esc fires no hook. What the turn had done until then is still its own.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	before := w.repo.Tree()
	term := w.start("--allowed-tools", "Bash")
	term.waitFor(0, "shortcuts")

	hang := says("Half an answer")
	hang.Hang = true
	w.model.Add(does(shell("echo half >>a.txt")), hang)
	term.submit("do a long thing")
	term.waitFor(0, "Half an answer")
	half := w.repo.Tree()
	w.refused("not_ready", "undo")
	w.wantFiles(half, "after a refused undo")

	term.press(keyEscape)
	term.waitFor(0, "Interrupted")
	w.interruptIsWritten(1)
	// Nobody was told; the transcript is asked.
	w.turnback("undo")
	w.wantFiles(before, "after undo of the interrupted turn")
	w.turnback("redo")
	w.wantFiles(half, "after redo of the interrupted turn")

	// The same again, but now the next prompt is what tells.
	w.model.Add(does(shell("echo more >>a.txt")), hang)
	from := term.size()
	term.submit("another long thing")
	term.waitFor(from, "Half an answer")
	from = term.size()
	term.press(keyEscape)
	term.waitFor(from, "Interrupted")
	w.interruptIsWritten(2)
	w.model.Add(does(shell("echo last >>a.txt")), says("Over."))
	term.submit("now a short one")
	w.turnEnds(1)
	term.submit("/exit")
	term.waitExit()

	states := map[string]string{}
	for _, c := range w.list().Checkpoints {
		if c.Kind == "turn" {
			states[c.Label] = c.State
		}
	}
	want := map[string]string{"do a long thing": "aborted", "another long thing": "aborted", "now a short one": "done"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("turns by label (-want +got):\n%s", diff)
	}
}

// A killed CLI fires no hook either: its process is what tells.
func TestKilledMidTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	before := w.repo.Tree()
	term := w.start("--allowed-tools", "Bash")
	term.waitFor(0, "shortcuts")

	hang := says("Half an answer")
	hang.Hang = true
	w.model.Add(does(shell("echo half >>a.txt")), hang)
	term.submit("do a long thing")
	term.waitFor(0, "Half an answer")
	half := w.repo.Tree()
	w.refused("not_ready", "undo")
	term.kill()

	w.turnback("undo")
	w.wantFiles(before, "after undo of the turn that was cut short")
	w.turnback("redo")
	w.wantFiles(half, "after redo of it")
	if c := w.list().Checkpoints[0]; c.Kind != "turn" || c.State != "aborted" || c.Label != "do a long thing" {
		t.Errorf("the first checkpoint is %s", describe(c))
	}
}
