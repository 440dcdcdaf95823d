package turns

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
)

// TestTurnsThatEndWithoutAWordHaveAPlace: nobody tells where an agent was that is
// interrupted or dies, so its transcript is asked.
func TestTurnsThatEndWithoutAWordHaveAPlace(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(h *house, a *agent)
		want func(a *agent) string
	}{
		"a dead agent": {
			func(h *house, a *agent) { a.dies(); h.busy() },
			func(a *agent) string { return "now claude " + a.script + " " },
		},
		"the next prompt": {
			func(_ *house, a *agent) { a.prompts("p2", "two") },
			func(a *agent) string { return "now claude " + a.script + " p2" },
		},
		"told": {
			func(_ *house, a *agent) {
				a.sends(api.ReportAborted, func(r *api.AgentReport) { r.TranscriptPlace = "place" })
			},
			func(*agent) string { return "place" },
		},
		"done, and not told": {
			func(_ *house, a *agent) { a.sends(api.ReportStop) },
			func(*agent) string { return "" },
		},
		"another session": {
			func(_ *house, a *agent) {
				a.sends(api.ReportSessionStart, func(r *api.AgentReport) { r.SessionID = "s9" })
			},
			func(*agent) string { return "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			claude, store := h.claude(1), h.store()
			claude.prompts("p1", "one")
			claude.writes("the prompt")
			store.edit("tree1")
			c.end(h, claude)
			if got := store.saved()[0].Transcript; got != c.want(claude) {
				t.Errorf("place %q, want %q", got, c.want(claude))
			}
		})
	}
}

// TestAStartTellsOfTheConversationBeforeThePrompt is about what was changed between
// two turns.
func TestAStartTellsOfTheConversationBeforeThePrompt(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	want := checkpoint.Talk{Agent: "claude", Session: "s1", At: "now claude " + claude.script + " p1"}
	if diff := cmp.Diff(want, h.store().lastBegin().Talk()); diff != "" {
		t.Errorf("the conversation (- want, + got):\n%s", diff)
	}
}
