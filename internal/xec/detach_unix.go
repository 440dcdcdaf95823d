//go:build unix

package xec

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Detached is a program that lives on without its starter.
type Detached struct{ PID int }

// StartDetached starts a program in a session of its own, in the folder /, with
// nothing of the starter's: its input and output are /dev/null, its standard
// error is logFile (nil: /dev/null too), and no other descriptor is inherited,
// not even one that the starter was given itself and does not know of.
func StartDetached(path string, args, env []string, logFile *os.File) (Detached, error) {
	if err := keepDescriptors(); err != nil {
		return Detached{}, fmt.Errorf("start %s: %w", path, err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = "/", env
	if logFile != nil {
		cmd.Stderr = logFile
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Detached{}, fmt.Errorf("start %s: %w", path, err)
	}
	d := Detached{PID: cmd.Process.Pid}
	if err := cmd.Process.Release(); err != nil {
		return d, fmt.Errorf("start %s: %w", path, err)
	}
	return d, nil
}

// Exited tells whether the program has ended, without waiting, and takes it off
// the system's table of processes when it has. After true it is not asked again.
func (d Detached) Exited() bool {
	var status unix.WaitStatus
	pid, err := unix.Wait4(d.PID, &status, unix.WNOHANG, nil)
	return pid == d.PID || err == unix.ECHILD
}

// keepDescriptors marks every descriptor past standard error, so that no program
// started from here gets it. Those that os/exec hands over are copies.
func keepDescriptors() error {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
