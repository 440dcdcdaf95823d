package conversations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/history"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations"
)

// bench is a Book with everything around it scripted.
type bench struct {
	t       *testing.T
	book    *conversations.Book
	dir     string
	mu      sync.Mutex
	now     time.Time
	history *history.History // nil: the transcript tells nothing
	found   string           // where a transcript is that no hook told of
	saved   []conversations.SaveRequest
	saveErr error
	changed []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "conversations"), now: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)}
	b.restart()
	return b
}

// restart is another daemon with the same records.
func (b *bench) restart() {
	b.book = conversations.Open(conversations.Options{
		Dir: b.dir, Now: b.clock, WorkTree: b, Wait: 60 * time.Millisecond,
		History: func(agent, path string) (history.History, bool) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if where := map[string]string{"claude": "/t.jsonl", "codex": b.found}[agent]; b.history == nil || where == "" || path != where {
				return history.History{}, false
			}
			return *b.history, true
		},
		Transcript: func(_, session string) (string, bool) { return b.found, b.found != "" && session == "x1" },
		Problem:    func(err error) { b.t.Errorf("problem: %v", err) },
	})
}

// clock goes on by a millisecond at each look.
func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(time.Millisecond)
	return b.now
}

func (b *bench) Save(_ context.Context, r conversations.SaveRequest) (conversations.Saved, error) {
	b.saved = append(b.saved, r)
	if b.saveErr != nil {
		return conversations.Saved{}, b.saveErr
	}
	return conversations.Saved{N: len(b.saved), Pane: "0a1b2c3d", Worktree: "/w"}, nil
}

func (b *bench) Changed(context.Context, conversations.Saved) ([]string, error) {
	return b.changed, nil
}

// script is a caller that is no agent.
func script(session string) api.ConversationCaller { return api.ConversationCaller{Session: session} }

func (b *bench) call(tool, text string, c api.ConversationCaller) api.ConversationCallResult {
	b.t.Helper()
	r, err := b.book.Call(b.t.Context(), api.ConversationCallParams{Tool: tool, Text: text, Caller: c})
	if err != nil {
		b.t.Fatalf("%s: %v", tool, err)
	}
	return r
}

// wants makes a call and holds its first text against want.
func (b *bench) wants(want, tool, text string, c api.ConversationCaller) {
	b.t.Helper()
	r := b.call(tool, text, c)
	_, refusal := map[string]bool{"Checkpoint created.": true, "Rewind requested.": true}[strings.SplitN(want, "\n", 2)[0]]
	if len(r.Texts) == 0 || !strings.HasPrefix(r.Texts[0], want) || r.IsError == refusal {
		b.t.Errorf("%s(%.30q) = %+v, want %q", tool, text, r, want)
	}
}

const (
	created   = "Checkpoint created."
	requested = "Rewind requested."
)

func TestExactTexts(t *testing.T) {
	b := newBench(t)
	b.changed = []string{"a.txt", "dir/b.go"}
	r := b.call("checkpoint", "  find the leak \n", script("s1"))
	want := api.ConversationCallResult{
		Texts:   []string{"Checkpoint created.\nGoal: find the leak\nRun your investigation, then call rewind with a concise report."},
		Details: r.Details,
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("checkpoint (-want +got):\n%s", diff)
	}
	var details map[string]string
	if err := json.Unmarshal(r.Details, &details); err != nil || details["goal"] != "find the leak" || len(details) != 2 {
		t.Errorf("details %s, %v", r.Details, err)
	}
	if at, err := time.Parse(time.RFC3339Nano, details["startedAt"]); err != nil || at.Location() != time.UTC {
		t.Errorf("startedAt is %q", details["startedAt"])
	}
	r = b.call("rewind", " it is in a.go ", script("s1"))
	want = api.ConversationCallResult{
		Texts: []string{
			"Rewind requested.\nReport captured for context replacement.",
			"Files changed since the checkpoint: a.txt, dir/b.go (work-tree checkpoint 1)\nThe exploration stays in context: start with turnback run --conversation.",
		},
		Details: json.RawMessage(`{"report":"it is in a.go","rewound":true}`),
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("rewind (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]conversations.SaveRequest{{Session: "s1", Goal: "find the leak"}}, b.saved); diff != "" {
		t.Errorf("saves (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	b := newBench(t)
	b.wants("Session unknown; run turnback doctor.", "checkpoint", "x", api.ConversationCaller{})
	b.wants("Session unknown; run turnback doctor.", "rewind", "x", api.ConversationCaller{Agent: "claude", ToolUseID: "toolu_unheard"})
	s := script("s1")
	b.wants("No active checkpoint. Create a checkpoint before calling rewind.", "rewind", "r", s)
	b.wants("Goal cannot be empty.", "checkpoint", " \n", s)
	b.wants(created, "checkpoint", "goal", s)
	b.wants("Checkpoint already active.", "checkpoint", "", s)
	b.wants("Report cannot be empty.", "rewind", " ", s)
	b.wants("Report too long.", "rewind", strings.Repeat("é", 500_001), s)
	sub := s
	sub.Subagent = true
	b.wants("Checkpoint not available in subagents.", "checkpoint", "", sub)
	b.wants("Rewind not available in subagents.", "rewind", "", sub)
	b.wants(requested, "rewind", strings.Repeat("é", 500_000), s)
	if _, err := b.book.Call(t.Context(), api.ConversationCallParams{Tool: "undo", Caller: s}); api.AsError(err).Code != api.CodeInvalidParams {
		t.Errorf("an unknown tool: %v", err)
	}
}

func TestB133ASecondRewindIsRefusedWithItsReason(t *testing.T) {
	b := newBench(t)
	s := script("s1")
	b.wants(created, "checkpoint", "g", s)
	b.wants(requested, "rewind", "first", s)
	b.wants("Checkpoint already completed; continue from the retained report instead of calling rewind again.", "rewind", "second", s)
	shown, err := b.book.Show(api.ConversationParams{Session: "s1"}, true)
	if err != nil || len(shown.Checkpoints) != 1 || shown.Checkpoints[0].Report != "first" {
		t.Errorf("%+v, %v", shown, err)
	}
}

func TestB134AReportIsOfTheCheckpointThatItCloses(t *testing.T) {
	b := newBench(t)
	s := script("s1")
	b.wants(created, "checkpoint", "one", s)
	b.wants(requested, "rewind", "report of one", s)
	b.restart()
	b.wants(created, "checkpoint", "two", s)
	shown, err := b.book.Show(api.ConversationParams{Session: "s1"}, true)
	if err != nil || len(shown.Checkpoints) != 2 || shown.Checkpoints[1].Report != "" || shown.Checkpoints[1].State != "open" {
		t.Errorf("%+v, %v", shown, err)
	}
}

func TestB136AnOpenCheckpointOutlivesTheDaemon(t *testing.T) {
	b := newBench(t)
	b.wants(created, "checkpoint", "g", script("s1"))
	b.restart()
	b.wants("Checkpoint already active.", "checkpoint", "h", script("s1"))
	b.wants(requested, "rewind", "r", script("s1"))
	b.restart()
	b.wants("Checkpoint already completed", "rewind", "r", script("s1"))
}

func TestB137EveryCycleWorks(t *testing.T) {
	b := newBench(t)
	for i := range 3 {
		b.wants(created, "checkpoint", fmt.Sprint("goal ", i), script("s1"))
		b.wants(requested, "rewind", fmt.Sprint("report ", i), script("s1"))
	}
}

func TestSessionsAreApart(t *testing.T) {
	b := newBench(t)
	b.wants(created, "checkpoint", "g", script("s1"))
	b.wants("No active checkpoint.", "rewind", "r", script("s2"))
	b.wants(created, "checkpoint", "g", script("s2"))
}

func TestRecordsAreThePersonsAlone(t *testing.T) {
	b := newBench(t)
	b.wants(created, "checkpoint", "g", script("../../s1"))
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	for _, path := range []string{b.dir, filepath.Join(b.dir, entries[0].Name())} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// A save that fails is no failure of the checkpoint, and the person hears of it.
func TestAFailedSaveIsTold(t *testing.T) {
	b := newBench(t)
	b.saveErr = errors.New("the disk is full")
	b.wants(created, "checkpoint", "g", script("s1"))
	r := b.call("rewind", "r", script("s1"))
	if want := conversation.NoProxyNote; len(r.Texts) != 2 || r.Texts[1] != want {
		t.Errorf("facts %q, want %q", r.Texts, want)
	}
	settled, err := b.book.Settled(api.ConversationSettledParams{Caller: script("s1")})
	if err != nil || settled.Notice != "turnback: the work tree was not saved with the conversation's checkpoint: the disk is full" {
		t.Errorf("%+v, %v", settled, err)
	}
	if again, _ := b.book.Settled(api.ConversationSettledParams{Caller: script("s1")}); again.Notice != "" {
		t.Errorf("told again: %+v", again)
	}
}

// What the proxy could not read is no compaction: the checkpoint is open as
// before. A history that was read and does not have it is one.
func TestARequestThatTellsNothingLosesNoCheckpoint(t *testing.T) {
	b := newBench(t)
	caller := script("s1")
	of := func(id string) api.ConversationCaller { return api.ConversationCaller{Session: "s1", ToolUseID: id} }
	b.wants(created, "checkpoint", "g", of("c1"))
	saw := func(p api.ConversationSeenParams) {
		t.Helper()
		p.Caller, p.At = caller, b.clock()
		if err := b.book.Seen(p); err != nil {
			t.Fatal(err)
		}
	}
	saw(api.ConversationSeenParams{Open: &api.ConversationOpenCall{CallID: "c1", Goal: "g", BatchEnded: true}, Checkpoints: []string{"c1"}})
	saw(api.ConversationSeenParams{Unknown: true, Reason: "history is damaged"})
	b.wants(requested, "rewind", "R", of("w"))

	saw(api.ConversationSeenParams{Completed: true, Checkpoints: []string{"c1"}})
	b.wants(created, "checkpoint", "g2", of("c2"))
	saw(api.ConversationSeenParams{Open: &api.ConversationOpenCall{CallID: "c2", Goal: "g2", BatchEnded: true}, Checkpoints: []string{"c2"}})
	saw(api.ConversationSeenParams{})
	b.wants(string(conversation.ErrLost), "rewind", "R", of("w"))
}
