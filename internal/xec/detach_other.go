//go:build !unix

package xec

import (
	"errors"
	"fmt"
	"os"
)

// Detached is a program that lives on without its starter.
type Detached struct{ PID int }

// StartDetached cannot start a program of its own session here.
func StartDetached(path string, _, _ []string, _ *os.File) (Detached, error) {
	return Detached{}, fmt.Errorf("start %s: %w", path, errors.ErrUnsupported)
}

// Exited tells whether the program has ended.
func (d Detached) Exited() bool { return true }
