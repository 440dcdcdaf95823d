package turns

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
)

// listed are the names of the windows that list-windows tells.
func (h *house) listed() string {
	h.t.Helper()
	list, err := h.tracker.Windows(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, w := range list.Windows {
		names = append(names, w.Name)
	}
	return strings.Join(names, " ")
}

func headless(r *api.AgentReport) { r.Headless = true }

func TestAHeadlessAgentsWindowIsListedWhileItRuns(t *testing.T) {
	h := newHouse(t)
	run := h.claude(1)
	run.keys = nil
	run.sends(api.ReportSessionStart, headless)
	pane := run.sends(api.ReportPrompt, headless, func(r *api.AgentReport) { r.PromptID, r.Prompt = "p1", "one" }).Pane
	run.sends(api.ReportStop, headless)
	equal(t, "while it runs", h.listed(), "claude")
	run.sends(api.ReportSessionEnd, headless)
	equal(t, "when it has ended", h.listed(), "")

	// The session that goes on is the same pane, and counts on.
	run.sends(api.ReportSessionStart, headless, because("resume"))
	equal(t, "when it goes on", h.listed(), "claude")
	second := run.sends(api.ReportPrompt, headless, func(r *api.AgentReport) { r.PromptID, r.Prompt = "p2", "two" })
	if second.Pane != pane || second.Turn != 2 {
		t.Errorf("the next turn is %+v, want turn 2 of %s", second, pane)
	}
	run.dies()
	equal(t, "when it was killed", h.listed(), "")

	// With a person it stays, in the session that was begun without one too.
	run.pid = 900
	h.set(func() { h.living[900] = true })
	run.sends(api.ReportSessionStart, because("resume"))
	run.sends(api.ReportSessionEnd)
	run.dies()
	equal(t, "an interactive one that has left", h.listed(), "claude")
}

func TestAHeadlessAgentInAnothersTurnTakesNoWindow(t *testing.T) {
	h := newHouse(t)
	claude := h.claude(1)
	claude.prompts("p1", "one")
	child := h.claude(2)
	child.keys = claude.keys
	child.sends(api.ReportSessionStart, headless)
	child.sends(api.ReportSessionEnd, headless)
	equal(t, "windows", h.listed(), "claude")
}
