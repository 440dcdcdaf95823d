//go:build !unix

package scan

import (
	"errors"
	"io/fs"
)

// isGone tells whether err says that no directory stands at a path.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// isClosed tells whether err says that what stands at a path cannot be had.
func isClosed(err error) bool { return errors.Is(err, fs.ErrPermission) }
