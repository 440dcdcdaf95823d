//go:build unix

package files

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// IsNoSpace tells whether err says that a disk or a quota is full.
func IsNoSpace(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// IsReadOnly tells whether err says that something may not be written.
func IsReadOnly(err error) bool {
	return errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission)
}
