package agentstate

import "time"

// Aborted is how a turn ends that did not come to rest by itself: the person
// interrupted it, or the agent's process is gone. It is a state of a turn and
// of its checkpoint, never of a window.
const Aborted State = "aborted"

// Valid reports whether s is a state that a window can have.
func (s State) Valid() bool {
	switch s {
	case None, Working, NeedsInput, Idle, Done, Errored, Unknown:
		return true
	}
	return false
}

// States lists the states of a window, as a caller may name them.
func States() []State {
	return []State{None, Working, NeedsInput, Idle, Done, Errored, Unknown}
}

// Source says who claims a state.
type Source string

// The sources, from the strongest to the weakest.
const (
	Report Source = "report" // the agent's own hook, or set-agent-state
	OSC    Source = "osc"    // an escape sequence that the pane emitted
	Screen Source = "screen" // a rule matched on the pane's bottom lines
	Detect Source = "detect" // the foreground process of the pane's terminal
	Stall  Source = "stall"  // silence
)

// rank orders the sources; a claim stands against any claim of a lower rank.
// Nothing claimed yet is below every source.
func (s Source) rank() int {
	switch s {
	case Report:
		return 40
	case OSC:
		return 30
	case Screen:
		return 20
	case Detect:
		return 10
	case Stall:
		return 0
	}
	return -1
}

// Kind says what an event is.
type Kind int

// The kinds of event.
const (
	Claim     Kind = iota + 1 // Source says that the agent is in State
	Unclaim                   // what Source last claimed no longer holds (a screen rule stopped matching)
	Prompt                    // a prompt was submitted to the agent
	ToolStart                 // the agent is about to use a tool
	ToolEnd                   // the agent has used a tool
	Interrupt                 // the person interrupted the agent
	Exit                      // the agent's process is gone
	Silence                   // the pane has been silent since LastOutput
)

// Event is one thing that was learned about an agent. Fields that a kind does
// not name are not looked at.
type Event struct {
	Kind       Kind
	Source     Source    // Claim, Unclaim
	State      State     // Claim
	Message    string    // Claim: what the agent says about it; one clean line
	Label      string    // Prompt: its first line, clean; Claim: names the open turn if nothing did
	PromptID   string    // any kind from a hook: the prompt that the agent works on; empty: not known
	SameTurn   bool      // Prompt: goes on with the newest turn
	Background int       // Claim of rest: background tasks that still run
	Subagent   bool      // any kind from a hook: a subagent or child session sent it
	LastOutput time.Time // Claim by screen, Silence: when the pane last wrote something
}

// Effect is what has to be done after an event: TurnStarted, TurnContinued,
// TurnPaused, TurnEnded or SaveDue.
type Effect interface{ effect() }

// TurnStarted says that a turn begins; its base is to be noted.
type TurnStarted struct {
	Turn  int
	Label string
}

// TurnContinued says that the newest turn, which had ended, goes on: same
// number, same label, same base.
type TurnContinued struct{ Turn int }

// TurnPaused says that the agent waits in the middle of a turn.
type TurnPaused struct{ Turn int }

// TurnEnded says that a turn is over. State is done, idle, errored, unknown or
// aborted.
type TurnEnded struct {
	Turn  int
	State State
}

// SaveDue asks for a checkpoint of the work tree as it is now.
type SaveDue struct {
	Turn  int
	State State // as the checkpoint records it
	Label string
}

func (TurnStarted) effect()   {}
func (TurnContinued) effect() {}
func (TurnPaused) effect()    {}
func (TurnEnded) effect()     {}
func (SaveDue) effect()       {}
