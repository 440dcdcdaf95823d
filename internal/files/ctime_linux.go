package files

import (
	"io/fs"
	"syscall"
	"time"
)

// ChangeTime is when a file or what is known of it was last changed.
func ChangeTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
