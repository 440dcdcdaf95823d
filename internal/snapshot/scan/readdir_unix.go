//go:build unix

package scan

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// found is a name in a directory with its stat data.
type found struct {
	name string
	kind kind
	stat stat
}

// readDir reads the directory at path, whose last component must be no symbolic
// link. Names that vanish meanwhile are not in the result. With names known from
// an earlier time it only looks at those; the second result is then false when
// one of them is not there.
func readDir(path string, buf []byte, known []string) (list []found, complete bool, err error) {
	fd, err := openRetry(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = unix.Close(fd) }()
	names := known
	if known == nil {
		if names, err = readNames(fd, buf); err != nil {
			return nil, false, err
		}
	}
	list = make([]found, 0, len(names))
	for _, name := range names {
		var st unix.Stat_t
		err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		list = append(list, found{name: name, kind: kindOf(uint32(st.Mode)), stat: toStat(&st)})
	}
	return list, len(list) == len(names), nil
}

func readNames(fd int, buf []byte) ([]string, error) {
	names := make([]string, 0, 16)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func kindOf(mode uint32) kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return regular
	case unix.S_IFLNK:
		return link
	case unix.S_IFDIR:
		return directory
	default:
		return special
	}
}

// lstat gives the stat data at path; kind absent where nothing is there.
func lstat(path string) (kind, stat, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return absent, stat{}, nil
	}
	if err != nil {
		return absent, stat{}, err
	}
	return kindOf(uint32(st.Mode)), toStat(&st), nil
}

// readable tells whether the regular file at path can be opened for reading.
func readable(path string) error {
	fd, err := openRetry(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// openFile opens the regular file at path, whose last component must be no
// symbolic link; size is in bytes.
func openFile(path string) (file *os.File, size int64, err error) {
	fd, err := openRetry(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return nil, 0, err
	}
	file = os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && kindOf(uint32(st.Mode)) != regular {
		err = errNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, st.Size, nil
}
