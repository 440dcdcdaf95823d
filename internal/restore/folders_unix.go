//go:build unix

package restore

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// parent opens the folder that path is in, below the root and without following
// links; folders that are missing are made if make says so.
func (a *applying) parent(path string, make bool) (dir int, name string, err error) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return a.root, path, nil
	}
	folder, name := path[:i], path[i+1:]
	if !a.OneByOne {
		dir, err = openBeneath(a.root, folder)
		if err == nil || !isNoBeneath(err) && !(make && errors.Is(err, unix.ENOENT)) {
			return dir, name, asBlocked(err, folder)
		}
	}
	dir, err = a.oneByOne(folder, make)
	return dir, name, err
}

// oneByOne opens a folder below the root component by component.
func (a *applying) oneByOne(path string, make bool) (int, error) {
	dir := a.root
	for name := range strings.SplitSeq(path, "/") {
		next, err := openDir(dir, name)
		if errors.Is(err, unix.ENOENT) && make {
			if err = unix.Mkdirat(dir, name, 0o777); err == nil || errors.Is(err, unix.EEXIST) {
				next, err = openDir(dir, name)
			}
		}
		a.closeDir(dir)
		if err != nil {
			return -1, asBlocked(err, name)
		}
		dir = next
	}
	return dir, nil
}

// asBlocked gives the errors of a path in which something else than a folder
// stands their meaning.
func asBlocked(err error, name string) error {
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EXDEV) {
		return fmt.Errorf("%w: %q is no folder", ErrBlocked, name)
	}
	return err
}

func (a *applying) closeDir(dir int) {
	if dir != a.root {
		_ = unix.Close(dir)
	}
}

func openDir(at int, name string) (int, error) {
	for {
		fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
