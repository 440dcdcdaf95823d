//go:build unix

package transcript

import (
	"io/fs"
	"os"
	"syscall"
)

// notWaiting keeps the opening of a FIFO from waiting for its writer.
const notWaiting = syscall.O_NONBLOCK

// ours says whether a file is this user's.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
