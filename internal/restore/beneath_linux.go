package restore

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openBeneath opens the folder at path below the folder at, in one go: no link
// is followed in any component, and nothing leads out of at. Mounts inside the
// tree are a part of it. It fails with an error that isNoBeneath knows where the
// kernel cannot do that, or may not.
func openBeneath(at int, path string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		fd, err := unix.Openat2(at, path, &how)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// isNoBeneath tells whether err says that openBeneath is not to be had: an old
// kernel, or a sandbox that does not know the call. EAGAIN says that something
// was renamed while the kernel looked.
func isNoBeneath(err error) bool {
	for _, e := range []error{unix.ENOSYS, unix.EPERM, unix.EINVAL, unix.E2BIG, unix.EAGAIN, unix.EOPNOTSUPP} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
