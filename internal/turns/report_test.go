package turns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
)

func TestATurnIsBegunAndSaved(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.sends(api.ReportSessionStart)
	before := time.Now()
	began := claude.prompts("p1", "\n  Add a retry\nto the client")
	equal(t, "state", began.State, "working")
	equal(t, "turn", began.Turn, 1)
	if began.Checkpoint != nil || began.Unchanged {
		t.Errorf("nothing had changed before the turn, but the answer is %+v", began)
	}
	after := time.Now()
	store.edit("tree1")
	ended := claude.sends(api.ReportStop, func(r *api.AgentReport) { r.Message, r.TranscriptPlace = "It is in.", "place" })
	if ended.Checkpoint == nil || ended.Checkpoint.N != 1 || ended.State != "done" || !ended.Applied {
		t.Fatalf("answer %+v", ended)
	}
	save := store.saved()[0]
	want := checkpoint.SaveRequest{
		Kind: checkpoint.KindTurn, Turn: 1, State: "done", Label: "Add a retry", Agent: "claude", AgentSession: "s1", Transcript: "place",
		Pane: checkpoint.Pane{ID: ended.Pane, Window: "claude", Session: "api", Key: "tmux:s,%1"},
	}
	if save.Base == nil || save.Base.Tree != "tree0" {
		t.Errorf("base %+v", save.Base)
	}
	if save.Since.Before(before) || save.Since.After(after) {
		t.Errorf("the turn began at %s, not between %s and %s", save.Since, before, after)
	}
	save.Base, save.Since, save.LetGo = nil, time.Time{}, nil
	if diff := cmp.Diff(want, save); diff != "" {
		t.Errorf("save (-want +got):\n%s", diff)
	}
	equal(t, "events", h.happened(), "turn_started 1, turn_ended 1 done, checkpoint_saved 1")
	h.noProblems()
}

func TestATurnThatChangesNothingSaysSo(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "look")
	ended := claude.stops()
	if !ended.Unchanged || ended.Checkpoint != nil || ended.Pending || ended.NotSaved != "" {
		t.Errorf("answer %+v", ended)
	}
}

func TestATurnThatChangesWhatIsNotCoveredIsListed(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "look")
	store.set(func() {
		store.left = []checkpoint.LeftOut{{Path: "inner", Reason: "nested repository"}, {Path: "lib", Reason: "submodule"}}
	})
	ended := claude.stops()
	if !ended.Unchanged || ended.NotSaved != "" {
		t.Errorf("answer %+v", ended)
	}
	equal(t, "noted", store.noted()[0].Reason, "not covered: inner, lib")
}

func TestEditsBetweenTurnsAreTheStart(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	store.edit("mine")
	began := claude.prompts("p1", "go")
	if began.Checkpoint == nil || began.Checkpoint.Kind != "start" {
		t.Errorf("answer %+v", began)
	}
}

func TestNoStartIsSaved(t *testing.T) {
	tests := map[string]func(h *house){
		"while another pane's turn is open in the same work tree": func(h *house) { h.claude(2).prompts("q1", "other") },
		"when the configuration says so":                          func(h *house) { h.set(func() { h.settings.AtTurnStart = false }) },
	}
	for name, arrange := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			arrange(h)
			h.claude(1).prompts("p1", "go")
			if h.store().lastBegin().SaveStart {
				t.Error("it is saved")
			}
		})
	}
}

func TestAStartIsSavedWhenTheOthersRest(t *testing.T) {
	h := newHouse(t)
	other := h.claude(2)
	other.prompts("q1", "other")
	other.stops()
	h.claude(1).prompts("p1", "go")
	if !h.store().lastBegin().SaveStart {
		t.Error("it is not saved")
	}
}

func TestB119ANewPromptClosesTheInterruptedTurnFirst(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.edit("tree1")
	second := claude.prompts("p2", "two")
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 aborted, begin claude 2")
	equal(t, "events", h.happened(),
		"turn_started 1, turn_ended 1 aborted, turn_started 2, checkpoint_saved 1")
	if second.Checkpoint == nil || second.Checkpoint.State != "aborted" || second.Turn != 2 {
		t.Errorf("answer %+v", second)
	}
	equal(t, "label", store.saved()[0].Label, "one")
}

func TestB116QueuedMessagesAndBackgroundTasks(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	claude.prompts("p1", "and this")
	store.edit("tree1")
	claude.sends(api.ReportStop, func(r *api.AgentReport) { r.Background = 1 })
	equal(t, "state while tasks run", h.window("claude").State, "working")
	claude.sends(api.ReportPrompt, func(r *api.AgentReport) { r.PromptID, r.Prompt, r.SameTurn = "p2", "<task-notification>x", true })
	store.edit("tree2")
	claude.stops()
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 idle, save claude 1 done")
	equal(t, "label", store.saved()[1].Label, "one")
	equal(t, "base", store.saved()[1].Base.Tree, "tree0")
}

func TestB95TwentyStopsAtOnceMakeOneCheckpoint(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.edit("tree1")
	var hooks sync.WaitGroup
	answers := make([]api.SetAgentStateResult, 20)
	for i := range answers {
		hooks.Go(func() { answers[i] = claude.stops() })
	}
	hooks.Wait()
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 done")
	for _, a := range answers {
		if a.State != "done" || a.Turn != 1 || a.Checkpoint != nil && a.Checkpoint.N != 1 || a.Pending || a.NotSaved != "" {
			t.Errorf("answer %+v", a)
		}
	}
}

func TestASecondStopWaitsForTheSaveOfTheFirst(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.edit("tree1")
	hold := make(chan struct{})
	store.set(func() { store.hold = hold })
	var hooks sync.WaitGroup
	answers := make([]api.SetAgentStateResult, 2)
	for i := range answers {
		hooks.Go(func() { answers[i] = claude.stops() })
	}
	hold <- struct{}{}
	hooks.Wait()
	for _, a := range answers {
		if a.Checkpoint == nil && a.State != "done" {
			t.Errorf("answer %+v", a)
		}
	}
}

func TestAHookWaitsTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		claude.prompts("p1", "one")
		store.edit("tree1")
		store.takes(5 * time.Second)
		before := time.Now()
		ended := claude.stops()
		equal(t, "waited", time.Since(before), 2*time.Second)
		if !ended.Pending || ended.Checkpoint != nil {
			t.Errorf("answer %+v", ended)
		}
		time.Sleep(10 * time.Second)
		equal(t, "events", h.happened(), "turn_started 1, turn_ended 1 done, checkpoint_saved 1")
	})
}

func TestASaveThatEndsAfterItsHookWasLetGoIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, other, store := h.claude(1), h.claude(2), h.store()
		claude.prompts("p1", "one")
		other.prompts("q1", "two")
		store.edit("tree1")
		store.takes(5 * time.Second)
		claude.stops()
		other.stops()
		time.Sleep(20 * time.Second)
		store.takes(0)
		claude.prompts("p2", "three")
		store.edit("tree2")
		claude.stops()
		equal(t, "late", fmt.Sprint(store.late), "[true true false]")
	})
}

func TestAToolThatCanWriteWaitsForTheStart(t *testing.T) {
	tool := func(writes bool) func(*api.AgentReport) {
		return func(r *api.AgentReport) { r.PromptID, r.ToolWrites = "p1", writes }
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		store.takes(6 * time.Second)
		equal(t, "the prompt's hook was let go", claude.prompts("p1", "one").Pending, true)
		before := time.Now()
		claude.sends(api.ReportToolStart, tool(false))
		equal(t, "a tool that reads waited", time.Since(before), 0)
		claude.sends(api.ReportToolStart, tool(true))
		equal(t, "a tool that writes waited", time.Since(before), 2500*time.Millisecond)
		claude.sends(api.ReportToolStart, tool(true))
		equal(t, "the next one waited", time.Since(before), 4*time.Second)
		claude.sends(api.ReportToolStart, tool(true), func(r *api.AgentReport) { r.Subagent = true })
		equal(t, "then none does", time.Since(before), 4*time.Second)
	})
}

// TestSavesAreJoinedWithinOneTurn holds the store while reports come in: those
// of one turn of one pane become one save, no others.
func TestSavesAreJoinedWithinOneTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, other, store := h.claude(1), h.claude(2), h.store()
		claude.prompts("p1", "one")
		other.prompts("q1", "other")
		store.edit("tree1")
		store.takes(time.Minute)
		var hooks sync.WaitGroup
		for _, hook := range []func(){
			func() { other.sends(api.ReportNeedsInput) }, // runs
			func() { claude.sends(api.ReportNeedsInput) },
			func() { claude.stops() }, // joined with the one before
			func() { claude.prompts("p2", "two") },
			func() { claude.stops() },
			func() { other.stops() },
		} {
			hooks.Go(hook)
			synctest.Wait()
		}
		hooks.Wait()
		time.Sleep(time.Hour)
		equal(t, "calls", store.did(), "begin claude 1, begin claude-2 1, "+
			"save claude-2 1 needs_input, save claude 1 done, begin claude 2, save claude 2 done, save claude-2 1 done")
		equal(t, "two at once", store.overlap, false)
	})
}

func TestWorkTreesDoNotWaitForEachOther(t *testing.T) {
	h := newHouse(t)
	web := h.repo("web")
	claude, other := h.claude(1), h.claude(2)
	other.dir = web
	claude.prompts("p1", "one")
	hold := make(chan struct{})
	store := h.store()
	store.set(func() { store.hold = hold })
	var hook sync.WaitGroup
	hook.Go(func() { claude.stops() })
	other.prompts("q1", "other")
	other.stops()
	equal(t, "the other tree's calls", h.stores[web].did(), "begin claude 1, save claude 1 done")
	hold <- struct{}{}
	hook.Wait()
}

func TestAFailedSaveIsToldEverywhere(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.failing("save", api.Errorf(api.CodeDiskFull, "disk nearly full"))
	ended := claude.stops()
	equal(t, "answer", ended.NotSaved, "disk nearly full")
	equal(t, "notes", len(store.noted()), 1)
	equal(t, "reason", store.noted()[0].Reason, "disk nearly full")
	equal(t, "turn", store.noted()[0].Turn, 1)
	equal(t, "events", h.happened(), "turn_started 1, turn_ended 1 done, checkpoint_not_saved 1")
	if ended.Checkpoint != nil || ended.Pending || ended.Unchanged {
		t.Errorf("answer %+v", ended)
	}
	h.noProblems()
}

func TestAFailedStartIsToldAndTheTurnIsSavedAllTheSame(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	store.failing("begin", errors.New("read index: broken"))
	equal(t, "answer", claude.prompts("p1", "one").NotSaved, "read index: broken")
	equal(t, "note", store.noted()[0].Reason, "its start: read index: broken")
	store.edit("tree1")
	ended := claude.stops()
	if ended.Checkpoint == nil || store.saved()[0].Base != nil {
		t.Errorf("answer %+v, base %+v", ended, store.saved()[0].Base)
	}
}

func TestAStoreThatDoesNotOpenIsTriedAgain(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	h.set(func() { h.openErr = api.Errorf(api.CodeSandboxed, "the git directory is read-only") })
	equal(t, "answer", claude.prompts("p1", "one").NotSaved, "the git directory is read-only")
	h.set(func() { h.openErr = nil })
	h.store().edit("tree1")
	if claude.stops().Checkpoint == nil {
		t.Error("not saved after the store opened")
	}
}

func TestANoteThatFailsIsAProblem(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.failing("save", errors.New("no"))
	store.failing("note", errors.New("nor this"))
	claude.stops()
	if len(h.problems) != 1 || !strings.Contains(h.problems[0].Error(), "note that turn 1 of pane") {
		t.Errorf("problems %v", h.problems)
	}
}

func TestOutsideGitTheStateIsFollowedAndItIsSaidOnce(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.dir = filepath.Join(h.dir, "plain")
	if err := os.Mkdir(claude.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	claude.sends(api.ReportSessionStart)
	first := claude.prompts("p1", "one")
	equal(t, "said", first.NotSaved, "not a git work tree")
	equal(t, "state", first.State, "working")
	asked := h.finds
	claude.sends(api.ReportToolStart, func(r *api.AgentReport) { r.PromptID = "p1" })
	ended := claude.stops()
	equal(t, "state", ended.State, "done")
	equal(t, "said again", ended.NotSaved, "")
	claude.prompts("p2", "two")
	equal(t, "git was asked", h.finds-asked, 1)
	equal(t, "said in the next turn", claude.stops().NotSaved, "")
	equal(t, "turns", h.window("claude").Turn, 2)
}

func TestACallerWhoAsksOutsideGitIsTold(t *testing.T) {
	h := newHouse(t)
	p := api.SetAgentStateParams{Place: api.Place{Dir: h.dir}, State: "working"}
	equal(t, "at the start", h.mustSay(p).NotSaved, "")
	for range 2 {
		p.State = "done"
		equal(t, "at the end", h.mustSay(p).NotSaved, "not a git work tree")
		p.State = "working"
		h.mustSay(p)
	}
}

func TestAPlaceWhereNoCheckpointsAreTakenIsSaidOnce(t *testing.T) {
	refusal := &checkpoint.Error{Code: checkpoint.NotRepo, Message: "/root is a home directory"}
	for name, refuse := range map[string]func(h *house){
		"by git":       func(h *house) { h.findErr = fmt.Errorf("find: %w", refusal) },
		"by the store": func(h *house) { h.openErr = refusal },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.set(func() { refuse(h) })
			claude := h.claude(1)
			equal(t, "start", claude.prompts("p1", "one").NotSaved, "/root is a home directory")
			equal(t, "end", claude.stops().NotSaved, "")
			equal(t, "next", claude.prompts("p2", "two").NotSaved, "")
			script := api.SetAgentStateParams{Place: at("", "build"), State: "working"}
			equal(t, "a script's start", h.mustSay(script).NotSaved, "")
			script.State = "done"
			equal(t, "a script's end", h.mustSay(script).NotSaved, "/root is a home directory")
		})
	}
}

func TestReasons(t *testing.T) {
	for want, err := range map[string]error{
		"disk nearly full":       fmt.Errorf("open store: %w", &checkpoint.Error{Code: checkpoint.DiskFull, Message: "disk nearly full"}),
		"git was killed":         fmt.Errorf("x: %w", api.Errorf(api.CodeGitFailed, "git was killed")),
		"the daemon was stopped": fmt.Errorf("x: %w", context.Canceled),
		"git took too long":      fmt.Errorf("x: %w", context.DeadlineExceeded),
		"read index: broken":     errors.New("read index: broken"),
	} {
		equal(t, "reason", reason(err), want)
	}
}

func TestADirectoryThatBecomesARepositoryIsSaved(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.dir = filepath.Join(h.dir, "plain")
	if err := os.Mkdir(claude.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	claude.prompts("p1", "one")
	claude.stops()
	pane := h.window("claude").ID
	h.repo("plain")
	claude.prompts("p2", "two")
	h.stores[claude.dir].edit("tree1")
	ended := claude.stops()
	if ended.Checkpoint == nil || ended.Turn != 2 || ended.Pane != pane {
		t.Errorf("answer %+v", ended)
	}
}

func TestAFailingGitIsSaidEachTime(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.dir = filepath.Join(h.dir, "api", "deep")
	h.set(func() { h.findErr = api.Errorf(api.CodeGitFailed, "git was killed") })
	equal(t, "start", claude.prompts("p1", "one").NotSaved, "git was killed")
	equal(t, "end", claude.stops().NotSaved, "git was killed")
	equal(t, "events", h.happened(), "turn_started 1, checkpoint_not_saved 1, turn_ended 1 done, checkpoint_not_saved 1")
}

func TestCheckpointsThatAreOff(t *testing.T) {
	h := newHouse(t)
	h.set(func() { h.settings.Enabled = false })
	claude := h.claude(1)
	claude.prompts("p1", "one")
	ended := claude.stops()
	equal(t, "state", ended.State, "done")
	equal(t, "calls", h.store().did(), "")
	if ended.NotSaved != "" || ended.Pending || ended.Unchanged {
		t.Errorf("answer %+v", ended)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	h := newHouse(t)
	secret := "sk-" + strings.Repeat("a1B2", 8)
	claude := h.claude(1)
	claude.prompts("p1", "use "+secret+" now\nand more that is no label")
	claude.sends(api.ReportNeedsInput, func(r *api.AgentReport) { r.Message = "may I send " + secret })
	disk := h.onDisk()
	if strings.Contains(disk, secret) || strings.Contains(disk, "no label") {
		t.Error("the secret, or more of the prompt than its label, is on the disk")
	}
	if !strings.Contains(disk, "use ***") {
		t.Error("the label is not on the disk")
	}
}

func TestAnUnknownKindOfReport(t *testing.T) {
	h := newHouse(t)
	_, err := h.tracker.Report(t.Context(), api.AgentReport{Kind: "dance"})
	equal(t, "code", api.AsError(err).Code, api.CodeInvalidParams)
}

func TestAReportWithoutADirectoryMakesNoWindow(t *testing.T) {
	h := newHouse(t)
	_, err := h.tracker.Report(t.Context(), api.AgentReport{Kind: api.ReportPrompt, Agent: "claude", Place: api.Place{Dir: "relative"}})
	equal(t, "code", api.AsError(err).Code, api.CodeInvalidParams)
}

func TestAtMostOneThingIsTold(t *testing.T) {
	one, two := &api.Checkpoint{N: 1}, &api.Checkpoint{N: 2}
	tests := []struct {
		name     string
		outcomes []outcome
		pending  bool
		want     api.SetAgentStateResult
	}{
		{"nothing was due", []outcome{{}}, false, api.SetAgentStateResult{}},
		{"the first checkpoint", []outcome{{checkpoint: one}, {checkpoint: two}}, false, api.SetAgentStateResult{Checkpoint: one}},
		{"a checkpoint before no change", []outcome{{unchanged: true}, {checkpoint: two}}, false, api.SetAgentStateResult{Checkpoint: two}},
		{"no change", []outcome{{unchanged: true}, {}}, false, api.SetAgentStateResult{Unchanged: true}},
		{"what still runs before what is done", []outcome{{checkpoint: one, unchanged: true}}, true, api.SetAgentStateResult{Pending: true}},
		{
			"a failure before all",
			[]outcome{{checkpoint: one, unchanged: true}, {notSaved: "a"}, {notSaved: "b"}},
			true,
			api.SetAgentStateResult{NotSaved: "a"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var jobs []*job
			for _, o := range tt.outcomes {
				j := &job{outcome: o, done: make(chan struct{})}
				close(j.done)
				jobs = append(jobs, j)
			}
			got := api.SetAgentStateResult{Pending: tt.pending}
			sum(jobs, &got)
			equal(t, "told", got, tt.want)
		})
	}
}
