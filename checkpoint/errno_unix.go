//go:build unix

package checkpoint

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

func isNoSpace(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

func isReadOnly(err error) bool {
	return errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission)
}
