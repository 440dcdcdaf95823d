//go:build unix

package xec

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the program into a process group of its own and makes the end
// of its context end the whole group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
