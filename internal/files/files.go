// Package files replaces files as a whole and locks them against other
// processes.
package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Replace puts data in the place of the file at path, whole or not at all; mode
// 0600. It is not on the disk for good before the system sees fit.
func Replace(path string, data []byte) error { return replace(path, data, false) }

// ReplaceDurably is Replace, and returns only when the data are on the disk.
func ReplaceDurably(path string, data []byte) error { return replace(path, data, true) }

func replace(path string, data []byte, durably bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if durably && err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// WaitLock takes the lock at path as TryLock does, and waits for it as long as
// ctx allows.
func WaitLock(ctx context.Context, path string) (*Lock, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 25*time.Millisecond) {
		l, err := TryLock(path)
		if err != nil || l != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}
