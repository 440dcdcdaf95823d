package checkpoint

import (
	"time"

	"github.com/turnback/turnback/checkpoint/company"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/label"
	"github.com/turnback/turnback/internal/restore"
)

// Label makes the label of a checkpoint from what a person or an agent wrote: the
// first line that has anything on it, control characters removed, white space
// folded, secrets of known forms masked, cut at 120 bytes on a rune boundary
// with "..." at the end.
func Label(text string) string { return label.Clean(text) }

// What a checkpoint is; see package record.
type (
	Kind       = record.Kind
	Pane       = record.Pane
	Base       = record.Base
	LeftOut    = record.LeftOut
	Checkpoint = record.Checkpoint
	NotSaved   = record.NotSaved
	PaneInfo   = record.PaneInfo
	TurnID     = record.TurnID
	Talk       = record.Talk
)

// OpenTurn is a turn that goes on, or is not saved yet; see package company.
type OpenTurn = company.OpenTurn

// Half is what a restore puts back beside the files; see package restore.
type Half = restore.Half

// The kinds of checkpoint.
const (
	KindTurn         = record.KindTurn
	KindStart        = record.KindStart
	KindSafety       = record.KindSafety
	KindManual       = record.KindManual
	KindConversation = record.KindConversation
)

// Reasons for which a path is left out of a checkpoint.
const (
	ReasonTooLarge    = record.ReasonTooLarge
	ReasonTooMuchNew  = record.ReasonTooMuchNew
	ReasonUnreadable  = record.ReasonUnreadable
	ReasonSubmodule   = record.ReasonSubmodule
	ReasonNestedRepo  = record.ReasonNestedRepo
	ReasonFilter      = record.ReasonFilter
	ReasonNotRegular  = record.ReasonNotRegular
	ReasonNotStorable = record.ReasonNotStorable
)

// BeginRequest notes the base of a turn that starts now.
type BeginRequest struct {
	Pane      Pane
	Turn      int  // the turn that begins
	SaveStart bool // save what changed since the newest checkpoint as kind start
	Agent     string
	Talk      func() Talk // the conversation before it, for what is saved; nil: not known
	// LetGo is asked when the work tree was seen: since when the agent goes on
	// without waiting; zero: it waits. nil: it does.
	LetGo func() time.Time
}

// BeginResult is the base of the turn, and the start checkpoint if one was due.
type BeginResult struct {
	Base  Base
	Start *Checkpoint // nil: nothing had changed, or SaveStart was false
}

// SaveRequest saves the work tree as it is now.
type SaveRequest struct {
	Kind         Kind
	Pane         Pane
	Turn         int
	State        string // done, idle, needs_input, errored, aborted, unknown, none; empty for kind start
	Label        string // cleaned and cut here, see Label
	Base         *Base  // the turn's base; with it, a tree equal to Base.Tree saves nothing
	Always       bool   // save also when nothing changed (manual, safety)
	Agent        string
	AgentSession string
	Transcript   string
	LetGo        func() time.Time        // as in BeginRequest; a save for which the agent does not wait any more comes late
	With         []TurnID                // turns of other panes that were open in the work tree while this one was
	Named        []string                // files that the turn's tools named, relative to the root
	Since        time.Time               // when the turn began; with it, a turn that changed left-out places alone says so
	Progress     func(done, total int64) // is told how many files are stored; may be nil
}

// SaveResult tells what a save did.
type SaveResult struct {
	Checkpoint *Checkpoint // nil: nothing had changed
	Tree       string      // the work tree as saved or seen
	NotCovered []LeftOut   // nothing else changed than these left-out places
	Together   int         // nothing changed since the base, which was seen late: the turn with which it may have been saved
}
