package turns

import (
	"context"
	"strings"

	"github.com/turnback/turnback/internal/api"
)

// Tell has every agent that works in a work tree told a text with its next prompt.
// It outlives the daemon.
func (t *Tracker) Tell(_ context.Context, worktree, text string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.o.Registry.Windows() {
		if w.Worktree == worktree && w.AgentSession != "" {
			t.keep(w.Owing(text, t.o.Now()))
		}
	}
	return nil
}

// tell puts what the session of a prompt is to be told into the answer. It may have
// been in other windows. A reporter that tells back is told until it has.
// t.mu is held.
func (c *change) tell(r api.AgentReport, result *api.SetAgentStateResult) {
	if r.Kind == api.ReportSeen && r.Told != nil {
		c.heard(r)
	}
	if r.Kind != api.ReportPrompt || r.SameTurn || r.Subagent || r.SessionID == "" {
		return
	}
	var texts []string
	for _, w := range c.t.o.Registry.Windows() {
		if len(w.Untold) == 0 {
			continue
		}
		if w.ID == c.w.ID {
			w = c.w
		}
		told, more := w.Tell(r.Agent, r.SessionID)
		switch {
		case len(more) == 0:
			continue
		case r.TellsBack:
			if _, at := w.Owes(r.Agent, r.SessionID); result.ContextAt == nil || at.After(*result.ContextAt) {
				result.ContextAt = &at
			}
		case w.ID == c.w.ID:
			c.w = told
		default:
			c.t.keep(told)
		}
		texts = append(texts, more...)
	}
	result.Context = strings.Join(texts, "\n")
}

// heard forgets what a session was told. t.mu is held.
func (c *change) heard(r api.AgentReport) {
	for _, w := range c.t.o.Registry.Windows() {
		switch {
		case len(w.Untold) == 0:
		case w.ID == c.w.ID:
			c.w = c.w.Heard(r.Agent, r.SessionID, *r.Told)
		default:
			c.t.keep(w.Heard(r.Agent, r.SessionID, *r.Told))
		}
	}
}
