package xec

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Attended runs a program in the caller's own place: it has the caller's
// streams, process group and terminal, and the signals that reach the caller
// alone are handed on. It returns the program's exit status, as shells have it
// (128 and more: a signal ended it), when the program has ended, and not before:
// c.Stall is not used, and nothing else ends it. The error says that it could
// not be started.
//
// The program also inherits what is held, of which any may be nil: what reads the
// other end of a pipe sees when the program has ended, and a lock is held until
// then, even when the caller was killed.
func Attended(c Command, stderr io.Writer, held []*os.File, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, stderr
	hold(cmd, held)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", c.Path, err)
	}
	ended, handed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(handed)
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // one that has just ended needs none
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	<-handed
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return 0, fmt.Errorf("%s: %w", c.Path, err)
	}
	return shellStatus(cmd.ProcessState), nil
}

// Pipe is the pipe to a process's input, for Attended; nil: the system gives
// pipes to their reader's starter alone.
func (p *Process) Pipe() *os.File { return p.pipe }

// Find looks for a program in the folders of path, a value of PATH, as a shell
// does, but for relative folders. A name with a slash is one below dir.
func Find(name, dir, path string) (string, error) { return find(name, dir, path) }
