//go:build unix

package ui

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// pollTime is how long wait waits, in milliseconds: what ends a console takes no
// longer to be seen.
const pollTime = 100

// wait says whether a file can be read without waiting.
func wait(f *os.File) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, pollTime)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}
