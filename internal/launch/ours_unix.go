//go:build unix

package launch

import (
	"io/fs"
	"os"
	"syscall"
)

// ours says whether a file is this user's.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
