package agentstate

import (
	"testing"
)

// TestClaims holds the rules of which source's claim stands.
func TestClaims(t *testing.T) {
	hold(t, []rule{
		{
			rule:    "a source writes over claims of its own rank or below",
			moments: []moment{by(Detect, Idle), by(Screen, Idle), by(OSC, Working), by(OSC, Idle), claim(Working)},
			state:   Working, source: Report, turn: 2, open: true,
			effects: []Effect{TurnStarted{Turn: 1}, TurnEnded{1, Idle}, SaveDue{1, Idle, ""}, TurnStarted{Turn: 2}},
		},
		{
			rule:    "a claim below the standing rank is refused",
			moments: []moment{claim(Working), by(OSC, Idle).no(), by(Screen, Done).no(), by(Detect, None).no()},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "a claim of an unknown source or state is refused",
			moments: []moment{by("rumour", Working).no(), claim("sleeping").no(), moment{e: Event{Kind: 99}}.no()},
			state:   None,
		},
		{
			rule:    "a reported working is never turned unknown by silence",
			moments: []moment{claim(Working).second(1), moment{e: Event{Kind: Silence, LastOutput: at(2)}}.second(90).no()},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "30 s of silence end a counted turn as unknown",
			moments: []moment{by(OSC, Working).second(1), moment{e: Event{Kind: Silence, LastOutput: at(6)}}.second(36)},
			state:   Unknown, source: Stall, turn: 1,
			effects: []Effect{TurnStarted{Turn: 1}, TurnEnded{1, Unknown}, SaveDue{1, Unknown, ""}},
		},
		{
			rule:    "silence after less than 5 s of work ends no turn, judged by the last output",
			moments: []moment{by(OSC, Working).second(1), moment{e: Event{Kind: Silence, LastOutput: at(5.9)}}.second(36)},
			state:   Unknown, source: Stall, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "less than 30 s of silence are nothing",
			moments: []moment{by(OSC, Working).second(1), moment{e: Event{Kind: Silence, LastOutput: at(7)}}.second(36.9).no()},
			state:   Working, source: OSC, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "silence at rest is nothing",
			moments: []moment{by(OSC, Idle).second(1), moment{e: Event{Kind: Silence, LastOutput: at(1)}}.second(90).no()},
			state:   Idle, source: OSC,
		},
		{
			rule:    "any source writes over silence",
			moments: []moment{by(OSC, Working).second(1), moment{e: Event{Kind: Silence, LastOutput: at(9)}}.second(40), by(Detect, Idle)},
			state:   Idle, source: Detect, turn: 1,
			effects: []Effect{TurnStarted{Turn: 1}, TurnEnded{1, Unknown}, SaveDue{1, Unknown, ""}},
		},
		{
			rule:    "a reported unknown ends a turn of 5 s or more",
			moments: []moment{claim(Working).second(1), claim(Unknown).second(6)},
			state:   Unknown, source: Report, turn: 1,
			effects: []Effect{TurnStarted{Turn: 1}, TurnEnded{1, Unknown}, SaveDue{1, Unknown, ""}},
		},
		{
			rule:    "a reported unknown before 5 s leaves the turn open, and it goes on",
			moments: []moment{claim(Working).second(1), claim(Unknown).second(5.9), claim(Working), claim(Done)},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{TurnStarted{Turn: 1}, TurnEnded{1, Done}, SaveDue{1, Done, ""}},
		},
		{
			rule: "a question on the screen stands over an old claim and gives way again",
			moments: []moment{
				prompt("p1", "Add").second(1), by(Screen, NeedsInput).with(output(3)).second(3.5),
				{e: Event{Kind: Unclaim, Source: Screen}},
			},
			state: Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, TurnPaused{1}, SaveDue{1, NeedsInput, "Add"}},
		},
		{
			rule:    "a question on the screen does not stand over a young claim",
			moments: []moment{claim(Working).second(1), by(Screen, NeedsInput).with(output(2.5)).second(2.9).no()},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "a question on the screen does not stand over a claim younger than the last output",
			moments: []moment{claim(Working).second(5), by(Screen, NeedsInput).with(output(4)).second(9).no()},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "nothing covered: a screen rule that stops matching changes nothing",
			moments: []moment{claim(Working), moment{e: Event{Kind: Unclaim, Source: Screen}}.no()},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule: "a question on the screen stands over a claim of exactly 2 s",
			moments: []moment{
				claim(Working).second(1), by(Screen, NeedsInput).with(output(2)).second(3),
			},
			state: NeedsInput, source: Screen, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}, TurnPaused{1}, SaveDue{1, NeedsInput, ""}},
		},
		{
			rule: "nothing but a question, and that on the screen, stands over a stronger claim",
			moments: []moment{
				claim(Working).second(1), by(Screen, Idle).with(output(8)).second(9).no(), by(OSC, NeedsInput).with(output(8)).second(9).no(),
			},
			state: Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule: "a working phase begins anew after a question",
			moments: []moment{
				by(OSC, Working).second(1), by(OSC, NeedsInput).second(8), by(OSC, Working).second(9),
				moment{e: Event{Kind: Silence, LastOutput: at(12)}}.second(50),
			},
			state: Unknown, source: Stall, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}, TurnPaused{1}, SaveDue{1, NeedsInput, ""}},
		},
		{
			rule: "working that is claimed again is the same phase",
			moments: []moment{
				by(OSC, Working).second(1), by(OSC, Working).second(5), moment{e: Event{Kind: Silence, LastOutput: at(6.5)}}.second(50),
			},
			state: Unknown, source: Stall, turn: 1,
			effects: []Effect{TurnStarted{Turn: 1}, TurnEnded{1, Unknown}, SaveDue{1, Unknown, ""}},
		},
		{
			rule:    "an unknown that is claimed is judged by the last output too",
			moments: []moment{by(Screen, Working).second(1), by(Screen, Unknown).with(output(3)).second(30)},
			state:   Unknown, source: Screen, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "silence may claim where nobody else did",
			moments: []moment{by(Stall, Idle)},
			state:   Idle, source: Stall,
		},
		{
			rule:    "an error ends a turn though background tasks run",
			moments: []moment{prompt("p1", "Add"), claim(Errored).with(running(1))},
			state:   Errored, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Errored}, SaveDue{1, Errored, "Add"}},
		},
		{
			rule:    "a stop with background tasks after a question is work",
			moments: []moment{prompt("p1", "Add"), claim(NeedsInput), claim(Done).with(running(2))},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, TurnPaused{1}, SaveDue{1, NeedsInput, "Add"}, SaveDue{1, Idle, "Add"}},
		},
		{
			rule:    "work after a stop with background tasks is the turn's again: a prompt aborts it",
			moments: []moment{prompt("p1", "Add"), claim(Done).with(running(1)), claim(Working), prompt("p2", "Next")},
			state:   Working, source: Report, turn: 2, open: true,
			effects: []Effect{
				TurnStarted{1, "Add"},
				SaveDue{1, Idle, "Add"},
				TurnEnded{1, Aborted},
				SaveDue{1, Aborted, "Add"},
				TurnStarted{2, "Next"},
			},
		},
		{
			rule:    "a notice's prompt is the turn's: its tools go on with it",
			moments: []moment{prompt("p1", "Add"), notice("p2"), claim(Done), tool(ToolStart, "p2")},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}, TurnContinued{1}},
		},
		{
			rule:    "a queued message goes on with its turn though the agent asked something at rest",
			moments: []moment{prompt("p1", "Add"), claim(Done), claim(NeedsInput), prompt("p1", "and this")},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}, TurnContinued{1}},
		},
	})
}
