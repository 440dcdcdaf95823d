//go:build !unix

package checkpoint

import (
	"errors"
	"io/fs"
)

func isNoSpace(error) bool { return false }

func isReadOnly(err error) bool { return errors.Is(err, fs.ErrPermission) }
