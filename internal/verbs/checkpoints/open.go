package checkpoints

import (
	"context"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/registry"
)

// openTurns reads, from the live records, the turns in a store's work tree that go
// on, and those that are over and whose save is due. A record that cannot be read
// is of nobody.
func openTurns(store *checkpoint.Store) func(context.Context) ([]checkpoint.OpenTurn, error) {
	return func(context.Context) ([]checkpoint.OpenTurn, error) {
		windows, _ := registry.ReadRecords(store.CommonDir())
		var open []checkpoint.OpenTurn
		for _, w := range windows {
			if w.Worktree == store.Worktree() {
				open = append(open, openIn(w)...)
			}
		}
		return open, nil
	}
}

func openIn(w registry.Window) []checkpoint.OpenTurn {
	var open []checkpoint.OpenTurn
	add := func(turn int, base *registry.Base, with []registry.TurnID, named []string) {
		o := checkpoint.OpenTurn{Pane: found{window: w}.pane(), Turn: turn, Named: named}
		if base != nil {
			b := checkpoint.Base(*base)
			o.Base = &b
		}
		for _, id := range with {
			o.With = append(o.With, checkpoint.TurnID(id))
		}
		open = append(open, o)
	}
	if w.TurnOpen {
		add(w.Turn, w.Base, w.With, w.Named)
	}
	for _, d := range w.Due {
		if !d.Start && d.Missed == "" && !(w.TurnOpen && d.Turn == w.Turn) {
			add(d.Turn, d.Base, d.With, d.Named)
		}
	}
	return open
}
