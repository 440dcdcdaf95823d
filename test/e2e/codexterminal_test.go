//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// atTheTerminal opens Codex for a person, in a folder that it trusts.
func (w *codexWorld) atTheTerminal() *terminal {
	w.t.Helper()
	config, err := os.ReadFile(filepath.Join(w.repo.Home, ".codex/config.toml"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.writeHome(".codex/config.toml", fmt.Sprintf("%s[projects.%q]\ntrust_level = \"trusted\"\n", config, w.repo.Root))
	return w.openIn(true, w.tools.turnback, "run", "--conversation", "--", filepath.Join(w.run, "codex"), "-s", "danger-full-access", "-a", "never")
}

// says types a line and presses Enter until something has come of it. What is
// typed is not waited for, since Codex draws only the cells that change; Enter right
// behind it would be a line break of a paste; and while Codex starts it takes none.
func (w *codexWorld) says(term *terminal, line, what string, done func() bool) {
	w.t.Helper()
	term.press(line)
	last := time.Now().Add(-2 * time.Second)
	w.eventually(what, func() bool {
		if done() {
			return true
		}
		if time.Since(last) > 3*time.Second {
			last = time.Now()
			term.press(keyEnter)
		}
		return false
	})
}

// rests waits until Codex has written down that so many turns are over: until then
// what is typed belongs to the turn.
func (w *codexWorld) rests(turns int) {
	w.t.Helper()
	w.eventually("the end of a turn", func() bool {
		found, _ := filepath.Glob(filepath.Join(w.repo.Home, ".codex/sessions/*/*/*/rollout-*.jsonl"))
		n := 0
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				w.t.Fatal(err)
			}
			n += strings.Count(string(text), `"type":"task_complete"`) + strings.Count(string(text), `"type":"turn_aborted"`)
		}
		return n >= turns
	})
	time.Sleep(500 * time.Millisecond) // nothing tells that the screen follows
}

func (w *world) isThere(path string) func() bool {
	return func() bool { return w.repo.Exists(path) }
}

// TestCodexAtTheTerminal: what a person types inside a span stays. A turn that the
// person interrupts is saved, and so is one that the model fails, of which no hook
// tells; a person can go back to either.
func TestCodexAtTheTerminal(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	w.responses.Add(
		codexOpens("find it"), codexShell("echo EXPLORED; touch begun; until [ -e gate ]; do sleep 0.1; done"), codexCloses("REPORT"),
		codexShell("echo one >b.txt"), fakemodel.ResponsesReply{Text: "First is done."},
	)
	term := w.atTheTerminal()
	w.says(term, "The first task", "the look around", w.isThere("begun"))
	term.press("TYPED-AHEAD words")
	for range 2 { // the screen alone tells that it was taken; on an empty line Enter does nothing
		time.Sleep(time.Second)
		term.press(keyEnter)
	}
	w.repo.Write("gate", "")
	w.eventually("the first turn's checkpoint", func() bool { return len(w.turns()) == 1 })
	w.wantSent("after the rewind", []string{"REPORT", "TYPED-AHEAD words", "The first task"}, []string{"EXPLORED"})

	w.rests(1)
	w.responses.Add(codexShell("echo two >b.txt; touch begun-two; sleep 100"))
	w.says(term, "The second task", "the second turn's command", w.isThere("begun-two"))
	w.wantSent("a turn later", []string{"REPORT", "TYPED-AHEAD words", "The second task"}, []string{"EXPLORED"})
	term.press(keyEscape)
	w.eventually("the second turn's checkpoint", func() bool { return len(w.turns()) == 2 })

	w.rests(2)
	w.responses.Add(codexShell("echo three >b.txt"), fakemodel.ResponsesReply{Status: 400})
	w.says(term, "The third task", "the third turn's checkpoint", func() bool { return len(w.turns()) == 3 })

	for n, want := range map[int][2]string{1: {"done", "one\n"}, 2: {"aborted", "two\n"}, 3: {"aborted", "three\n"}} {
		c := w.turns()[n]
		if c.State != want[0] || w.repo.Git("show", c.Commit+":b.txt")+"\n" != want[1] {
			t.Errorf("turn %d is %s, and b.txt %q", n, c.State, w.repo.Git("show", c.Commit+":b.txt"))
		}
	}
	var failed, r api.RestoreResult
	w.turnbackJSON(&failed, "checkpoint", "restore", strconv.Itoa(w.turns()[3].N), "--conversation-only")
	w.turnbackJSON(&r, "checkpoint", "restore", strconv.Itoa(w.turns()[2].N), "--conversation")
	if r.Conversation == nil || failed.Conversation == nil || w.repo.Read("b.txt") != "two\n" {
		t.Fatalf("restored %+v; b.txt holds %q", r.Conversation, w.repo.Read("b.txt"))
	}
	w.exec("resume", r.Conversation.Session, "--json", "Go on with it")
	w.wantSent("in the copy", []string{"The first task", "TYPED-AHEAD words", "REPORT", "The second task", "Go on with it"}, []string{"The third task", "EXPLORED"})
	w.exec("resume", failed.Conversation.Session, "--json", "Go on from there")
	w.wantSent("in the copy of all", []string{"The second task", "The third task", "Go on from there"}, []string{"Go on with it", "EXPLORED"})
	if problems := w.responses.Problems(); len(problems) > 0 || w.responses.Pending() > 0 {
		t.Errorf("problems %q, %d replies were not asked for", problems, w.responses.Pending())
	}
}

// TestCodexCompactsWhileACheckpointIsOpen: then it is lost. The rewind says so, no
// reminder comes, and the person is told once.
func TestCodexCompactsWhileACheckpointIsOpen(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	// The checkpoint's own turn is interrupted, so that no reminder has it closed.
	w.responses.Add(codexOpens("find it"), codexShell("echo EXPLORED; touch begun; sleep 100"))
	term := w.atTheTerminal()
	w.says(term, "The first task", "the look around", w.isThere("begun"))
	term.press(keyEscape)
	w.eventually("the first turn's checkpoint", func() bool { return len(w.turns()) == 1 })
	w.rests(1)
	w.responses.Add(fakemodel.ResponsesReply{Text: "SUMMARY of it all"})
	w.says(term, "/compact", "the summary", func() bool { return w.responses.Pending() == 0 })
	w.rests(2)
	w.responses.Add(codexCloses("REPORT"), codexShell("echo two >b.txt"), fakemodel.ResponsesReply{Text: "Second is done."})
	w.says(term, "The second task", "the second turn's checkpoint", func() bool { return len(w.turns()) == 2 })
	w.wantSent("after the compaction", []string{"SUMMARY of it all", "The checkpoint was lost in a compaction; the history is unchanged."}, []string{"A checkpoint is active."})
	term.waitFor(0, "was lost in a compaction")
	if problems := w.responses.Problems(); len(problems) > 0 || w.responses.Pending() > 0 {
		t.Errorf("problems %q, %d replies were not asked for", problems, w.responses.Pending())
	}
}
