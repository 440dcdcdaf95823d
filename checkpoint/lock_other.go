//go:build !unix

package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// lockFile takes the lock at path. Here it is a file that must not exist; one
// that a killed process left has to be removed by hand.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(path+".held", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return func() { _ = f.Close(); _ = os.Remove(f.Name()) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(25 * time.Millisecond):
		}
	}
}
