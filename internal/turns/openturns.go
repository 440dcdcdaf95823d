package turns

import (
	"context"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/registry"
)

// OpenTurns lists the turns of a work tree that go on, or that are over and not
// saved yet, also of windows that other processes follow.
func (t *Tracker) OpenTurns(ctx context.Context, worktree string) ([]checkpoint.OpenTurn, error) {
	where := t.trees.at(ctx, worktree, false)
	t.mu.Lock()
	defer t.mu.Unlock()
	windows := append(t.takeIn(where.CommonDir), t.o.Registry.Windows()...)
	return OpenTurnsOf(windows, where.Root), nil
}

// OpenTurnsOf gives those turns of a work tree that its windows tell of.
func OpenTurnsOf(windows []registry.Window, worktree string) []checkpoint.OpenTurn {
	var open []checkpoint.OpenTurn
	for _, w := range windows {
		if w.Worktree != worktree {
			continue
		}
		pane := checkpoint.Pane{ID: w.ID, Window: w.Name, Session: w.Session, Key: w.Key}
		for _, d := range w.Due {
			if !d.Start && d.Missed == "" {
				open = append(open, checkpoint.OpenTurn{Pane: pane, Turn: d.Turn, Base: baseOf(d.Base), With: withOf(d.With), Named: d.Named})
			}
		}
		if w.TurnOpen {
			open = append(open, checkpoint.OpenTurn{Pane: pane, Turn: w.Turn, Base: baseOf(w.Base), With: withOf(w.With), Named: w.Named})
		}
	}
	return open
}
