//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package session

import (
	"errors"
	"os"
)

// tryLock has no way to lock here.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
