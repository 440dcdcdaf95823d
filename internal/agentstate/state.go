// Package agentstate holds the rules of what state an agent is in and where a
// turn begins and ends. It is pure: events and times go in, a new value and
// effects come out; it starts nothing and reads no clock.
package agentstate

// State is what an agent is doing.
type State string

// The states.
const (
	None       State = "none"
	Working    State = "working"
	NeedsInput State = "needs_input"
	Idle       State = "idle"
	Done       State = "done"
	Errored    State = "errored"
	Unknown    State = "unknown"
)
