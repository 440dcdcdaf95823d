//go:build unix

package settingsfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock waits until no other turnback changes settings. The lock's file stays.
func (f File) lock() (unlock func() error, err error) {
	if err := os.MkdirAll(f.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(f.StateDir, "setup.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take the lock: %w", err), file.Close())
	}
	return file.Close, nil
}
