//go:build unix

package quarantine

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isCrossDevice tells whether a rename failed because the places are on two disks.
func isCrossDevice(err error) bool { return errors.Is(err, unix.EXDEV) }
