package checkpoint

import "github.com/turnback/turnback/checkpoint/fail"

// Failures that a person or a script acts on; see package fail.
type (
	Code  = fail.Code
	Error = fail.Error
)

// The codes of this package.
const (
	NoCheckpoint     = fail.NoCheckpoint
	WouldOverwrite   = fail.WouldOverwrite
	OthersChanged    = fail.OthersChanged
	EditedSince      = fail.EditedSince
	OtherWorktree    = fail.OtherWorktree
	HeadMoved        = fail.HeadMoved
	Damaged          = fail.Damaged
	Interrupted      = fail.Interrupted
	NotRepo          = fail.NotRepo
	InvalidParams    = fail.InvalidParams
	ChangedMeanwhile = fail.ChangedMeanwhile
	NothingToUndo    = fail.NothingToUndo
	ContentMissing   = fail.ContentMissing
	IndexBusy        = fail.IndexBusy
	Conflicts        = fail.Conflicts
	Sandboxed        = fail.Sandboxed
	GitFailed        = fail.GitFailed
	Timeout          = fail.Timeout
	DiskFull         = fail.DiskFull
)

// HasCode tells whether err is an *Error with code c.
func HasCode(err error, c Code) bool { return fail.HasCode(err, c) }
