//go:build !unix

package files

import (
	"errors"
	"fmt"
	"os"
)

// Lock is a held lock file.
type Lock struct{}

// TryLock has no way to lock here, so no daemon runs.
func TryLock(path string) (*Lock, error) {
	return nil, fmt.Errorf("lock %s: %w", path, errors.ErrUnsupported)
}

// File is nothing here.
func (l *Lock) File() *os.File { return nil }

// Unlock lets go.
func (l *Lock) Unlock() error { return nil }
