//go:build unix

package payload

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// polled waits until its file has something to read, or the deadline is over.
// Standard input cannot be given a read deadline, and a goroutine that reads it
// could not be ended.
type polled struct {
	file     *os.File
	deadline time.Time
}

func (p polled) Read(b []byte) (int, error) {
	for {
		left := time.Until(p.deadline)
		if left <= 0 {
			return 0, ErrTimeout
		}
		fds := []unix.PollFd{{Fd: int32(p.file.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(left.Milliseconds())+1)
		switch {
		case errors.Is(err, unix.EINTR), err == nil && n == 0:
		case err != nil:
			return 0, os.NewSyscallError("poll", err)
		default:
			return p.file.Read(b)
		}
	}
}
