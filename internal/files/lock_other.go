//go:build !unix

package files

import (
	"errors"
	"fmt"
)

// Lock is a held lock file.
type Lock struct{}

// TryLock has no way to lock here, so no daemon runs.
func TryLock(path string) (*Lock, error) {
	return nil, fmt.Errorf("lock %s: %w", path, errors.ErrUnsupported)
}

// Unlock lets go.
func (l *Lock) Unlock() error { return nil }
