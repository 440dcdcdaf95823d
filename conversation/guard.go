package conversation

import "strings"

// Settled is how the model came to rest.
type Settled struct {
	Calls        int  // tool calls in its last message
	Failed       bool // by an error
	Aborted      bool
	Compacting   bool // goes on by itself behind a compaction
	Busy         bool // work in the background runs on and will wake it
	RewindDenied bool // the person refused it the call
}

// Guarded is what the yield guard wants. Neither field set: let the model rest.
type Guarded struct {
	Reminder string // to add to the conversation before the model goes on; see [State.Reminded]
	Tell     bool   // the last reminder did not help: the person is told, and the checkpoint stays open
}

// Guard says what to do with a model that settles while a checkpoint is open and
// no report is pending. It changes nothing: the host that adds the reminder tells
// so by [State.Reminded].
func (s *State) Guard(how Settled) Guarded {
	switch {
	case s.Open == nil || s.Pending != nil,
		how.Calls > 0, how.Failed, how.Aborted, how.Compacting, how.Busy, how.RewindDenied:
		return Guarded{}
	case s.Reminders >= MaxReminders:
		return Guarded{Tell: true}
	default:
		return Guarded{Reminder: Reminder(s.Reminders + 1)}
	}
}

// Reminded tells that a reminder was added.
func (s *State) Reminded() {
	if s.Open != nil {
		s.Reminders++
	}
}

// IsPersonsPrompt says whether a prompt is the person's: a reminder of the guard
// that comes back as one and a note of a finished task are not.
func IsPersonsPrompt(text string) bool {
	return !IsReminder(text) && !strings.HasPrefix(strings.TrimSpace(text), "<task-notification>")
}
