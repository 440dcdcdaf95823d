package turns

import (
	"testing"

	"github.com/turnback/turnback/internal/api"
)

// TestARestoreIsToldWithTheNextPrompt has two agents in one work tree, one of which
// goes on in another session meanwhile.
func TestARestoreIsToldWithTheNextPrompt(t *testing.T) {
	h := newHouse(t)
	one, two := h.claude(1), h.claude(2)
	for _, a := range []*agent{one, two} {
		a.prompts("p1", "look")
		a.sends(api.ReportStop)
	}
	worktree := h.records()[0].Worktree
	for _, text := range []string{"first", "second"} {
		if err := h.tracker.Tell(t.Context(), worktree, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.tracker.Tell(t.Context(), worktree+"-other", "elsewhere"); err != nil {
		t.Fatal(err)
	}
	h.stop()
	h.start()
	equal(t, "of a tool's start", one.sends(api.ReportToolStart).Context, "")
	equal(t, "of a background task's notice", one.sends(api.ReportPrompt, func(r *api.AgentReport) { r.SameTurn = true }).Context, "")
	equal(t, "of a subagent's prompt", one.sends(api.ReportPrompt, func(r *api.AgentReport) { r.Subagent = true }).Context, "")
	equal(t, "of the next prompt", one.prompts("p3", "go on").Context, "first\nsecond")
	equal(t, "of the one behind it", one.prompts("p4", "go on").Context, "")
	other := func(r *api.AgentReport) { r.SessionID = "fresh" }
	equal(t, "of a fresh session", two.sends(api.ReportPrompt, other).Context, "")
	two.sends(api.ReportStop, other)
	elsewhere := h.claude(3)
	elsewhere.session = two.session
	equal(t, "of the session, resumed in another terminal", elsewhere.prompts("p4", "go on").Context, "first\nsecond")
	elsewhere.sends(api.ReportStop)
	equal(t, "of the session, back again", two.prompts("p5", "go on").Context, "")
	h.noProblems()
}

// TestWhatWasNotHandedOverIsToldAgain has a hook die before it hands over what it
// was told.
func TestWhatWasNotHandedOverIsToldAgain(t *testing.T) {
	h := newHouse(t)
	one := h.claude(1)
	one.prompts("p1", "look")
	one.sends(api.ReportStop)
	worktree := h.records()[0].Worktree
	tell := func(text string) {
		t.Helper()
		if err := h.tracker.Tell(t.Context(), worktree, text); err != nil {
			t.Fatal(err)
		}
	}
	prompts := func(id string) api.SetAgentStateResult {
		return one.sends(api.ReportPrompt, func(r *api.AgentReport) { r.PromptID, r.Prompt, r.TellsBack = id, "go on", true })
	}
	tell("first")
	equal(t, "the first time", prompts("p2").Context, "first")
	h.stop()
	h.start()
	again := prompts("p3")
	equal(t, "the second time", again.Context, "first")
	tell("second")
	one.sends(api.ReportSeen, func(r *api.AgentReport) { r.Told = again.ContextAt })
	last := prompts("p4")
	equal(t, "what came in between", last.Context, "second")
	one.sends(api.ReportSeen, func(r *api.AgentReport) { r.Told, r.SessionID = last.ContextAt, "another" })
	equal(t, "another session heard it", prompts("p5").Context, "second")
	one.sends(api.ReportSeen, func(r *api.AgentReport) { r.Told = last.ContextAt })
	none := prompts("p6")
	equal(t, "nothing is left", none.Context, "")
	if none.ContextAt != nil {
		t.Errorf("something is to be heard back of: %v", none.ContextAt)
	}
	h.noProblems()
}
