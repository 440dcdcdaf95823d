//go:build unix

package api

import (
	"io/fs"
	"syscall"
)

// owner is the user id that a file belongs to; -1: not known.
func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
