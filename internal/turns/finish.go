package turns

import (
	"context"
	"fmt"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/agentstate"
	"github.com/turnback/turnback/internal/registry"
)

// Finish stores what is due of a window that no process follows and, when how is
// agentstate.Exit or Interrupt, closes and saves its open turn; how 0 closes
// nothing. It returns the window as it is then, whose record is for the caller
// to write, also with an error: what was not stored is due as before.
func Finish(ctx context.Context, s Store, w registry.Window, how agentstate.Kind, now time.Time) (registry.Window, error) {
	if how != 0 {
		w = finished(w, how, now)
	}
	w = lostStarts(w)
	for _, d := range w.Due {
		pane := checkpoint.Pane{ID: w.ID, Window: w.Name, Session: w.Session, Key: w.Key}
		if d.Missed != "" {
			if err := s.NoteNotSaved(ctx, pane, checkpoint.NotSaved{Turn: d.Turn, Reason: d.Missed, At: d.At.UTC()}); err != nil {
				return w, fmt.Errorf("note that turn %d of pane %s is not saved: %w", d.Turn, w.ID, err)
			}
			w = w.Told(d)
			continue
		}
		_, err := s.Save(ctx, checkpoint.SaveRequest{
			Kind: checkpoint.KindTurn, Pane: pane, Turn: d.Turn, State: d.State, Label: d.Label, Base: baseOf(d.Base),
			Agent: d.Agent, AgentSession: d.AgentSession, Transcript: d.Transcript, Since: d.Since,
			LetGo: letGo(d, now), With: withOf(d.With), Named: d.Named,
		})
		if err != nil {
			return w, fmt.Errorf("save turn %d of pane %s: %w", d.Turn, w.ID, err)
		}
		w = w.Paid(d.Turn, false)
	}
	return w, nil
}

// finished is w with its open turn closed and what that owes.
func finished(w registry.Window, how agentstate.Kind, now time.Time) registry.Window {
	machine, out := agentstate.Apply(w.Machine, agentstate.Event{Kind: how}, now)
	w.Machine, w.LastActive = machine, now
	for _, effect := range out.Effects {
		if due, ok := effect.(agentstate.SaveDue); ok {
			w = w.Owe(dueOf(w, due, now))
		}
	}
	return w
}

// dueOf is the save that an effect asks for of the newest turn of w.
func dueOf(w registry.Window, effect agentstate.SaveDue, now time.Time) registry.Due {
	return registry.Due{
		Turn: effect.Turn, At: now, State: string(effect.State), Label: effect.Label,
		Agent: w.Agent, AgentSession: w.AgentSession, Base: w.Base, Since: w.TurnStarted,
		With: w.With, Named: w.Named,
	}
}

func baseOf(b *registry.Base) *checkpoint.Base {
	if b == nil {
		return nil
	}
	base := checkpoint.Base(*b)
	return &base
}

// letGo tells since when nobody waits for what is due: since it fell due, if that
// was before now.
func letGo(d registry.Due, now time.Time) func() time.Time {
	return func() time.Time {
		if d.At.Before(now) {
			return d.At
		}
		return time.Time{}
	}
}
