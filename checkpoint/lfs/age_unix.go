//go:build unix

package lfs

import (
	"io/fs"
	"syscall"
	"time"
)

// keptAt is when a file last got a name or was marked as needed.
func keptAt(st fs.FileInfo) time.Time {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return changeTime(sys)
	}
	return st.ModTime()
}
