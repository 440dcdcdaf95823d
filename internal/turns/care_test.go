package turns

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

// busy is the names of the busy windows of the repository.
func (h *house) busy() string {
	h.t.Helper()
	windows, err := h.tracker.Busy(h.t.Context(), h.root())
	if err != nil {
		h.t.Fatal(err)
	}
	return names(windows)
}

// dies ends the agent's process.
func (a *agent) dies() { a.h.set(func() { a.h.living[a.pid] = false }) }

// isInterrupted has the agent's transcript say that the person interrupted it.
func (a *agent) isInterrupted() {
	a.writes("[Request interrupted by user]")
	a.h.set(func() { a.h.interrupted[a.script] = true })
}

// goesOn has the agent write what comes after an interrupt: the next prompt.
func (a *agent) goesOn() {
	a.h.t.Helper()
	a.writes("the next prompt")
	a.h.set(func() { a.h.interrupted[a.script] = false })
}

func TestBusy(t *testing.T) {
	h := newHouse(t)
	web := h.repo("web")
	asks, works, rests, elsewhere := h.claude(1), h.claude(2), h.claude(3), h.claude(4)
	elsewhere.dir = web
	for _, a := range []*agent{asks, works, rests, elsewhere} {
		a.prompts("p1", "go")
	}
	asks.sends(api.ReportNeedsInput)
	rests.stops()
	equal(t, "busy", h.busy(), "claude claude-2")
}

func TestBusyClosesTheTurnOfADeadAgent(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "go")
	store.edit("tree1")
	claude.dies()
	equal(t, "busy", h.busy(), "")
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted")
	w := h.window("claude")
	equal(t, "state", w.State, "none")
	equal(t, "events", h.happened(), "turn_started 1, turn_ended 1 aborted, checkpoint_saved 1")
}

func TestBusyClosesAnInterruptedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "go")
		claude.writes("the prompt")
		store.edit("tree1")
		time.Sleep(time.Second)
		equal(t, "busy before", h.busy(), "claude")
		claude.isInterrupted()
		equal(t, "busy after", h.busy(), "")
		equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted")
		equal(t, "state", h.window("claude").State, "idle")
	})
}

// TestTheInterruptOfTheTurnBeforeIsNotThisTurns: when a prompt is reported, the
// transcript still ends in the interrupt of the turn before.
func TestTheInterruptOfTheTurnBeforeIsNotThisTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "one")
		claude.isInterrupted()
		claude.prompts("p2", "two")
		time.Sleep(time.Minute)
		equal(t, "nothing was written since", h.busy(), "claude")

		claude.prompts("p3", "three")
		claude.writes("not of the conversation")
		var agent sync.WaitGroup
		agent.Go(func() {
			time.Sleep(300 * time.Millisecond)
			claude.goesOn()
		})
		equal(t, "the agent was answered just now, and is waited for", h.busy(), "claude")
		agent.Wait()

		claude.isInterrupted()
		equal(t, "interrupted right after an answer", h.busy(), "")
		claude.prompts("p3b", "three again")
		claude.goesOn()

		store.takes(4 * time.Second)
		var hook sync.WaitGroup
		hook.Go(func() { claude.prompts("p4", "four") })
		time.Sleep(time.Second)
		claude.writes("not of the conversation")
		equal(t, "the agent waits for the answer", h.busy(), "claude")
		hook.Wait()
	})
}

func TestWatchClosesTurnsOfAgentsThatDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() { h.tracker.Watch(ctx) })
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "go")
		store.edit("tree1")
		time.Sleep(time.Minute)
		equal(t, "while it lives", store.did(), "begin claude 1")
		claude.dies()
		time.Sleep(sweepEvery)
		synctest.Wait()
		equal(t, "after", store.did(), "begin claude 1, save claude 1 aborted")

		again := h.claude(1)
		again.prompts("p2", "next")
		again.dies()
		time.Sleep(sweepEvery)
		synctest.Wait()
		equal(t, "the next turn", h.window("claude").State, "none")
		cancel()
		watch.Wait()
	})
}

func TestWatchClosesTheInterruptedTurnOfAnAgentWhoseProcessIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() { h.tracker.Watch(ctx) })
		claude := h.claude(1)
		claude.pid = 0
		claude.prompts("p1", "go")
		claude.isInterrupted()
		time.Sleep(2 * sweepEvery)
		synctest.Wait()
		equal(t, "state", h.window("claude").State, "idle")
		cancel()
		watch.Wait()
	})
}

func TestATurnThatGoesOnIsNotInterruptedByWhatWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude := h.claude(1)
		claude.prompts("p1", "one")
		claude.isInterrupted()
		time.Sleep(time.Second)
		equal(t, "busy", h.busy(), "")
		claude.sends(api.ReportPrompt, func(r *api.AgentReport) { r.PromptID, r.SameTurn = "p2", true })
		time.Sleep(time.Minute)
		equal(t, "busy", h.busy(), "claude")
	})
}

func TestARestartLeavesTheTurnOfALiveAgentOpen(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	pane := claude.prompts("p1", "Add a retry").Pane
	h.kill()
	h.start()
	w := h.window("claude")
	if w.State != "unknown" || !w.TurnOpen || w.Turn != 1 || w.ID != pane {
		t.Errorf("after the restart: %+v", w)
	}
	equal(t, "busy", h.busy(), "claude")
	store.edit("tree1")
	ended := claude.sends(api.ReportStop, func(r *api.AgentReport) { r.PromptID = "p1" })
	equal(t, "turn", ended.Turn, 1)
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 done")
	save := store.saved()[0]
	if save.Base == nil || save.Base.Tree != "tree0" || save.Label != "Add a retry" {
		t.Errorf("base %+v, label %q", save.Base, save.Label)
	}
	h.noProblems()
}

func TestARestartClosesTheTurnOfADeadAgent(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "Add a retry")
	store.edit("tree1")
	h.kill()
	claude.dies()
	h.start()
	h.stop()
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted")
	records := h.records()
	if len(records) != 1 || records[0].TurnOpen || records[0].State != "none" {
		t.Errorf("records %+v", records)
	}
}

func TestARestartAtRestChangesNothing(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "go")
	claude.stops()
	h.kill()
	h.start()
	w := h.window("claude")
	if w.State != "done" || w.TurnOpen || w.Turn != 1 {
		t.Errorf("after the restart: %+v", w)
	}
}

func TestALostStateFileLosesNothing(t *testing.T) {
	for name, lose := range map[string]func(h *house) error{
		"removed": func(h *house) error { return os.Remove(h.state) },
		"broken":  func(h *house) error { return os.WriteFile(h.state, []byte("{"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			claude := h.claude(1)
			pane := claude.prompts("p1", "go").Pane
			h.kill()
			if err := lose(h); err != nil {
				t.Fatal(err)
			}
			tracker := New(h.options())
			h.tracker = tracker
			err := tracker.Recover(t.Context())
			equal(t, "reported", err != nil, name == "broken")
			ended := claude.stops()
			if ended.Pane != pane || ended.Turn != 1 || ended.State != "done" {
				t.Errorf("answer %+v", ended)
			}
		})
	}
}

func TestALostStateFileHidesNoDeadAgentsTurn(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "go")
	store.edit("tree1")
	h.kill()
	claude.dies()
	if err := os.Remove(h.state); err != nil {
		t.Fatal(err)
	}
	h.start()
	equal(t, "busy", h.busy(), "")
	h.stop()
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted")
}

func TestAWindowIsFoundAgainThoughEverythingIsLost(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	pane := claude.prompts("p1", "go").Pane
	h.kill()
	for _, path := range []string{h.state, filepath.Join(h.root(), ".git", "turnback")} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	store.set(func() { store.highest[pane] = 7 })
	h.start()
	began := claude.prompts("p2", "next")
	if began.Pane != pane || began.Turn != 8 {
		t.Errorf("answer %+v", began)
	}
}

func TestTheTurnCounterIsReadAgainWhenItCouldNotBe(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	store.failing("highest", errors.New("git was killed"))
	pane := claude.sends(api.ReportSessionStart).Pane
	equal(t, "problems", len(h.problems), 1)
	store.failing("highest", nil)
	store.set(func() { store.highest[pane] = 4 })
	equal(t, "turn", claude.prompts("p1", "go").Turn, 5)
}

func TestCloseSavesWhatIsMidTurnAndLeavesItOpen(t *testing.T) {
	h := newHouse(t)
	claude, rests, store := h.claude(1), h.claude(2), h.store()
	rests.prompts("q1", "other")
	rests.stops()
	claude.prompts("p1", "Add a retry")
	store.edit("tree1")
	tracker := h.tracker
	h.stop()
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 done, begin claude-2 1, save claude-2 1 unknown")
	equal(t, "label", store.saved()[1].Label, "Add a retry")
	open := 0
	for _, w := range h.records() {
		if w.TurnOpen {
			open++
		}
	}
	equal(t, "open turns in the records", open, 1)
	_, err := tracker.Report(t.Context(), api.AgentReport{Kind: api.ReportStop, Agent: "claude", SessionID: "s1", Place: api.Place{Dir: h.root()}})
	equal(t, "a report after that", api.AsError(err).Code, api.CodeNoDaemon)
	if err := tracker.Close(t.Context()); err != nil {
		t.Errorf("close again: %v", err)
	}
}

func TestCloseGivesUpSavesThatTakeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "go")
		store.takes(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := h.tracker.Close(ctx)
		h.tracker = nil
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		notes := store.noted()
		if len(notes) != 1 || notes[0].Reason != "the daemon was stopped" || notes[0].Turn != 1 {
			t.Errorf("notes %+v", notes)
		}
	})
}

// second starts another daemon over the same repositories, with a state file of
// its own.
func (h *house) second() *house {
	h.t.Helper()
	h.set(func() { h.living[h.self.PID] = true })
	other := &house{
		t: h.t, mu: h.mu, dir: h.dir, state: filepath.Join(h.dir, "other", "state.json"), self: registry.Process{PID: 2, Started: "boot:2"},
		roots: h.roots, stores: h.stores, living: h.living, interrupted: h.interrupted, settings: h.settings,
	}
	h.set(func() { h.living[2] = true })
	other.start()
	return other
}

func TestAnotherDaemonsTurnIsBusyAndKeepsTheStartFromBeingSaved(t *testing.T) {
	h := newHouse(t)
	theirs := h.claude(1)
	theirs.prompts("p1", "go")
	other := h.second()
	equal(t, "busy", other.busy(), "claude")
	w, err := other.tracker.Resolve(t.Context(), api.Place{Window: "claude"}, true)
	equal(t, "by name, from nowhere", api.AsError(err) != nil, true)
	w, err = other.tracker.Resolve(t.Context(), api.Place{Window: "claude", Dir: h.root()}, true)
	if err != nil || w.ID != h.window("claude").ID {
		t.Errorf("resolved %+v, %v", w, err)
	}
	mine := other.claude(2)
	mine.prompts("q1", "other")
	equal(t, "the start is saved", h.store().lastBegin().SaveStart, false)
	theirs.stops()
	equal(t, "busy", other.busy(), "claude")
}

func TestAnotherDaemonsDeadAgentIsNotBusy(t *testing.T) {
	h := newHouse(t)
	theirs := h.claude(1)
	theirs.prompts("p1", "go")
	other := h.second()
	theirs.dies()
	equal(t, "busy", other.busy(), "")
	equal(t, "calls", h.store().did(), "begin claude 1")
}

func TestADeadDaemonsWindowsAreTakenUp(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	pane := claude.prompts("p1", "go").Pane
	other := h.second()
	h.set(func() { h.living[h.self.PID] = false })
	equal(t, "busy", other.busy(), "claude")
	claude.h = other
	store.edit("tree1")
	ended := claude.stops()
	if ended.Pane != pane || ended.Turn != 1 || ended.Checkpoint == nil {
		t.Errorf("answer %+v", ended)
	}
	h.tracker.mu.Lock()
	h.tracker.closing = true // it is dead
	h.tracker.mu.Unlock()
}

func TestAnAgentThatReportsToAnotherDaemonIsFollowedThere(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	pane := claude.prompts("p1", "one").Pane
	claude.stops()
	other := h.second()
	claude.h = other
	second := claude.prompts("p2", "two")
	if second.Pane != pane || second.Turn != 2 {
		t.Errorf("answer %+v", second)
	}
	equal(t, "busy, as the first daemon sees it", h.busy(), "claude")
	claude.stops()
	claude.h = h
	third := claude.prompts("p3", "three")
	if third.Pane != pane || third.Turn != 3 {
		t.Errorf("answer %+v", third)
	}
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 done, begin claude 2, save claude 2 done, begin claude 3")
}

func TestAWindowThatAnotherDaemonTookUpIsLeftToIt(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	h.kill()
	h.set(func() { h.living[h.self.PID] = false })
	other := h.second()
	h.set(func() { h.living[h.self.PID] = false })
	claude.h = other
	claude.sends(api.ReportToolStart, func(r *api.AgentReport) { r.PromptID = "p1" })
	h.start()
	list, err := h.tracker.Windows(t.Context())
	if err != nil || len(list.Windows) != 0 {
		t.Errorf("windows %+v, %v", list.Windows, err)
	}
	equal(t, "busy", h.busy(), "claude")
	equal(t, "state with the other", other.window("claude").State, "working")
}

func TestARecordThatIsGarbageIsAProblem(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	garbage := filepath.Join(h.root(), ".git", "turnback", "panes", "deadbeef.json")
	if err := os.WriteFile(garbage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "busy", h.busy(), "claude")
	if len(h.problems) == 0 || !strings.Contains(h.problems[0].Error(), "deadbeef") {
		t.Errorf("problems %v", h.problems)
	}
}

func TestAStateFileThatCannotBeWrittenIsAProblem(t *testing.T) {
	h := newHouse(t)
	if err := os.RemoveAll(filepath.Dir(h.state)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(h.state), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "turn", h.claude(1).prompts("p1", "one").Turn, 1)
	if len(h.problems) == 0 || !strings.Contains(h.problems[0].Error(), "write state file") {
		t.Errorf("problems %v", h.problems)
	}
}

func TestACallerWhoLeavesLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "one")
		store.edit("tree1")
		store.takes(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		before := time.Now()
		result, err := h.tracker.Report(ctx, api.AgentReport{
			Kind: api.ReportStop, Agent: "claude", SessionID: "s1", Place: api.Place{Dir: h.root(), TerminalKeys: claude.keys},
		})
		if err != nil || !result.Pending || time.Since(before) > 0 {
			t.Errorf("answer %+v, %v after %v", result, err, time.Since(before))
		}
		time.Sleep(time.Minute)
		equal(t, "calls", store.did(), "begin claude 1, save claude 1 done")
	})
}

func TestAGitDirectoryThatVanishesIsLoud(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "go")
	if err := os.RemoveAll(filepath.Join(h.root(), ".git")); err != nil {
		t.Fatal(err)
	}
	claude.stops()
	if !strings.Contains(h.happened(), "git_dir_gone 1") {
		t.Errorf("events %s", h.happened())
	}
	if _, err := os.Stat(filepath.Join(h.root(), ".git")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the git directory is there again: %v", err)
	}
}

func TestWindowsThatAreLongForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude := h.claude(1)
		claude.prompts("p1", "go")
		claude.stops()
		h.stop()
		time.Sleep(forgetAfter + time.Hour)
		h.start()
		list, err := h.tracker.Windows(t.Context())
		if err != nil || len(list.Windows) != 0 || len(h.records()) != 0 {
			t.Errorf("windows %+v, records %+v, %v", list.Windows, h.records(), err)
		}
	})
}
