//go:build unix

package restore

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// samePerm tells whether a regular file with a mode as lstat gives it has the
// permission bits of f; where those are not known, the one that git keeps counts.
func (r *Run) samePerm(f File, mode uint32) bool {
	switch {
	case !r.FileMode:
		return true
	case f.Perm != 0:
		return mode&permBits == f.Perm&permBits
	}
	return (f.Mode == modeExec) == (mode&0o100 != 0)
}

// newPerm gives the permission bits for op's new file, with S_IFREG: its own where
// they are known; else those of the file it replaces, with the executable bits that
// the new mode asks for. 0: none there.
func (a *applying) newPerm(dir int, name string, op Op) uint32 {
	if a.FileMode && op.New.Perm != 0 {
		return op.New.Perm
	}
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return 0
	}
	perm := uint32(st.Mode) & permBits
	switch {
	case !a.FileMode:
	case op.New.Mode == modeExec:
		perm |= perm & 0o444 >> 2
	default:
		perm &^= 0o111
	}
	return unix.S_IFREG | perm
}

// chmod carries op out where it changes nothing but permission bits: the file keeps
// its inode and its times. One with further names is left to be swapped, so that
// those keep their bits. Setuid, setgid and sticky stay as they are.
func (a *applying) chmod(dir int, name string, op Op) (done bool, err error) {
	if !a.FileMode || op.Old.Perm == 0 || op.New.Perm == 0 || !op.Old.sameBytes(op.New) {
		return false, nil
	}
	fd, err := unix.Openat(dir, name, openForChmod, 0)
	if err != nil {
		return false, nil // whatever it is: the swap finds out
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return true, err
	case uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG, st.Nlink > 1:
		return false, nil
	case uint32(st.Mode)&permBits != op.Old.Perm&permBits:
		return true, fmt.Errorf("%w: it has mode %o now", ErrChanged, uint32(st.Mode)&permBits)
	}
	err = unix.Fchmod(fd, uint32(st.Mode)&^(unix.S_IFMT|permBits)|op.New.Perm&permBits)
	if errors.Is(err, unix.EPERM) {
		return false, nil
	}
	return true, err
}

const openForChmod = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
