//go:build unix

package xec

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// keeperScript waits for the id of a process group, and then for a word that says
// that the program has ended. When there comes none, who would have said it has died.
const keeperScript = `read -r group && { read -r word || kill -s KILL -- "-$group"; }`

// keeper is a small process that ends a program when this process has died, in
// whatever way: the system closes the pipe then.
type keeper struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// newKeeper starts one, before its program, so that none runs unkept.
func newKeeper() (*keeper, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command("/bin/sh", "-c", keeperScript)
	cmd.Stdin, cmd.Env, cmd.Dir = theirs, []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no signal of a terminal reaches it
	if err := cmd.Start(); err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("start what keeps it: %w", err)
	}
	return &keeper{cmd, ours}, nil
}

// keep says which process group is to be ended.
func (k *keeper) keep(group int) error {
	_, err := fmt.Fprintln(k.pipe, group)
	return err
}

// release says that there is nothing to end any more. A keeper that has no group
// yet ends too.
func (k *keeper) release() {
	_, _ = k.pipe.WriteString("ended\n") // one that was killed reads nothing
	_ = k.pipe.Close()
	_ = k.cmd.Wait()
}
