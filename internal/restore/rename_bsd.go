//go:build unix && !linux && !darwin

package restore

import "golang.org/x/sys/unix"

func exchange(int, string, string) error { return unix.ENOTSUP }

func renameNew(fromDir int, from string, toDir int, to string) error {
	return renameByLink(fromDir, from, toDir, to)
}

func notSupported(err error) bool { return err == unix.ENOTSUP }
