//go:build unix

package restore

import "golang.org/x/sys/unix"

// renameByLink renames without ever replacing: a second name, then the first
// one away. Where links cannot be made, it looks before it renames.
func renameByLink(fromDir int, from string, toDir int, to string) error {
	err := unix.Linkat(fromDir, from, toDir, to, 0)
	if err == nil {
		return unix.Unlinkat(fromDir, from, 0)
	}
	if err != unix.EPERM && err != unix.ENOTSUP && err != unix.EMLINK {
		return err
	}
	var st unix.Stat_t
	if unix.Fstatat(toDir, to, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return unix.EEXIST
	}
	return unix.Renameat(fromDir, from, toDir, to)
}
