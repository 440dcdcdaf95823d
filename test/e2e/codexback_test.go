//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// twoTurns has Codex work for two turns, in the first of which a span is explored
// and closed. It returns the thread, and its rollout.
func (w *codexWorld) twoTurns() (thread, rollout string) {
	w.t.Helper()
	w.responses.Add(
		codexOpens("find it"), codexShell("echo EXPLORED"), codexCloses("REPORT-ONE"),
		codexShell("echo one >b.txt"), fakemodel.ResponsesReply{Text: "First is done."},
	)
	thread = w.exec("--json", "-s", "danger-full-access", "The first task")
	w.responses.Add(codexShell("echo two >b.txt"), fakemodel.ResponsesReply{Text: "Second is done."})
	if again := w.exec("-s", "danger-full-access", "resume", thread, "--json", "The second task"); again != thread {
		w.t.Fatalf("Codex went on in %s, not in %s", again, thread)
	}
	return thread, w.rollout(thread)
}

func (w *codexWorld) rollout(thread string) string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.repo.Home, ".codex/sessions/*/*/*/rollout-*-"+thread+".jsonl"))
	if err != nil || len(found) != 1 {
		w.t.Fatalf("rollouts of %s: %q, %v", thread, found, err)
	}
	return found[0]
}

// turns are the checkpoints of turns, by the number of the turn.
func (w *world) turns() map[int]api.Checkpoint {
	w.t.Helper()
	var list api.ListCheckpointsResult
	w.turnbackJSON(&list, "checkpoint", "list")
	all := map[int]api.Checkpoint{}
	for _, c := range list.Checkpoints {
		if c.Kind == "turn" {
			all[c.Turn] = c
		}
	}
	return all
}

// A person goes back to the first of two turns of Codex, files and conversation:
// it goes on with the copy as if the second turn had never been.
func TestRestoreWithConversationInCodex(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	thread, rollout := w.twoTurns()
	original, err := os.ReadFile(rollout)
	if err != nil {
		t.Fatal(err)
	}
	n := w.turns()[1].N
	var r api.RestoreResult
	w.turnbackJSON(&r, "checkpoint", "restore", strconv.Itoa(n), "--conversation")
	if r.Conversation == nil || !r.Conversation.Copy || r.Conversation.Kept || r.Conversation.From != thread {
		t.Fatalf("restored %+v", r)
	}
	if want := "turnback run --conversation -- codex resume " + r.Conversation.Session; r.Conversation.Resume != want {
		t.Errorf("told %q, want %q", r.Conversation.Resume, want)
	}
	if got := w.repo.Read("b.txt"); got != "one\n" {
		t.Errorf("b.txt holds %q", got)
	}
	if after, err := os.ReadFile(rollout); err != nil || string(after) != string(original) {
		t.Errorf("the original rollout has changed, %v", err)
	}
	w.responses.Add(fakemodel.ResponsesReply{Text: "Going on."})
	if on := w.exec("resume", r.Conversation.Session, "--json", "Go on with it"); on != r.Conversation.Session {
		t.Errorf("Codex went on in %s", on)
	}
	w.wantSent("in the copy", []string{"The first task", "First is done.", "REPORT-ONE", "Go on with it"}, []string{"The second task", "Second is done.", "EXPLORED", thread})
	w.responses.Add(fakemodel.ResponsesReply{Text: "Going on."})
	w.exec("resume", thread, "--json", "Go on with that")
	w.wantSent("in the original", []string{"The first task", "The second task", "Second is done.", "Go on with that"}, []string{"Go on with it"})
	if problems := w.responses.Problems(); len(problems) > 0 || w.responses.Pending() > 0 {
		t.Errorf("problems %q, %d replies were not asked for", problems, w.responses.Pending())
	}
}

// What Codex's own rollout had is still there when that has gone.
func TestRestoreFromTheKeptRolloutOfCodex(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	thread, rollout := w.twoTurns()
	w.eventually("the copy of the rollout", func() bool {
		kept, err := filepath.Glob(filepath.Join(w.repo.Home, ".local/state/turnback/transcripts/*.jsonl"))
		if err != nil || len(kept) != 1 {
			return false
		}
		text, err := os.ReadFile(kept[0])
		return err == nil && strings.Contains(string(text), "Second is done.")
	})
	if err := os.RemoveAll(filepath.Join(w.repo.Home, ".codex/sessions")); err != nil {
		t.Fatal(err)
	}
	var r api.RestoreResult
	w.turnbackJSON(&r, "checkpoint", "restore", strconv.Itoa(w.turns()[1].N), "--conversation-only")
	if r.Conversation == nil || !r.Conversation.Kept || w.repo.Read("b.txt") != "two\n" {
		t.Fatalf("restored %+v; b.txt holds %q", r.Conversation, w.repo.Read("b.txt"))
	}
	if _, err := os.Stat(rollout); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the original is back, %v", err)
	}
	w.responses.Add(fakemodel.ResponsesReply{Text: "Going on."})
	w.exec("resume", r.Conversation.Session, "--json", "Go on with it")
	w.wantSent("in the copy", []string{"The first task", "First is done.", "REPORT-ONE", "Go on with it"}, []string{"The second task", "EXPLORED"})
	if out := w.turnback("conversation", "purge", thread, "--yes"); !strings.Contains(out, "transcript") {
		t.Errorf("the purge says %q", out)
	}
	if kept, err := filepath.Glob(filepath.Join(w.repo.Home, ".local/state/turnback/transcripts/*.jsonl")); err != nil || len(kept) > 1 {
		t.Errorf("left are %q, %v", kept, err) // that of the copy's own turn may be there
	}
}

// Each turn of Codex is saved with its prompt, its state and its place, also one
// that the model did not answer: then no hook tells that it is over.
func TestCodexTurnsAreSaved(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	w.responses.Add(codexShell("echo one >b.txt"), codexShell("$TB ls >ls.txt"), fakemodel.ResponsesReply{Text: "First is done."})
	w.extra = append(w.extra, "TB="+w.tools.turnback)
	thread := w.exec("--json", "-s", "danger-full-access", "The first task")
	if working := w.repo.Read("ls.txt"); !strings.Contains(working, "working") {
		t.Errorf("during the turn: %s", working)
	}
	w.responses.Add(codexShell("echo two >b.txt"), fakemodel.ResponsesReply{Status: 400})
	stdout, stderr, code := w.command(w.tools.turnback, "run", "--conversation", "--", filepath.Join(w.run, "codex"), "exec", "-s", "danger-full-access", "resume", thread, "--json", "The second task")
	if code == 0 || !strings.Contains(stdout, "turn.failed") {
		t.Fatalf("the model's error passed: exit %d\n%s%s", code, stdout, stderr)
	}
	w.eventually("the second turn's checkpoint", func() bool { return len(w.turns()) == 2 })
	for turn, want := range map[int]struct{ label, state, text string }{
		1: {"The first task", "done", "one\n"}, 2: {"The second task", "aborted", "two\n"},
	} {
		c := w.turns()[turn]
		if c.Label != want.label || c.State != want.state || c.Agent != "codex" || c.AgentSession != thread {
			t.Errorf("turn %d: %+v", turn, c)
		}
		if got := w.repo.Git("show", c.Commit+":b.txt"); got != strings.TrimSpace(want.text) && got != want.text {
			t.Errorf("turn %d: b.txt is %q", turn, got)
		}
		var shown api.ShowCheckpointResult
		w.turnbackJSON(&shown, "checkpoint", "show", strconv.Itoa(c.N))
		var place struct{ Path, Turn string }
		if err := json.Unmarshal([]byte(shown.Transcript), &place); turn == 1 && (err != nil || place.Path != w.rollout(thread) || place.Turn == "") {
			t.Errorf("turn %d: its place is %q, %v", turn, shown.Transcript, err)
		}
	}
}

// Without proxy and hooks Codex's rollout alone tells what is open: here in a fork,
// which is a session of its own that goes on from the rollout of another.
func TestCodexWithoutTheProxyGoesByItsRollout(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	config, err := os.ReadFile(filepath.Join(w.repo.Home, ".codex/config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	w.writeHome(".codex/config.toml", fmt.Sprintf(`%s
[mcp_servers.turnback]
command = %q
args = ["mcp", "--conversation"]
env_vars = ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"]
default_tools_approval_mode = "approve"
`, config, w.tools.turnback))
	exec := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := w.command(filepath.Join(w.run, "codex"), append([]string{"exec", "-s", "danger-full-access"}, args...)...)
		if code != 0 {
			t.Fatalf("codex exec %q: exit %d\n%s%s", args, code, stdout, stderr)
		}
		_, id, _ := strings.Cut(stdout, `"thread_id":"`)
		id, _, _ = strings.Cut(id, `"`)
		return id
	}
	w.responses.Add(codexOpens("find it"), fakemodel.ResponsesReply{Text: "I looked."})
	thread := exec("--json", "The first task")
	w.responses.Add(codexOpens("find more"), codexCloses("REPORT"), codexCloses("AGAIN"), fakemodel.ResponsesReply{Text: "Done."})
	fork := exec("fork", thread, "--json", "The second task")
	if fork == thread || fork == "" {
		t.Fatalf("the fork of %s is %s", thread, fork)
	}
	w.wantSent("in the fork", []string{
		"Checkpoint already active.", "Rewind requested.", "The exploration stays in context: start with turnback run --conversation.",
		"Checkpoint already completed; continue from the retained report instead of calling rewind again.",
	}, nil)
	w.responses.Add(codexCloses("REPORT"), fakemodel.ResponsesReply{Text: "Done."})
	exec("resume", thread, "--json", "The third task")
	w.wantSent("in the original", []string{"Rewind requested."}, []string{"Checkpoint already"})
	if problems := w.responses.Problems(); len(problems) > 0 || w.responses.Pending() > 0 {
		t.Errorf("problems %q, %d replies were not asked for", problems, w.responses.Pending())
	}
}
