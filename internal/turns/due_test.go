package turns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

// die ends the daemon as SIGKILL does: nothing of what it does from now on is
// there afterwards.
func (h *house) die() {
	h.t.Helper()
	before := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(h.root(), ".git", "turnback", "panes", "*.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, path := range append(paths, h.state) {
		data, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		before[path] = data
	}
	notes := h.store().noted()
	h.kill()
	for path, data := range before {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	h.store().set(func() { h.store0().notes, h.store0().calls, h.store0().hold = notes, nil, nil })
	h.set(func() { h.events, h.problems = nil, nil })
}

// store0 is store, for who holds the store's lock.
func (h *house) store0() *fakeStore { return h.stores[h.root()] }

// idle waits until nothing is saved any more.
func (h *house) idle() {
	h.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); h.tracker.Saving() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatal("it still saves")
		}
	}
}

func noteText(notes []checkpoint.NotSaved) string {
	var out []string
	for _, n := range notes {
		out = append(out, fmt.Sprintf("%d %s", n.Turn, n.Reason))
	}
	return strings.Join(out, ", ")
}

func TestADaemonKilledDuringTheEndSave(t *testing.T) {
	for name, fail := range map[string]error{"saved by the next": nil, "cannot be saved": errors.New("no room")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testEndLost(t, fail) })
		})
	}
}

func testEndLost(t *testing.T, fail error) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "Add a retry")
	store.edit("tree1")
	store.set(func() { store.hold = make(chan struct{}) })
	if ended := claude.sends(api.ReportStop, func(r *api.AgentReport) { r.TranscriptPlace = "place" }); !ended.Pending {
		t.Fatalf("answer %+v", ended)
	}
	h.die()
	store.failing("save", fail)
	h.start()
	h.idle()
	equal(t, "calls", store.did(), "save claude 1 done")
	if len(store.saved()) == 0 {
		return
	}
	s := store.saved()[0]
	if s.Base == nil || s.Base.Tree != "tree0" || s.Label != "Add a retry" || s.Transcript != "place" || s.AgentSession != "s1" || !store.late[0] || s.Since.IsZero() {
		t.Errorf("saved as %+v, late %v", s, store.late)
	}
	if fail != nil {
		equal(t, "notes", noteText(store.noted()), "1 no room")
	}
	equal(t, "due", len(h.records()[0].Due), 0)
	store.failing("save", nil)
	claude.stops()
	h.stop()
	h.start()
	h.idle()
	n := 1
	if fail != nil {
		n = 0
	}
	equal(t, "checkpoints", store.last[h.records()[0].ID].N, n)
}

func TestADaemonKilledDuringTheStartSave(t *testing.T) {
	synctest.Test(t, testStartLost)
}

func testStartLost(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	store.set(func() { store.hold = make(chan struct{}) })
	claude.prompts("p1", "one")
	h.die()
	h.start()
	h.idle()
	equal(t, "notes", noteText(store.noted()), "1 its start: the daemon was ended before it was saved")
	store.edit("tree1")
	ended := claude.stops()
	if ended.Turn != 1 || ended.Checkpoint == nil || store.saved()[0].Base != nil {
		t.Errorf("answer %+v, saved %+v", ended, store.saved())
	}
	h.stop()
	h.start()
	equal(t, "notes later", len(store.noted()), 1)
}

func TestWhatOneDaemonOwesAnotherSaves(t *testing.T) {
	synctest.Test(t, testOwedToAnother)
}

func testOwedToAnother(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.edit("tree1")
	store.set(func() { store.hold = make(chan struct{}) })
	claude.stops()
	h.die()
	h.self = registry.Process{PID: 2, Started: "boot:2"}
	h.state = filepath.Join(h.dir, "other", "state.json")
	h.start()
	claude.prompts("p2", "two")
	h.idle()
	equal(t, "calls", store.did(), "save claude 1 done, begin claude 2")
}

func TestANoteThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted=%v", restarted), func(t *testing.T) {
			h := newHouse(t)
			claude, store := h.claude(1), h.store()
			claude.prompts("p1", "one")
			store.edit("tree1")
			gone := &checkpoint.Error{Code: checkpoint.NotRepo, Message: "not a git work tree"}
			git := filepath.Join(h.root(), ".git")
			if err := os.Rename(git, git+".away"); err != nil {
				t.Fatal(err)
			}
			store.failing("save", gone)
			store.failing("note", gone)
			equal(t, "told", claude.stops().NotSaved, gone.Message)
			if err := os.Rename(git+".away", git); err != nil {
				t.Fatal(err)
			}
			store.failing("save", nil)
			store.failing("note", nil)
			if restarted {
				h.stop()
				h.start()
			}
			claude.prompts("p2", "two")
			h.idle()
			equal(t, "notes", noteText(store.noted()), "1 not a git work tree")
			claude.stops()
			h.idle()
			equal(t, "notes later", len(store.noted()), 1)
			equal(t, "due", len(h.records()[0].Due), 0)
		})
	}
}

func TestAStoreThatDoesNotOpenIsNotedLater(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	h.set(func() { h.openErr = errors.New("git is missing") })
	claude.prompts("p1", "one")
	claude.stops()
	h.set(func() { h.openErr = nil })
	claude.prompts("p2", "two")
	h.idle()
	equal(t, "notes", noteText(store.noted()), "1 its start: open store: git is missing, 1 open store: git is missing")
}

func TestASecondSaveOfATurnIsOwedUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "one")
		store.edit("tree1")
		store.takes(5 * time.Second)
		claude.sends(api.ReportNeedsInput)
		claude.stops()
		time.Sleep(3 * time.Second) // the first is done, the second runs
		due := h.records()[0].Due
		if len(due) != 1 || due[0].State != "done" {
			t.Errorf("due %+v", due)
		}
		time.Sleep(10 * time.Second)
		equal(t, "due at the end", len(h.records()[0].Due), 0)
	})
}

// say reports a state of the window build.
func (h *house) say(dir, state, prompt string) api.SetAgentStateResult {
	h.t.Helper()
	result, err := h.tracker.SetState(h.t.Context(), api.SetAgentStateParams{
		Place: api.Place{Window: "build", Dir: dir}, State: state, Prompt: prompt,
	})
	if err != nil {
		h.t.Errorf("%s: %v", state, err)
	}
	return result
}

func TestAPromptWithAnyStateBeginsATurn(t *testing.T) {
	for _, state := range []string{"needs_input", "done", "errored", "idle"} {
		t.Run(state, func(t *testing.T) {
			h := newHouse(t)
			equal(t, "at first", h.say(h.root(), "idle", "").Turn, 0)
			answer := h.say(h.root(), state, "Add a retry")
			if answer.Turn != 1 || answer.State != state {
				t.Errorf("answer %+v", answer)
			}
			h.store().edit("tree1")
			h.say(h.root(), "done", "")
			if saves := h.store().saved(); len(saves) == 0 || saves[len(saves)-1].Label != "Add a retry" {
				t.Errorf("saves %+v", saves)
			}
			equal(t, "begun", strings.HasPrefix(h.happened(), "turn_started 1"), true)
		})
	}
}

func TestANamedWindowMovesIntoTheRepositoryThatAppears(t *testing.T) {
	h := newHouse(t)
	sub := filepath.Join(h.dir, "new", "sub")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	h.say(sub, "working", "one")
	equal(t, "not saved", h.say(sub, "done", "").NotSaved, "not a git work tree")
	h.say(sub, "working", "two")
	root := h.repo("new")
	h.stores[root].edit("tree1")
	ended := h.say(sub, "done", "")
	if ended.Checkpoint == nil || ended.NotSaved != "" {
		t.Errorf("at the turn's end: %+v", ended)
	}
	h.say(h.root(), "working", "three") // from elsewhere
	h.stores[root].edit("tree2")
	ended = h.say(h.root(), "done", "")
	if ended.Checkpoint == nil || ended.Turn != 3 {
		t.Errorf("from elsewhere: %+v", ended)
	}
	equal(t, "work tree", h.window("build").Worktree, root)
	equal(t, "saves in the caller's repository", len(h.store().saved()), 0)
}

func TestAHooksWindowMovesIntoTheRepositoryThatAppears(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.dir = filepath.Join(h.dir, "new", "sub")
	if err := os.MkdirAll(claude.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	pane := claude.prompts("p1", "one").Pane
	root := h.repo("new")
	h.stores[root].edit("tree1")
	ended := claude.stops()
	if ended.Pane != pane || ended.Checkpoint == nil {
		t.Errorf("answer %+v", ended)
	}
	equal(t, "pane", claude.prompts("p2", "two").Pane, pane)
	equal(t, "work tree", h.window("claude").Worktree, root)
}

func TestAWindowThatAnotherTookOverIsThereOnce(t *testing.T) {
	h := newHouse(t)
	first := h.say(h.root(), "working", "one")
	mine := h.tracker
	h.set(func() { h.living[2] = true })
	h.self, h.state = registry.Process{PID: 2, Started: "boot:2"}, filepath.Join(h.dir, "other", "state.json")
	theirs := h.records()[0]
	theirs.Owner, theirs.LastActive = h.self, theirs.LastActive.Add(time.Second)
	if err := registry.WriteRecord(theirs); err != nil {
		t.Fatal(err)
	}
	h.tracker = mine
	w, err := mine.Resolve(t.Context(), api.Place{Window: "build", Dir: h.root()}, true)
	if err != nil || w.ID != first.Pane {
		t.Errorf("found %+v, %v", w, err)
	}
}

func TestWithoutGitTheReasonIsTold(t *testing.T) {
	h := newHouse(t)
	missing := api.Errorf(api.CodeGitFailed, "there is no git")
	h.set(func() { h.findErr = missing })
	_, err := h.tracker.Resolve(t.Context(), api.Place{Dir: h.root()}, false)
	if e := api.AsError(err); e.Code != api.CodeGitFailed || e.Message != missing.Message {
		t.Errorf("error %+v", e)
	}
}

func TestAHomeThatIsNotAllowed(t *testing.T) {
	h := newHouse(t)
	h.set(func() {
		h.findErr = &checkpoint.Error{Code: checkpoint.NotRepo, Message: "it is a home directory", Detail: "set allow_home = true"}
	})
	h.say(h.root(), "working", "one")
	equal(t, "reason", h.say(h.root(), "done", "").NotSaved, "it is a home directory; set allow_home = true")
	_, err := h.tracker.Resolve(t.Context(), api.Place{Window: "build", Dir: h.root()}, false)
	if e := api.AsError(err); e.Code != api.CodeNotRepo || e.Hint == nil || e.Hint.Detail != "set allow_home = true" {
		t.Errorf("error %+v", e)
	}
	h.set(func() { h.findErr = nil })
	w, err := h.tracker.Resolve(t.Context(), api.Place{Window: "build", Dir: h.root()}, false)
	if err != nil || w.CommonDir == "" {
		t.Errorf("found %+v, %v", w, err)
	}
}

// What changes files waits for the saves that are due in its work tree.
func TestBusyWaitsForSaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "one")
		store.edit("tree1")
		store.takes(3 * time.Second)
		claude.stops()
		if _, err := h.tracker.Busy(t.Context(), h.root()); err != nil {
			t.Fatal(err)
		}
		equal(t, "saves", len(store.saved()), 1)
	})
}

// Who asks for checkpoints after a daemon was killed sees what it owed.
func TestResolveWaitsForWhatAKilledDaemonOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "one")
		store.edit("tree1")
		store.set(func() { store.hold = make(chan struct{}) })
		claude.stops()
		h.die()
		store.takes(time.Second)
		h.start()
		if _, err := h.tracker.Resolve(t.Context(), api.Place{Window: "claude", Dir: h.root()}, false); err != nil {
			t.Fatal(err)
		}
		equal(t, "saves", len(store.saved()), 1)
		before := time.Now()
		if _, err := h.tracker.Resolve(t.Context(), api.Place{Window: "claude", Dir: h.root()}, false); err != nil {
			t.Fatal(err)
		}
		equal(t, "waited again", time.Since(before), 0)
	})
}
