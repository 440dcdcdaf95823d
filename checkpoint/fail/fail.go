// Package fail has the failures of package checkpoint: their codes and what to do.
package fail

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// Code names a kind of failure.
type Code string

// The codes of this package.
const (
	NoCheckpoint     Code = "no_checkpoint"
	WouldOverwrite   Code = "would_overwrite"
	OthersChanged    Code = "others_changed"
	EditedSince      Code = "edited_since"
	OtherWorktree    Code = "other_worktree"
	HeadMoved        Code = "head_moved"
	Damaged          Code = "damaged"
	Interrupted      Code = "interrupted"
	NotRepo          Code = "not_repo"
	InvalidParams    Code = "invalid_params"
	ChangedMeanwhile Code = "changed_meanwhile"
	NothingToUndo    Code = "nothing_to_undo"
	ContentMissing   Code = "content_missing"
	IndexBusy        Code = "index_busy"
	Conflicts        Code = "conflicts"
	Sandboxed        Code = "sandboxed"
	GitFailed        Code = "git_failed"
	Timeout          Code = "timeout"
	DiskFull         Code = "disk_full"
)

// Error is a failure that a person or a script acts on.
type Error struct {
	Code    Code
	Message string
	Detail  string   // what to do, one sentence, lower case, no full stop
	Command string   // a command that helps, without the program's name
	Paths   []string // the files that it is about, raw bytes
	Numbers []int    // NoCheckpoint: the checkpoints that there are
	Flags   []string // flags of the same command that go past the refusal, the one that changes least first: "--here"
	Err     error    // the cause, if any
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// HasCode tells whether err is an *Error with code c.
func HasCode(err error, c Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == c
}

// From gives every error of the rooms below a code.
func From(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	switch {
	case errors.Is(err, snapshot.ErrDiskFull), files.IsNoSpace(err), gitSays(err, "no space left"):
		return &Error{Code: DiskFull, Message: err.Error(), Detail: "nothing was changed; make room on the disk, then try again", Err: err}
	case errors.Is(err, git.ErrNotRepo):
		return &Error{Code: NotRepo, Message: err.Error(), Detail: "checkpoints need a git work tree; run git init there, or go to one", Err: err}
	case git.Stalled(err):
		return &Error{Code: Timeout, Message: err.Error(), Detail: "git made no progress and was ended; try again", Err: err}
	case git.LockedRef(err) != "":
		return &Error{
			Code: GitFailed, Message: fmt.Sprintf("the lock %s is held", git.LockedRef(err)), Paths: []string{git.LockedRef(err)}, Err: err,
			Detail: "try again; if no git runs in this repository, a killed one left that file: remove it",
		}
	case files.IsReadOnly(err), gitSays(err, "permission denied"), gitSays(err, "read-only file system"), gitSays(err, "insufficient permission"):
		return &Error{Code: Sandboxed, Message: err.Error(), Detail: "the git directory cannot be written from here; run the command outside the sandbox", Err: err}
	case gitSays(err, "reference broken"):
		return &Error{Code: Damaged, Message: err.Error(), Detail: "git cannot read this ref, as after a loss of power; the command moves it aside, no checkpoint goes with it", Command: "checkpoint verify --mend", Err: err}
	case gitSays(err, "dubious ownership"):
		return &Error{Code: GitFailed, Message: err.Error(), Detail: "git does not trust this directory's owner; see safe.directory in git help config", Err: err}
	}
	var ge *git.Error
	if errors.As(err, &ge) {
		return &Error{Code: GitFailed, Message: err.Error(), Err: err}
	}
	return err
}

func gitSays(err error, words string) bool {
	var ge *git.Error
	return errors.As(err, &ge) && strings.Contains(strings.ToLower(ge.Stderr), words)
}

// Broken says that checkpoint n is damaged, and why.
func Broken(n int, why string) *Error {
	return &Error{
		Code: Damaged, Message: fmt.Sprintf("checkpoint %d is damaged: %s", n, why),
		Detail: "it cannot be restored; take another one", Command: "checkpoint list",
	}
}

// IsBadPath tells whether a path or name was refused.
func IsBadPath(err error) bool { return errors.Is(err, git.ErrBadPath) }

// IsRefMoved tells whether a ref was not as a transaction expected.
func IsRefMoved(err error) bool { return errors.Is(err, git.ErrRefMoved) }

// Quoted quotes the first few of paths for a message.
func Quoted(paths []string) string {
	const few = 5
	var out []string
	for _, p := range paths[:min(few, len(paths))] {
		out = append(out, strconv.Quote(p))
	}
	if len(paths) > few {
		out = append(out, fmt.Sprintf("and %d more", len(paths)-few))
	}
	return strings.Join(out, ", ")
}

// CheckPaths refuses paths that name nothing in a work tree.
func CheckPaths(paths []string) error {
	for _, p := range paths {
		if err := git.CheckPath(strings.TrimSuffix(p, "/")); err != nil {
			return &Error{Code: InvalidParams, Message: fmt.Sprintf("%q is no path in the work tree", p), Detail: "paths are relative to the root of the work tree, without . and ..", Err: err}
		}
	}
	return nil
}
