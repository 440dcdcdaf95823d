//go:build unix

package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Lock is a held lock file. The system lets go of it when the process ends,
// however it ends, so a pid in a file is never asked.
type Lock struct{ file *os.File }

// TryLock takes the lock at path, without waiting. It makes the file when it is
// absent and never removes it. Held by another: nil, and no error.
func TryLock(path string) (*Lock, error) {
	for {
		fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the lock %s: %w", path, err)
		}
		f := os.NewFile(uintptr(fd), path)
		held, err := flock(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if held {
			return nil, f.Close()
		}
		if isAt(f, path) {
			return &Lock{file: f}, nil
		}
		// Somebody removed the file in between: the lock on it is worth nothing.
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// flock locks f; held: another has it.
func flock(f *os.File) (held bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		default:
			return false, err
		}
	}
}

// isAt tells whether f is the file that others find at path.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, there)
}

// File is the lock as another program can inherit it: it is held until that has
// ended too.
func (l *Lock) File() *os.File { return l.file }

// Unlock lets go.
func (l *Lock) Unlock() error { return l.file.Close() }
