package fail

import (
	"context"
	"errors"
	"fmt"

	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/restore"
)

// Stopped gives the error of a run that was taken back its code; edited names
// files that were edited meanwhile and stay as they are.
func Stopped(err error, edited []string) error {
	var pe *restore.PathError
	if !errors.As(err, &pe) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return &Error{Code: Timeout, Message: "the restore was stopped; nothing was restored", Detail: "run it again", Paths: edited, Err: err}
		}
		return err
	}
	var kept *restore.KeptError
	more := ""
	if errors.As(err, &kept) {
		more = "; " + kept.Error()
	}
	switch {
	case errors.Is(err, restore.ErrChanged), errors.Is(err, restore.ErrBlocked):
		return &Error{
			Code: ChangedMeanwhile, Message: fmt.Sprintf("%q was changed while the restore ran; nothing was restored%s", pe.Path, more),
			Detail: "stop what writes there, then restore again", Paths: append([]string{pe.Path}, edited...), Err: err,
		}
	case files.IsNoSpace(err):
		return &Error{
			Code: DiskFull, Message: fmt.Sprintf("no room on the disk to write %q; nothing was restored", pe.Path),
			Detail: "make room, then restore again; the safety checkpoint stays", Paths: []string{pe.Path}, Err: err,
		}
	}
	return &Error{
		Code: GitFailed, Message: fmt.Sprintf("cannot write %q: %v; nothing was restored", pe.Path, pe.Err),
		Detail: "make the file writable, then restore again", Paths: []string{pe.Path}, Err: err,
	}
}
