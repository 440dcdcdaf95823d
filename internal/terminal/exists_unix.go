//go:build unix

package terminal

import (
	"errors"
	"syscall"
)

func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
