package conversation

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Boundary is the last result of a checkpoint's batch: everything through it
// stays when the rewind comes.
type Boundary struct {
	EntryID  string `json:"entry,omitempty"`    // of the session, as its agent names it; may be empty
	Messages int    `json:"messages,omitempty"` // how many there are through the boundary
}

// Open is a checkpoint that no report has closed.
type Open struct {
	CallID    string    `json:"call"`
	Goal      string    `json:"goal"`
	StartedAt time.Time `json:"started_at"` // UTC, whole milliseconds
	// Boundary is nil until every call of the checkpoint's own batch has its
	// result: so long nothing can rewind to it.
	Boundary *Boundary `json:"boundary,omitempty"`
	// WorkTree is the number of the work-tree checkpoint that was saved with it,
	// 0 when there is none.
	WorkTree int `json:"work_tree,omitempty"`
}

// Report closes one checkpoint, and no other.
type Report struct {
	CallID     string `json:"call"`       // of the rewind
	Checkpoint string `json:"checkpoint"` // call of the checkpoint that it closes
	Text       string `json:"text"`
}

// State is what is known of the checkpoints of one conversation. The zero value
// is a conversation without any. It is plain data: it can be copied field by
// field, compared and kept as JSON. It is not safe for several goroutines.
//
// A host asks [State.Checkpoint] and [State.Rewind] when the tools are called,
// and tells what happens by the other methods; or it has [Derive] find the state
// from the events of a history. Both give the same.
type State struct {
	// Open is the one open checkpoint, also while a report for it is pending.
	Open *Open `json:"open,omitempty"`
	// Pending is the report of a rewind that was granted and is not yet taken.
	Pending *Report `json:"pending,omitempty"`
	// Completed is the last report that was taken, until the next checkpoint opens.
	Completed *Report `json:"completed,omitempty"`
	// Lost is the checkpoint that a compaction took, until the next one opens.
	Lost *Open `json:"lost,omitempty"`
	// Reminders counts those of the guard for the open checkpoint since the last
	// prompt of the person.
	Reminders int `json:"reminders,omitempty"`
}

// Call is a call of one of the tools.
type Call struct {
	ID       string // as the model or its agent names the call; unique among the checkpoints of a conversation
	Text     string // goal or report as it came
	At       time.Time
	Subagent bool // made by another than the top-level conversation
}

// Result is what a tool answers when it does not refuse.
type Result struct {
	Texts   []string // blocks in order; a host may append one with facts
	Details any      // [CheckpointDetails] or [RewindDetails]
}

// CheckpointDetails goes beside the text of a checkpoint's result.
type CheckpointDetails struct {
	Goal      string `json:"goal"`
	StartedAt string `json:"startedAt"` // see [Timestamp]
}

// RewindDetails goes beside the text of a rewind's result.
type RewindDetails struct {
	Report  string `json:"report"`
	Rewound bool   `json:"rewound"`
}

// Timestamp is a time as details and session files have it: ISO 8601, UTC,
// milliseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Checkpoint opens a checkpoint, or refuses with a [Refusal]. The boundary is set
// by [State.BatchEnded].
func (s *State) Checkpoint(c Call) (Result, error) {
	goal := strings.TrimSpace(c.Text)
	switch {
	case c.Subagent:
		return Result{}, ErrCheckpointInSubagent
	case s.Open != nil:
		return Result{}, ErrCheckpointActive
	case goal == "":
		return Result{}, ErrGoalEmpty
	}
	s.Opened(c.ID, goal, c.At)
	return Result{
		Texts:   []string{CreatedText(goal)},
		Details: CheckpointDetails{Goal: goal, StartedAt: Timestamp(c.At)},
	}, nil
}

// Rewind takes a report for the open checkpoint, or refuses with a [Refusal].
// The report is due at the end of the batch.
func (s *State) Rewind(c Call) (Result, error) {
	report := strings.TrimSpace(c.Text)
	switch {
	case c.Subagent:
		return Result{}, ErrRewindInSubagent
	case s.Lost != nil:
		return Result{}, ErrLost
	case s.Pending != nil || s.Open == nil && s.Completed != nil:
		return Result{}, ErrAlreadyCompleted
	case s.Open == nil || s.Open.Boundary == nil:
		return Result{}, ErrNoCheckpoint
	case report == "":
		return Result{}, ErrReportEmpty
	case utf8.RuneCountInString(report) > MaxReport:
		return Result{}, ErrReportTooLong
	}
	s.Reported(c.ID, report)
	return Result{
		Texts:   []string{RewindText()},
		Details: RewindDetails{Report: report, Rewound: true},
	}, nil
}

// Opened tells that a checkpoint has succeeded. One that was open before becomes
// plain history; a pending report and the last completed one are cleared. Told
// again of the same call it does nothing.
func (s *State) Opened(callID, goal string, at time.Time) {
	if s.Open != nil && s.Open.CallID == callID {
		return
	}
	*s = State{Open: &Open{CallID: callID, Goal: goal, StartedAt: at.UTC().Truncate(time.Millisecond)}}
}

// Reported tells that a rewind has succeeded. A report without a checkpoint that
// it could close is nothing: it is never kept for another one.
func (s *State) Reported(callID, report string) {
	if s.Open == nil || s.Open.Boundary == nil || s.Pending != nil {
		return
	}
	s.Pending = &Report{CallID: callID, Checkpoint: s.Open.CallID, Text: report}
}

// BatchEnded tells that every call of a batch has its result, and b is the last
// of them. It returns the report that is due, nil when none is: the host puts it
// in the place of what followed the boundary of the open checkpoint, and then
// tells so by [State.Rewound].
func (s *State) BatchEnded(b Boundary) *Report {
	if s.Open != nil && s.Open.Boundary == nil {
		s.Open.Boundary = &b
	}
	return s.Pending
}

// Rewound tells that a report has taken the place of what the checkpoint that it
// names was followed by. Where another one is open, that stays so.
func (s *State) Rewound(r Report) {
	if s.Open == nil || s.Open.CallID != r.Checkpoint {
		return
	}
	*s = State{Completed: &r}
}

// Saved tells the number of the work-tree checkpoint that was saved when the
// checkpoint of this call succeeded.
func (s *State) Saved(callID string, number int) {
	if s.Open != nil && s.Open.CallID == callID {
		s.Open.WorkTree = number
	}
}

// Prompted tells of a prompt: one of the person starts the count of reminders
// anew.
func (s *State) Prompted(text string) {
	if IsPersonsPrompt(text) {
		s.Reminders = 0
	}
}

// Aborted tells that a turn ended aborted; keep is the setting keep_on_abort, and
// true in hosts that do not see every abort. It returns the checkpoint that was
// cleared, nil when none was: the host makes that durable. A killed process has
// aborted nothing.
func (s *State) Aborted(keep bool) *Open {
	if keep {
		return nil
	}
	return s.clear()
}

// Abandoned closes the open checkpoint without a report, for the person. It
// returns the checkpoint, nil when none was open.
func (s *State) Abandoned() *Open { return s.clear() }

// Cleared tells that the checkpoint of this call was cleared by an abort or
// abandoned.
func (s *State) Cleared(callID string) {
	if s.Open != nil && s.Open.CallID == callID {
		s.clear()
	}
}

func (s *State) clear() *Open {
	was := s.Open
	s.Open, s.Pending, s.Reminders = nil, nil, 0
	return was
}

// Compacted tells of a compaction. Carried: the host keeps the history behind it
// and can still rewind. Otherwise the open checkpoint is lost; it is returned,
// so that the person can be told once.
func (s *State) Compacted(carried bool) *Open {
	if carried || s.Open == nil {
		return nil
	}
	s.Lost = s.clear()
	return s.Lost
}
