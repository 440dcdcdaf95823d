//go:build unix

package scan

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isGone tells whether err says that no directory stands at a path.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
