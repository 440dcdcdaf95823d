package agentstate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at is a moment of the tests' day.
func at(seconds float64) time.Time {
	return time.Date(2026, 11, 29, 14, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// moment is an event and the second at which it happens; zero: one second after
// the event before.
type moment struct {
	e       Event
	at      float64
	refused bool // the event is not applied
	restart bool // the watcher was away: no event
}

func claim(s State) moment { return moment{e: Event{Kind: Claim, Source: Report, State: s}} }

func by(source Source, s State) moment {
	return moment{e: Event{Kind: Claim, Source: source, State: s}}
}

func prompt(id, label string) moment {
	return moment{e: Event{Kind: Prompt, PromptID: id, Label: label}}
}

func tool(kind Kind, id string) moment { return moment{e: Event{Kind: kind, PromptID: id}} }

func (m moment) second(s float64) moment { m.at = s; return m }

func (m moment) no() moment { m.refused = true; return m }

func (m moment) with(change func(*Event)) moment { change(&m.e); return m }

func says(text string) func(*Event) { return func(e *Event) { e.Message = text } }

func output(second float64) func(*Event) { return func(e *Event) { e.LastOutput = at(second) } }

func running(n int) func(*Event) { return func(e *Event) { e.Background = n } }

func fromSubagent(e *Event) { e.Subagent = true }

func ofPrompt(id string) func(*Event) { return func(e *Event) { e.PromptID = id } }

func notice(id string) moment {
	return moment{e: Event{Kind: Prompt, PromptID: id, SameTurn: true, Label: "<task-notification>"}}
}

func restart() moment { return moment{restart: true} }

// rule is a rule by its name: what happens, and what follows.
type rule struct {
	rule    string
	moments []moment
	state   State
	source  Source
	turn    int
	open    bool
	effects []Effect
}

// hold checks that the rules hold.
func hold(t *testing.T, rules []rule) {
	t.Helper()
	for _, tt := range rules {
		t.Run(tt.rule, func(t *testing.T) {
			m, effects := play(t, tt.moments)
			if diff := cmp.Diff(tt.effects, effects); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			got := Machine{State: m.State, Source: m.Source, Turn: m.Turn, TurnOpen: m.TurnOpen}
			if got.State == "" {
				got.State = None
			}
			want := Machine{State: tt.state, Source: tt.source, Turn: tt.turn, TurnOpen: tt.open}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("machine (-want +got):\n%s", diff)
			}
		})
	}
}

// play applies the moments to a new machine and checks which are applied.
func play(t *testing.T, moments []moment) (Machine, []Effect) {
	t.Helper()
	var m Machine
	var effects []Effect
	second := 0.0
	for i, mo := range moments {
		second++
		if mo.at != 0 {
			second = mo.at
		}
		if mo.restart {
			m = Restarted(m, at(second))
			continue
		}
		var out Outcome
		m, out = Apply(m, mo.e, at(second))
		effects = append(effects, out.Effects...)
		if out.Applied == mo.refused {
			t.Errorf("event %d (%+v): applied = %v", i, mo.e, out.Applied)
		}
	}
	return m, effects
}
