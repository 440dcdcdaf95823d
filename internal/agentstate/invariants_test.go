package agentstate

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestInvariants plays random events, restarts among them: turn numbers only
// grow, by one; no two turns are open; every end belongs to the turn that was
// open; every save belongs to the newest turn; effects and machine agree.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Machine
		book := ledger{}
		now := at(0)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 19).Draw(t, "restart") == 0 {
				m = Restarted(m, now)
				continue
			}
			e := anyEvent(t, now)
			before := m
			var out Outcome
			m, out = Apply(m, e, now)
			for _, effect := range out.Effects {
				book.enter(t, effect)
			}
			if !out.Applied && len(out.Effects) > 0 {
				t.Fatalf("%+v was not applied but has effects", e)
			}
			if m.TurnOpen != book.open || m.Turn != book.turn {
				t.Fatalf("machine says turn %d, open %v; effects say %d, %v", m.Turn, m.TurnOpen, book.turn, book.open)
			}
			if m.State == Working && !m.TurnOpen {
				t.Fatalf("working without an open turn after %+v", e)
			}
			if silenced(before, m) {
				t.Fatalf("a reported working became unknown by %+v", e)
			}
		}
	})
}

// silenced reports whether silence was believed against a report.
func silenced(before, after Machine) bool {
	return before.State == Working && before.Source == Report && after.Source == Stall
}

// ledger follows the turns by their effects alone.
type ledger struct {
	turn int
	open bool
}

func (b *ledger) enter(t *rapid.T, e Effect) {
	switch e := e.(type) {
	case TurnStarted:
		if b.open || e.Turn != b.turn+1 {
			t.Fatalf("turn %d started after turn %d, open %v", e.Turn, b.turn, b.open)
		}
		b.turn, b.open = e.Turn, true
	case TurnContinued:
		if b.open || e.Turn != b.turn || b.turn == 0 {
			t.Fatalf("turn %d continued after turn %d, open %v", e.Turn, b.turn, b.open)
		}
		b.open = true
	case TurnPaused:
		if !b.open || e.Turn != b.turn {
			t.Fatalf("turn %d paused, but turn %d is open: %v", e.Turn, b.turn, b.open)
		}
	case TurnEnded:
		if !b.open || e.Turn != b.turn {
			t.Fatalf("turn %d ended, but turn %d is open: %v", e.Turn, b.turn, b.open)
		}
		b.open = false
	case SaveDue:
		if e.Turn != b.turn || b.turn == 0 {
			t.Fatalf("save of turn %d in turn %d", e.Turn, b.turn)
		}
	}
}

func anyEvent(t *rapid.T, now time.Time) Event {
	return Event{
		Kind:       Kind(rapid.IntRange(int(Claim), int(Silence)).Draw(t, "kind")),
		Source:     rapid.SampledFrom([]Source{Report, OSC, Screen, Detect, Stall}).Draw(t, "source"),
		State:      rapid.SampledFrom(States()).Draw(t, "state"),
		Label:      rapid.SampledFrom([]string{"", "a label"}).Draw(t, "label"),
		PromptID:   rapid.SampledFrom([]string{"", "p1", "p2", "p3", "p4"}).Draw(t, "prompt id"),
		SameTurn:   rapid.Bool().Draw(t, "same turn"),
		Background: rapid.IntRange(0, 1).Draw(t, "background"),
		Subagent:   rapid.IntRange(0, 4).Draw(t, "subagent") == 0,
		LastOutput: now.Add(-time.Duration(rapid.IntRange(0, 60_000).Draw(t, "silent ms")) * time.Millisecond),
	}
}
