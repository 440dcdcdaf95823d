package restore

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Flags of renameatx_np, from sys/stdio.h.
const (
	renameSwap = 0x2
	renameExcl = 0x4
)

// exchange swaps two names of a folder at once.
func exchange(dir int, a, b string) error { return unix.RenameatxNp(dir, a, dir, b, renameSwap) }

// renameNew renames, and fails with EEXIST where the new name is taken.
func renameNew(fromDir int, from string, toDir int, to string) error {
	err := unix.RenameatxNp(fromDir, from, toDir, to, renameExcl)
	if !notSupported(err) {
		return err
	}
	return renameByLink(fromDir, from, toDir, to)
}

func notSupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP)
}
