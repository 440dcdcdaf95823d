package checkpoint_test

import (
	"os"

	"golang.org/x/sys/unix"
)

// setImmutable sets or clears the immutable flag of a file, as chattr +i does.
func setImmutable(path string, on bool) error {
	const flag = 0x10 // FS_IMMUTABLE_FL
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	if on {
		flags |= flag
	} else {
		flags &^= flag
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
}
