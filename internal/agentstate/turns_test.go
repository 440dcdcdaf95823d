package agentstate

import (
	"testing"
)

// TestTurns holds the rules of when turns begin, pause and end, and when their
// work is saved.
func TestTurns(t *testing.T) {
	hold(t, []rule{
		{
			rule: "nothing ever heard", state: None,
		},
		{
			rule:    "working from rest starts a turn",
			moments: []moment{claim(Working)},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "a prompt starts a turn",
			moments: []moment{prompt("p1", "Add a retry")},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1, Label: "Add a retry"}},
		},
		{
			rule:    "working while working changes nothing",
			moments: []moment{prompt("p1", "Add"), claim(Working)},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1, Label: "Add"}},
		},
		{
			rule:    "done ends a turn",
			moments: []moment{prompt("p1", "Add"), claim(Done).with(says("It is in."))},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}},
		},
		{
			rule:    "idle ends a turn",
			moments: []moment{prompt("p1", "Add"), claim(Idle)},
			state:   Idle, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Idle}, SaveDue{1, Idle, "Add"}},
		},
		{
			rule:    "errored ends a turn",
			moments: []moment{prompt("p1", "Add"), claim(Errored)},
			state:   Errored, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Errored}, SaveDue{1, Errored, "Add"}},
		},
		{
			rule:    "none ends a turn as aborted",
			moments: []moment{prompt("p1", "Add"), claim(None)},
			state:   None, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Aborted}, SaveDue{1, Aborted, "Add"}},
		},
		{
			rule:    "the agent's death ends a turn as aborted, whatever was reported",
			moments: []moment{prompt("p1", "Add"), {e: Event{Kind: Exit}}},
			state:   None, source: Detect, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Aborted}, SaveDue{1, Aborted, "Add"}},
		},
		{
			rule:    "an interrupt ends a turn as aborted and the agent is idle",
			moments: []moment{prompt("p1", "Add"), {e: Event{Kind: Interrupt}}},
			state:   Idle, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Aborted}, SaveDue{1, Aborted, "Add"}},
		},
		{
			rule:    "a new prompt closes the open turn as aborted first",
			moments: []moment{prompt("p1", "One"), prompt("p2", "Two")},
			state:   Working, source: Report, turn: 2, open: true,
			effects: []Effect{
				TurnStarted{1, "One"}, TurnEnded{1, Aborted}, SaveDue{1, Aborted, "One"}, TurnStarted{2, "Two"},
			},
		},
		{
			rule:    "prompts without ids are different prompts",
			moments: []moment{prompt("", "One"), prompt("", "One")},
			state:   Working, source: Report, turn: 2, open: true,
			effects: []Effect{
				TurnStarted{1, "One"}, TurnEnded{1, Aborted}, SaveDue{1, Aborted, "One"}, TurnStarted{2, "One"},
			},
		},
		{
			rule:    "a prompt with the running turn's id is a queued message",
			moments: []moment{prompt("p1", "One"), prompt("p1", "and also")},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "One"}},
		},
		{
			rule:    "a queued message does not answer a question",
			moments: []moment{prompt("p1", "One"), claim(NeedsInput), prompt("p1", "and also")},
			state:   NeedsInput, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "One"}, TurnPaused{1}, SaveDue{1, NeedsInput, "One"}},
		},
		{
			rule:    "a queued message that comes after the stop goes on with the turn",
			moments: []moment{prompt("p1", "One"), claim(Done), prompt("p1", "and also"), claim(Done)},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{
				TurnStarted{1, "One"},
				TurnEnded{1, Done},
				SaveDue{1, Done, "One"},
				TurnContinued{1},
				TurnEnded{1, Done},
				SaveDue{1, Done, "One"},
			},
		},
		{
			rule: "a hook that the next prompt overtook is not heard",
			moments: []moment{
				prompt("p1", "One"), prompt("p2", "Two"),
				claim(Done).with(ofPrompt("p1")).no(), tool(ToolStart, "p1").no(), prompt("p1", "One").no(),
			},
			state: Working, source: Report, turn: 2, open: true,
			effects: []Effect{
				TurnStarted{1, "One"}, TurnEnded{1, Aborted}, SaveDue{1, Aborted, "One"}, TurnStarted{2, "Two"},
			},
		},
		{
			rule:    "needs_input pauses a turn and saves",
			moments: []moment{prompt("p1", "Add"), claim(NeedsInput).with(says("May I?"))},
			state:   NeedsInput, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, TurnPaused{1}, SaveDue{1, NeedsInput, "Add"}},
		},
		{
			rule:    "a second question without work in between saves nothing",
			moments: []moment{prompt("p1", "Add"), claim(NeedsInput), claim(NeedsInput)},
			state:   NeedsInput, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, TurnPaused{1}, SaveDue{1, NeedsInput, "Add"}},
		},
		{
			rule:    "a tool after a question means work again, in the same turn",
			moments: []moment{prompt("p1", "Add"), claim(NeedsInput), tool(ToolEnd, "p1"), claim(NeedsInput), claim(Working)},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{
				TurnStarted{1, "Add"},
				TurnPaused{1},
				SaveDue{1, NeedsInput, "Add"},
				TurnPaused{1},
				SaveDue{1, NeedsInput, "Add"},
			},
		},
		{
			rule:    "needs_input to rest without working in between saves",
			moments: []moment{prompt("p1", "Add"), claim(NeedsInput), claim(Done)},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{
				TurnStarted{1, "Add"},
				TurnPaused{1},
				SaveDue{1, NeedsInput, "Add"},
				TurnEnded{1, Done},
				SaveDue{1, Done, "Add"},
			},
		},
		{
			rule:    "needs_input at rest is no turn",
			moments: []moment{claim(NeedsInput), claim(Done)},
			state:   Done, source: Report,
		},
		{
			rule:    "rest without work is no turn",
			moments: []moment{claim(Idle), claim(Done), claim(Errored), claim(None)},
			state:   None, source: Report,
		},
		{
			rule:    "two stop events of one turn: the second has no effect",
			moments: []moment{prompt("p1", "Add"), claim(Done), claim(Done)},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}},
		},
		{
			rule:    "a second stop event that says something else changes the state alone",
			moments: []moment{prompt("p1", "Add"), claim(Done), claim(Errored)},
			state:   Errored, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}},
		},
		{
			rule:    "a stop with background tasks ends no turn but saves",
			moments: []moment{prompt("p1", "Add"), claim(Done).with(running(1))},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, SaveDue{1, Idle, "Add"}},
		},
		{
			rule:    "a second stop with background tasks saves only after work",
			moments: []moment{prompt("p1", "Add"), claim(Done).with(running(1)), claim(Done).with(running(1)), tool(ToolEnd, "p1"), claim(Done).with(running(1))},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, SaveDue{1, Idle, "Add"}, SaveDue{1, Idle, "Add"}},
		},
		{
			rule: "a background task's notice is the same turn with the same label",
			moments: []moment{
				prompt("p1", "Add"), claim(Done).with(running(1)), notice("p2"), claim(Done).with(ofPrompt("p2")),
			},
			state: Done, source: Report, turn: 1,
			effects: []Effect{
				TurnStarted{1, "Add"}, SaveDue{1, Idle, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"},
			},
		},
		{
			rule:    "a notice after the turn's end goes on with it",
			moments: []moment{prompt("p1", "Add"), claim(Done), notice("p2"), claim(Done)},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{
				TurnStarted{1, "Add"},
				TurnEnded{1, Done},
				SaveDue{1, Done, "Add"},
				TurnContinued{1},
				TurnEnded{1, Done},
				SaveDue{1, Done, "Add"},
			},
		},
		{
			rule:    "a notice before any turn is a turn without a prompt's label",
			moments: []moment{notice("p2")},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "a prompt after a stop with background tasks: the turn before was done",
			moments: []moment{prompt("p1", "Add"), claim(Done).with(running(1)), prompt("p2", "Next")},
			state:   Working, source: Report, turn: 2, open: true,
			effects: []Effect{
				TurnStarted{1, "Add"},
				SaveDue{1, Idle, "Add"},
				TurnEnded{1, Done},
				SaveDue{1, Done, "Add"},
				TurnStarted{2, "Next"},
			},
		},
		{
			rule:    "an agent that leaves with background tasks was done",
			moments: []moment{prompt("p1", "Add"), claim(Done).with(running(1)), {e: Event{Kind: Exit}}},
			state:   None, source: Detect, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, SaveDue{1, Idle, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}},
		},
		{
			rule: "subagents neither start nor end a turn",
			moments: []moment{
				tool(ToolStart, "p1").with(fromSubagent).no(), prompt("p1", "Add"),
				claim(Done).with(fromSubagent).no(), prompt("p9", "look").with(fromSubagent).no(),
				claim(None).with(fromSubagent).no(),
			},
			state: Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}},
		},
		{
			rule:    "a subagent's question waits for the person, its next tool does not",
			moments: []moment{prompt("p1", "Add"), claim(NeedsInput).with(fromSubagent), tool(ToolEnd, "p1").with(fromSubagent)},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}, TurnPaused{1}, SaveDue{1, NeedsInput, "Add"}},
		},
		{
			rule:    "a stop that another hook blocked: the turn goes on at its next tool",
			moments: []moment{prompt("p1", "Add"), claim(Done), tool(ToolStart, "p1"), claim(Done)},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{
				TurnStarted{1, "Add"},
				TurnEnded{1, Done},
				SaveDue{1, Done, "Add"},
				TurnContinued{1},
				TurnEnded{1, Done},
				SaveDue{1, Done, "Add"},
			},
		},
		{
			rule:    "a tool at rest starts the turn whose prompt was missed",
			moments: []moment{claim(Idle), tool(ToolStart, "p7")},
			state:   Working, source: Report, turn: 1, open: true,
			effects: []Effect{TurnStarted{Turn: 1}},
		},
		{
			rule:    "a tool that ends at rest starts nothing",
			moments: []moment{prompt("p1", "Add"), claim(Done), tool(ToolEnd, "p1").no()},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}},
		},
		{
			rule:    "without a prompt the label is what the agent ended with",
			moments: []moment{claim(Working), claim(Done).with(says("It is in."))},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{TurnStarted{Turn: 1}, TurnEnded{1, Done}, SaveDue{1, Done, "It is in."}},
		},
		{
			rule:    "a prompt told at the turn's end is its label",
			moments: []moment{claim(Working), claim(Done).with(says("x")).with(func(e *Event) { e.Label = "Add" })},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{TurnStarted{Turn: 1}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}},
		},
		{
			rule:    "a restart while a question is open at rest makes it unknown",
			moments: []moment{claim(NeedsInput), restart()},
			state:   Unknown, source: Stall,
		},
		{
			rule:    "a restart makes work unknown and leaves the turn open; it goes on",
			moments: []moment{prompt("p1", "Add"), restart(), tool(ToolEnd, "p1"), claim(Done)},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}},
		},
		{
			rule:    "a restart never ends a turn",
			moments: []moment{prompt("p1", "Add").second(1), restart().second(100)},
			state:   Unknown, source: Stall, turn: 1, open: true,
			effects: []Effect{TurnStarted{1, "Add"}},
		},
		{
			rule:    "a restart at rest changes nothing",
			moments: []moment{prompt("p1", "Add"), claim(Done), restart()},
			state:   Done, source: Report, turn: 1,
			effects: []Effect{TurnStarted{1, "Add"}, TurnEnded{1, Done}, SaveDue{1, Done, "Add"}},
		},
	})
}
