package conversation

import "time"

// EventKind says what an [Event] tells.
type EventKind int

// The kinds of events, each with the fields that it has. They are told to a
// [State] by the method of the same name.
const (
	EventOpened     EventKind = iota + 1 // CallID, Text (goal), At
	EventReported                        // CallID, Text (report)
	EventBatchEnded                      // Boundary
	EventRewound                         // Report
	EventSaved                           // CallID, Number
	EventPrompted                        // Text; a reminder of the guard counts as one
	EventCleared                         // CallID
	EventCompacted                       // Carried
)

// Event is something in a history that matters to its checkpoints.
type Event struct {
	Kind     EventKind
	CallID   string
	Text     string
	At       time.Time
	Boundary Boundary
	Report   Report
	Number   int
	Carried  bool
}

// Derive is the state after the events of a history, oldest first. Only calls
// that succeeded are events.
func Derive(events []Event) State {
	var s State
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// Apply tells one event.
func (s *State) Apply(e Event) {
	switch e.Kind {
	case EventOpened:
		s.Opened(e.CallID, e.Text, e.At)
	case EventReported:
		s.Reported(e.CallID, e.Text)
	case EventBatchEnded:
		s.BatchEnded(e.Boundary)
	case EventRewound:
		s.Rewound(e.Report)
	case EventSaved:
		s.Saved(e.CallID, e.Number)
	case EventPrompted:
		if IsReminder(e.Text) {
			s.Reminded()
		}
		s.Prompted(e.Text)
	case EventCleared:
		s.Cleared(e.CallID)
	case EventCompacted:
		s.Compacted(e.Carried)
	}
}
