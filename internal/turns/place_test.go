package turns

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
)

func because(word string) func(*api.AgentReport) {
	return func(r *api.AgentReport) { r.Reason = word }
}

func TestClearKeepsTheWindowAndItsNumbers(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.sends(api.ReportSessionStart, because("startup"))
	pane := claude.prompts("p1", "one").Pane
	claude.stops()
	equal(t, "state", claude.sends(api.ReportSessionEnd, because("clear")).State, "none")
	claude.session = "s1-after-clear"
	equal(t, "state", claude.sends(api.ReportSessionStart, because("clear")).State, "idle")
	second := claude.prompts("p2", "two")
	if second.Pane != pane || second.Turn != 2 {
		t.Errorf("answer %+v", second)
	}
	equal(t, "session", h.records()[0].AgentSession, "s1-after-clear")
}

func TestClearAfterAnInterruptClosesTheTurn(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.edit("tree1")
	claude.sends(api.ReportSessionEnd, because("clear"))
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted")
}

func TestACompactionIsInTheMiddleOfTheTurn(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	equal(t, "state", claude.sends(api.ReportSessionStart, because("compact")).State, "working")
	equal(t, "turn is open", h.window("claude").TurnOpen, true)
}

func TestASessionStartInTheMiddleOfATurn(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	equal(t, "of the same session", claude.sends(api.ReportSessionStart, because("startup")).State, "working")
	store.edit("tree1")
	claude.session = "s1-new"
	equal(t, "of a new session", claude.sends(api.ReportSessionStart, because("clear")).State, "idle")
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted")
}

func TestAResumeAfterAKillClosesTheTurn(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	pane := claude.prompts("p1", "one").Pane
	store.edit("tree1")
	claude.dies()
	claude.pid = 900
	h.set(func() { h.living[900] = true })
	started := claude.sends(api.ReportSessionStart, because("resume"))
	if started.Pane != pane || started.State != "idle" {
		t.Errorf("answer %+v", started)
	}
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted")
}

func TestASessionThatMovesToAnotherTerminalKeepsItsWindow(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	pane := claude.prompts("p1", "one").Pane
	claude.stops()
	claude.dies()
	claude.pid, claude.keys = 901, []string{"tmux:s,%77"}
	second := claude.prompts("p2", "two")
	if second.Pane != pane || second.Turn != 2 {
		t.Errorf("answer %+v", second)
	}
	claude.stops()
	claude.pid, claude.session = 902, "new"
	equal(t, "a new session in the new terminal", claude.prompts("p3", "three").Pane, pane)
}

func TestAnAgentThatALiveAgentStartedIsNoTurn(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	child := h.claude(2)
	child.keys = claude.keys
	child.sends(api.ReportSessionStart, because("startup"))
	child.prompts("c1", "look at it")
	child.stops()
	child.sends(api.ReportSessionEnd, because("other"))
	w := h.window("claude")
	if w.State != "working" || w.Turn != 1 || !w.TurnOpen {
		t.Errorf("window %+v", w)
	}
	store.edit("tree1")
	ended := claude.stops()
	if ended.Checkpoint == nil || ended.Turn != 1 {
		t.Errorf("answer %+v", ended)
	}
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 done")
}

func TestSubagentsMakeNoWindow(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	for _, kind := range []api.ReportKind{api.ReportPrompt, api.ReportToolStart, api.ReportStop} {
		got := claude.sends(kind, func(r *api.AgentReport) { r.Subagent = true })
		if got.Pane != "" || got.Applied {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	claude.sends(api.ReportSessionEnd)
	claude.sends(api.ReportSeen)
	list, err := h.tracker.Windows(t.Context())
	if err != nil || len(list.Windows) != 0 {
		t.Errorf("windows %+v, %v", list.Windows, err)
	}
}

func TestASubagentDoesNotChangeWhoTheWindowsAgentIs(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	claude.sends(api.ReportToolStart, func(r *api.AgentReport) {
		r.Subagent, r.SessionID, r.AgentPID, r.Transcript = true, "sub", 999, "/sub.jsonl"
	})
	w := h.records()[0]
	if w.AgentSession != "s1" || w.AgentPID != 101 || w.Transcript != claude.script {
		t.Errorf("window %+v", w)
	}
}

// TestMidTurnTheTurnsWindowIsMeant: an agent that changes its directory to
// another work tree in the middle of a turn ends it in the tree where it began.
func TestMidTurnTheTurnsWindowIsMeant(t *testing.T) {
	h := newHouse(t)
	web := h.repo("web")
	claude, store := h.claude(1), h.store()
	pane := claude.prompts("p1", "one").Pane
	claude.dir = web
	equal(t, "a tool", claude.sends(api.ReportToolStart, func(r *api.AgentReport) { r.PromptID = "p1" }).Pane, pane)
	equal(t, "a queued message", claude.prompts("p1", "and this").Pane, pane)
	store.edit("tree1")
	equal(t, "the stop", claude.stops().Pane, pane)
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 done")

	next := claude.prompts("p2", "two")
	if next.Pane == pane || next.Turn != 1 {
		t.Errorf("the next turn is of the new work tree: %+v", next)
	}
	equal(t, "the other tree's calls", h.stores[web].did(), "begin claude 1")

	claude.stops()
	claude.dir = h.root()
	claude.prompts("p3", "three")
	claude.dir = web
	equal(t, "where the other tree has a window at rest", claude.stops().Pane, pane)
}

func TestAPromptInAnotherWorkTreeClosesTheOpenTurn(t *testing.T) {
	h := newHouse(t)
	web := h.repo("web")
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.edit("tree1")
	claude.dir = web
	moved := claude.prompts("p2", "two")
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted")
	equal(t, "the other tree's calls", h.stores[web].did(), "begin claude 1")
	if moved.Turn != 1 || moved.State != "working" {
		t.Errorf("answer %+v", moved)
	}
}

func TestOneSessionInTwoTerminalsAtOnce(t *testing.T) {
	h := newHouse(t)
	web := h.repo("web")
	first, second := h.claude(1), h.claude(2)
	second.session, second.dir = first.session, web
	first.prompts("p1", "one")
	second.prompts("q1", "two")
	second.stops()
	equal(t, "calls", h.store().did(), "begin claude 1")
	equal(t, "the other tree's calls", h.stores[web].did(), "begin claude 1, save claude 1 done")
}

func TestALinkedWorkTreeIsAnotherSession(t *testing.T) {
	h := newHouse(t)
	linked := filepath.Join(h.dir, "trees", "x")
	if err := os.MkdirAll(linked, 0o700); err != nil {
		t.Fatal(err)
	}
	common := filepath.Join(h.root(), ".git")
	h.set(func() {
		h.roots[linked] = WorktreeInfo{Root: linked, CommonDir: common, GitDir: common + "/worktrees/x", Branch: "feat/retry"}
		h.stores[linked] = newFakeStore()
	})
	claude := h.claude(1)
	claude.dir = linked
	claude.prompts("p1", "one")
	equal(t, "session", h.window("claude").Session, "api-feat-retry")
}

func TestTheDirectoryIsResolved(t *testing.T) {
	h := newHouse(t)
	link := filepath.Join(h.dir, "link")
	if err := os.Symlink(h.root(), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(h.root(), "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	claude := h.claude(1)
	claude.dir = filepath.Join(link, "deep")
	claude.prompts("p1", "one")
	equal(t, "work tree", h.window("claude").Worktree, h.root())
	w, err := h.tracker.Resolve(t.Context(), api.Place{Dir: link}, true)
	if err != nil || w.Name != "claude" {
		t.Errorf("resolved %+v, %v", w, err)
	}
}

func TestGitIsAskedOnceForADirectory(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	claude.stops()
	claude.prompts("p2", "two")
	equal(t, "asked", h.finds, 1)
	nested := filepath.Join(h.root(), "nested")
	if err := os.MkdirAll(nested, 0o700); err != nil {
		t.Fatal(err)
	}
	claude.dir = nested
	claude.stops()
	h.repo("api/nested")
	moved := claude.prompts("p3", "three")
	w, err := h.tracker.Resolve(t.Context(), api.Place{PaneID: moved.Pane, Dir: nested}, true)
	if err != nil || w.Worktree != nested {
		t.Errorf("the repository that was made meanwhile is not seen: %+v, %v", w, err)
	}
}

// says sets a state as a script does.
func (h *house) says(p api.SetAgentStateParams) (api.SetAgentStateResult, error) {
	if p.Dir == "" {
		p.Dir = h.root()
	}
	return h.tracker.SetState(h.t.Context(), p)
}

func (h *house) mustSay(p api.SetAgentStateParams) api.SetAgentStateResult {
	h.t.Helper()
	result, err := h.says(p)
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

func at(session, window string, keys ...string) api.Place {
	return api.Place{Session: session, Window: window, TerminalKeys: keys}
}

func TestSetState(t *testing.T) {
	h := newHouse(t)
	store := h.store()
	began := h.mustSay(api.SetAgentStateParams{Place: at("api", "build"), State: "working", Prompt: "Add a retry to the client"})
	equal(t, "turn", began.Turn, 1)
	store.edit("tree1")
	ended := h.mustSay(api.SetAgentStateParams{Place: at("", "build"), State: "done", Message: "there"})
	if ended.Checkpoint == nil || ended.Checkpoint.Label != "Add a retry to the client" || ended.Checkpoint.Window != "build" {
		t.Errorf("answer %+v", ended)
	}
	second := h.mustSay(api.SetAgentStateParams{Place: at("", "build"), State: "working", Prompt: "one more"})
	equal(t, "turn", second.Turn, 2)
	third := h.mustSay(api.SetAgentStateParams{Place: at("", "build"), State: "working", Prompt: "no, another"})
	equal(t, "turn", third.Turn, 3)
	h.mustSay(api.SetAgentStateParams{Place: at("", "build"), State: "errored", Message: "no network"})
	equal(t, "calls", store.did(),
		"begin build 1, save build 1 done, begin build 2, save build 2 aborted, begin build 3, save build 3 errored")
	h.noProblems()
}

func TestSetStateTakesTheLabelFromWhereItIs(t *testing.T) {
	tests := []struct {
		name     string
		from, to api.SetAgentStateParams
		want     string
	}{
		{"the prompt", api.SetAgentStateParams{State: "working", Prompt: "p"}, api.SetAgentStateParams{State: "done", Message: "m"}, "p"},
		{"a prompt that comes late", api.SetAgentStateParams{State: "working"}, api.SetAgentStateParams{State: "done", Message: "m", Prompt: "p"}, "p"},
		{"the state's message", api.SetAgentStateParams{State: "working"}, api.SetAgentStateParams{State: "done", Message: "m"}, "m"},
		{"nothing", api.SetAgentStateParams{State: "working"}, api.SetAgentStateParams{State: "done"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t)
			h.mustSay(tt.from)
			h.mustSay(tt.to)
			equal(t, "label", h.store().saved()[0].Label, tt.want)
		})
	}
}

func TestSetStateFindsTheWindow(t *testing.T) {
	tests := []struct {
		name  string
		place api.Place
		state string
		want  string // session/name of the window that is meant then
	}{
		{"a name that is there", at("", "build"), "working", "api/build"},
		{"a name that is not there", at("", "test"), "working", "api/test"},
		{"a session that is not there", at("other", ""), "working", "other/agent"},
		{"a session and a name that are not there", at("other", "x"), "done", "other/x"},
		{"the caller's terminal", at("", "", "tmux:s,%1"), "working", "api/claude"},
		{"a terminal that is not known begins to work", at("", "", "tmux:s,%9"), "working", "api/agent"},
		{"a terminal that is not known comes to rest", at("", "", "tmux:s,%9"), "done", "api/claude"},
		{"no terminal", at("", ""), "working", "api/claude"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				h.mustSay(api.SetAgentStateParams{Place: at("api", "build"), State: "idle"})
				time.Sleep(time.Second)
				h.claude(1).sends(api.ReportSessionStart)
				time.Sleep(time.Second)
				pane := h.mustSay(api.SetAgentStateParams{Place: tt.place, State: tt.state}).Pane
				list, err := h.tracker.Windows(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range list.Windows {
					if w.ID == pane {
						equal(t, "window", w.Session+"/"+w.Name, tt.want)
					}
				}
			})
		})
	}
}

func TestANamedWindowIsMeantFromEverywhere(t *testing.T) {
	h := newHouse(t)
	pane := h.mustSay(api.SetAgentStateParams{Place: at("api", "build"), State: "idle"}).Pane
	from := at("", "build", "tty:1")
	from.Dir = h.repo("web")
	equal(t, "by its name alone", h.mustSay(api.SetAgentStateParams{Place: from, State: "working"}).Pane, pane)
}

func TestWindowsAreNamedApart(t *testing.T) {
	h := newHouse(t)
	a := h.mustSay(api.SetAgentStateParams{Place: at("", "a", "tty:1"), State: "working"}).Pane
	b := h.mustSay(api.SetAgentStateParams{Place: at("", "b", "tty:1"), State: "working"}).Pane
	if a == b {
		t.Error("two names are one window")
	}
	for _, w := range h.records() {
		if len(w.Keys) != 0 {
			t.Errorf("window %s, which is named, is known by a terminal: %v", w.Name, w.Keys)
		}
	}
}

func TestSetStateInTheSameTerminalButAnotherWorkTree(t *testing.T) {
	h := newHouse(t)
	web := h.repo("web")
	here := h.mustSay(api.SetAgentStateParams{Place: at("", "", "tty:1"), State: "working"})
	there := at("", "", "tty:1")
	there.Dir = web
	moved := h.mustSay(api.SetAgentStateParams{Place: there, State: "working"})
	if moved.Pane == here.Pane {
		t.Error("it is the same window")
	}
	equal(t, "the end is of the work tree that it is said in", h.mustSay(api.SetAgentStateParams{Place: there, State: "done"}).Pane, moved.Pane)
}

func TestSetStateErrors(t *testing.T) {
	h := newHouse(t)
	web := h.repo("web")
	_, err := h.says(api.SetAgentStateParams{State: "wroking"})
	e := api.AsError(err)
	if e == nil || e.Code != api.CodeInvalidParams || e.Hint.DidYouMean != "working" || len(e.Hint.Accepted) != 7 {
		t.Errorf("error %+v", e)
	}
	h.mustSay(api.SetAgentStateParams{Place: at("", "build"), State: "idle"})
	inWeb := at("web", "build")
	inWeb.Dir = web
	h.mustSay(api.SetAgentStateParams{Place: inWeb, State: "idle"})
	elsewhere := at("", "build")
	elsewhere.Dir = h.dir
	_, err = h.says(api.SetAgentStateParams{Place: elsewhere, State: "working"})
	equal(t, "two windows of that name", api.AsError(err).Code, api.CodeAmbiguousWindow)
	_, err = h.tracker.SetState(t.Context(), api.SetAgentStateParams{Place: at("", "new"), State: "working"})
	equal(t, "no directory", api.AsError(err).Code, api.CodeInvalidParams)
}

func TestGetState(t *testing.T) {
	h := newHouse(t)
	_, err := h.tracker.GetState(t.Context(), api.GetAgentStateParams{Place: api.Place{Dir: h.root()}})
	equal(t, "nothing known", api.AsError(err).Code, api.CodeWindowNotFound)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	claude.sends(api.ReportNeedsInput, func(r *api.AgentReport) { r.Message = "May I?" })
	got, err := h.tracker.GetState(t.Context(), api.GetAgentStateParams{Place: api.Place{Dir: h.root()}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Since.IsZero() || got.Since.Location() != time.UTC {
		t.Errorf("since %v", got.Since)
	}
	equal(t, "since in the list", h.window("claude").Since, got.Since)
	got.Since = time.Time{}
	want := api.GetAgentStateResult{State: "needs_input", Source: "report", Turn: 1, Agent: "claude", Message: "May I?"}
	equal(t, "state", got, want)
}

func TestTheListKnowsOfTheDead(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	claude.dies()
	equal(t, "state", h.window("claude").State, "none")
}

func TestAWindowOutsideGitIsFoundFromBelowItsDirectory(t *testing.T) {
	h := newHouse(t)
	deep := filepath.Join(h.dir, "plain", "deep")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	made := h.mustSay(api.SetAgentStateParams{Place: api.Place{Dir: filepath.Dir(deep)}, State: "idle"})
	w, err := h.tracker.Resolve(t.Context(), api.Place{Dir: deep}, true)
	if err != nil || w.ID != made.Pane {
		t.Errorf("found %+v, %v", w, err)
	}
}

func TestEnsure(t *testing.T) {
	h := newHouse(t)
	w, err := h.tracker.Ensure(t.Context(), api.Place{Dir: h.root()}, "manual")
	if err != nil || w.Name != "manual" || w.Session != "api" {
		t.Fatalf("made %+v, %v", w, err)
	}
	again, err := h.tracker.Ensure(t.Context(), api.Place{Dir: h.root()}, "manual")
	if err != nil || again.ID != w.ID {
		t.Errorf("again %+v, %v", again, err)
	}
	claude := h.claude(1)
	claude.prompts("p1", "one")
	found, err := h.tracker.Ensure(t.Context(), api.Place{Dir: h.root(), TerminalKeys: claude.keys}, "manual")
	if err != nil || found.Name != "claude" {
		t.Errorf("found %+v, %v", found, err)
	}
	web := h.repo("web")
	moved, err := h.tracker.Ensure(t.Context(), api.Place{Dir: web, TerminalKeys: claude.keys}, "manual")
	if err != nil || moved.Name != "manual" || moved.Worktree != web {
		t.Errorf("in another work tree %+v, %v", moved, err)
	}
	_, err = h.tracker.Ensure(t.Context(), api.Place{Dir: h.dir}, "manual")
	equal(t, "outside git", api.AsError(err).Code, api.CodeNotRepo)
	_, err = h.tracker.Ensure(t.Context(), api.Place{}, "manual")
	equal(t, "nowhere", api.AsError(err).Code, api.CodeInvalidParams)
	_, err = h.tracker.Ensure(t.Context(), api.Place{Dir: h.root(), Window: "nope"}, "manual")
	equal(t, "a name that is not there", api.AsError(err).Code, api.CodeWindowNotFound)
}

func TestEnsureSaysWhatToDoWhereNothingCanBeSaved(t *testing.T) {
	h := newHouse(t)
	atHome := &checkpoint.Error{Code: checkpoint.NotRepo, Message: h.root() + " is a home directory", Detail: "allow it"}
	noGit := api.Errorf(api.CodeGitFailed, "no git").WithHint(api.Hint{Detail: "install git"})
	noTree := api.Errorf(api.CodeNotRepo, "%s: somewhere", noWorktree)
	for _, c := range []struct {
		found error
		want  *api.Error
	}{
		{atHome, api.Errorf(api.CodeNotRepo, "%s", atHome.Message).WithHint(api.Hint{Detail: "allow it"})},
		{noGit, noGit},
		{noTree, api.Errorf(api.CodeNotRepo, "%s: %s", noWorktree, h.root())},
		{context.DeadlineExceeded, api.Errorf(api.CodeTimeout, "git took too long")},
	} {
		h.set(func() { h.findErr = c.found })
		_, err := h.tracker.Ensure(t.Context(), api.Place{Dir: h.root()}, "manual")
		if diff := cmp.Diff(c.want, api.AsError(err)); diff != "" {
			t.Errorf("%v:\n%s", c.found, diff)
		}
	}
}

func TestRecordsAreNotWrittenForMereSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude := h.claude(1)
		claude.prompts("p1", "one")
		written := h.records()[0].LastActive
		time.Sleep(time.Second)
		claude.sends(api.ReportToolEnd)
		equal(t, "soon after", h.records()[0].LastActive.Equal(written), true)
		time.Sleep(writeEvery)
		claude.sends(api.ReportToolEnd)
		equal(t, "a minute later", h.records()[0].LastActive.After(written), true)
	})
}

func TestSaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		equal(t, "at rest", h.tracker.Saving(), 0)
		claude, store := h.claude(1), h.store()
		store.takes(10 * time.Second)
		claude.prompts("p1", "one")
		claude.stops()
		equal(t, "while one runs and one waits", h.tracker.Saving(), 2)
		time.Sleep(time.Minute)
		equal(t, "at rest", h.tracker.Saving(), 0)
	})
}
