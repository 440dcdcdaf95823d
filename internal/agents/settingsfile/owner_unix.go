//go:build unix

package settingsfile

import (
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file at path, if there is one. Only root
// can, and only for root does it matter: who else may write the file here owns
// it, or shares its folder.
func keepOwner(f *os.File, path string) error {
	info, err := os.Stat(path)
	if err != nil || os.Geteuid() != 0 {
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(stat.Uid), int(stat.Gid))
	}
	return nil
}
