// Package record is what git keeps of a checkpoint and of a pane: commits with
// trailers under refs/turnback, read and written. It is the format that
// docs/format.md describes, and nothing of work trees.
package record

import "time"

// Kind says why a checkpoint was taken.
type Kind string

// The kinds of checkpoint.
const (
	KindTurn         Kind = "turn"
	KindStart        Kind = "start"
	KindSafety       Kind = "safety"
	KindManual       Kind = "manual"
	KindConversation Kind = "conversation"
)

// Reasons for which a path is left out of a checkpoint.
const (
	ReasonTooLarge    = "too large"
	ReasonTooMuchNew  = "too much new"
	ReasonUnreadable  = "unreadable"
	ReasonSubmodule   = "submodule"
	ReasonNestedRepo  = "nested repository"
	ReasonFilter      = "filter"
	ReasonNotRegular  = "not a regular file"
	ReasonNotStorable = "git cannot store it"
	ReasonLost        = "lost" // its content went from the repository after it was saved
)

// Pane identifies the owner of checkpoints. Its checkpoints live below
// refs/turnback/checkpoints/<ID>/.
type Pane struct {
	ID      string // 1 to 64 of [a-z0-9-]
	Window  string // the window's name, for people
	Session string // the session's name, for people
	Key     string // an adopted pane's key; empty for a pane of our own
}

// Base is what a turn started from.
type Base struct {
	Head   string // commit id; empty on an unborn branch
	Tree   string // tree id
	Disk   string // as that of a Checkpoint
	Number int    // the pane's checkpoint that has this tree; 0: none
	Name   string // as a person reads it: "checkpoint 2", "HEAD 1a2b3c4", "the work tree after restoring 1", "an empty tree"

	At time.Time // when the work tree was seen so; zero: not known
	// Uncertain are files that changed after the agent was let go and before the
	// work tree was seen: they may be the turn's own. At most 1,000; a checkpoint's
	// base has none, they are among the checkpoint's own.
	Uncertain []string
}

// TurnID names a turn of a pane.
type TurnID struct {
	Pane string `json:"pane"` // the pane's id
	Turn int    `json:"turn"`
}

// LeftOut is a path that a checkpoint does not hold.
type LeftOut struct {
	Path   string // relative to the root, raw bytes
	Reason string // one of the Reason constants
}

// Checkpoint is the saved state of a work tree, as read from its commit.
type Checkpoint struct {
	N            int
	Ref          string
	Commit       string
	Tree         string
	Head         string // empty on an unborn branch
	Branch       string // the branch HEAD was on, refs/heads/...; empty: detached
	Base         *Base  // nil: a kind without a base of its own
	Kind         Kind
	Pane         Pane
	Turn         int
	State        string
	Label        string
	Worktree     string
	At           time.Time
	Agent        string
	AgentSession string
	Transcript   string // the turn's place in the transcript, opaque here
	LeftOut      []LeftOut
	LeftOutCount int
	// Disk is a digest of what was on disk and is in no tree of git: permission bits,
	// empty folders, bytes; see BytesOf. Two checkpoints with the same tree and digest
	// are of the same files. Empty: not known.
	Disk   string
	Looked []string // what was looked for to be kept beside: beside.LookedModes and the like
	Late   bool
	// Uncertain are files that changed after the agent was let go and before the
	// work tree was seen, at the turn's start or its end: the first 20.
	Uncertain      []string
	UncertainCount int
	// With are the turns of other panes that were open in the same work tree while
	// this one was. Named are the first 20 of the files that the turn's own tools
	// named; none where With is empty.
	With       []TurnID
	Named      []string
	NamedCount int
	Damaged    string // why it cannot be used; empty: sound

	Beside     string // commit that keeps what is not in the tree; empty: nothing
	BaseCommit string // commit that keeps the base; empty: something else does
}

// NotSaved is a turn that has no checkpoint although it should.
type NotSaved struct {
	Turn   int
	Reason string
	At     time.Time
}
