// Package api holds the wire types of the daemon's verbs and the client that
// calls them. Types change only by adding fields. It imports nothing of ours,
// so any face (command line, hook, script in Go) can use it.
package api

import (
	"errors"
	"fmt"
)

// Code names a kind of failure. Codes are part of the contract: a script may
// switch on them.
type Code string

// The codes, as docs/json.md lists them.
const (
	CodeNoCheckpoint     Code = "no_checkpoint"
	CodeNotReady         Code = "not_ready"
	CodeWouldOverwrite   Code = "would_overwrite"
	CodeOthersChanged    Code = "others_changed"
	CodeEditedSince      Code = "edited_since"
	CodeOtherWorktree    Code = "other_worktree"
	CodeHeadMoved        Code = "head_moved"
	CodeDamaged          Code = "damaged"
	CodeInterrupted      Code = "interrupted"
	CodeNotRepo          Code = "not_repo"
	CodeSessionNotFound  Code = "session_not_found"
	CodeWindowNotFound   Code = "window_not_found"
	CodeAmbiguousWindow  Code = "ambiguous_window"
	CodeForbidden        Code = "forbidden"
	CodeInvalidParams    Code = "invalid_params"
	CodeChangedMeanwhile Code = "changed_meanwhile"
	CodeContentMissing   Code = "content_missing"
	CodeIndexBusy        Code = "index_busy"
	CodeConflicts        Code = "conflicts"
	CodeNothingToUndo    Code = "nothing_to_undo"
	CodeWorktreeDirty    Code = "worktree_dirty"
	CodeSandboxed        Code = "sandboxed"
	CodeGitFailed        Code = "git_failed"
	CodeTimeout          Code = "timeout"
	CodeDiskFull         Code = "disk_full"
	CodeNoDaemon         Code = "no_daemon"
	CodeUnknownVerb      Code = "unknown_verb"
	CodeUnsupported      Code = "unsupported"
	CodeNoKey            Code = "no_key"
	CodeModelFailed      Code = "model_failed"
	CodeInternal         Code = "internal"
)

// ExitStatus is the process exit status of a command that fails with c:
// 2 for wrong usage, 3 when a daemon was needed and none could be had, 4 for a
// refusal, 1 for everything else.
func (c Code) ExitStatus() int {
	switch c {
	case CodeInvalidParams:
		return 2
	case CodeNoDaemon:
		return 3
	case CodeForbidden, CodeNotReady, CodeWouldOverwrite, CodeOthersChanged, CodeEditedSince,
		CodeOtherWorktree, CodeHeadMoved, CodeDamaged, CodeInterrupted, CodeWorktreeDirty,
		CodeChangedMeanwhile, CodeContentMissing, CodeIndexBusy, CodeConflicts:
		return 4
	default:
		return 1
	}
}

// Hint says what to do about an error, as data. The command line prints it as
// one line below the error.
type Hint struct {
	Command    string   `json:"command,omitempty"`      // a command line that helps
	Param      string   `json:"param,omitempty"`        // the parameter at fault
	Accepted   []string `json:"accepted,omitempty"`     // values that would be accepted
	DidYouMean string   `json:"did_you_mean,omitempty"` // the nearest accepted value
	Available  []string `json:"available,omitempty"`    // what there is (numbers, names, paths)
	Detail     string   `json:"detail,omitempty"`       // one sentence, lower case, no full stop
}

// Error is the failure of a verb as it goes over the wire.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    *Hint  `json:"hint,omitempty"`
}

// Error returns the message alone; the code and the hint are data.
func (e *Error) Error() string { return e.Message }

// Errorf makes an Error without a hint.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy of e that carries h.
func (e *Error) WithHint(h Hint) *Error {
	c := *e
	c.Hint = &h
	return &c
}

// AsError finds the Error in err's chain; any other error becomes one with
// CodeInternal, so that a caller always has a code to act on.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}
