//go:build !unix

package terminal

import "os"

func exists(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
