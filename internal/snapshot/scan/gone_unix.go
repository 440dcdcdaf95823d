//go:build unix

package scan

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// isGone tells whether err says that no directory stands at a path.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// isClosed tells whether err says that what stands at a path cannot be had:
// it may not be read, or its path is longer than the system takes.
func isClosed(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENAMETOOLONG)
}
