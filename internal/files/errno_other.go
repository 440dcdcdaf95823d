//go:build !unix

package files

import (
	"errors"
	"io/fs"
)

// IsNoSpace tells whether err says that a disk or a quota is full.
func IsNoSpace(error) bool { return false }

// IsReadOnly tells whether err says that something may not be written.
func IsReadOnly(err error) bool { return errors.Is(err, fs.ErrPermission) }
