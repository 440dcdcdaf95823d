//go:build !linux && !darwin && !freebsd && !netbsd

package files

import (
	"io/fs"
	"time"
)

// ChangeTime is when a file was last changed.
func ChangeTime(info fs.FileInfo) time.Time { return info.ModTime() }
