package xec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Foreground runs a program as part of the caller's own job: it shares the
// caller's process group, so that it may read the terminal and an interrupt
// from the keyboard reaches it, and it has no deadline but ctx. A pager needs
// that. Everything else goes through Run. c.Stall is not used.
func Foreground(ctx context.Context, c Command, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, stderr
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", display(c), err)
	}
	err := cmd.Wait()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Name: display(c), Code: ee.ExitCode(), cause: context.Cause(ctx)}
	}
	return err
}
