package restore

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two names of a folder at once.
func exchange(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}

// renameNew renames, and fails with EEXIST where the new name is taken.
func renameNew(fromDir int, from string, toDir int, to string) error {
	err := unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
	if !notSupported(err) {
		return err
	}
	return renameByLink(fromDir, from, toDir, to)
}

func notSupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}
