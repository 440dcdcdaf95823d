// Package xec runs other programs. It is the only place that does: every child
// gets a process group of its own, a deadline, and its standard error is kept.
package xec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// DefaultStall is how long a program may run without reading its input or
// writing output before it is ended.
const DefaultStall = 30 * time.Second

// keptStderr bounds how much of a program's standard error is kept.
const keptStderr = 16 << 10

// Command describes a program to run.
type Command struct {
	Path   string        // absolute path of the program
	Args   []string      // arguments, without the program's name
	Dir    string        // working directory
	Env    []string      // the whole environment
	Stdin  io.Reader     // nil: empty
	Stdout io.Writer     // nil: discarded
	Stall  time.Duration // 0: DefaultStall

	// Tied programs end with this process, even when that is killed; with them all
	// of their process group. It costs a small process more.
	Tied bool
}

// ErrStalled is the cause of an error when a program made no progress in time.
var ErrStalled = errors.New("no progress")

// ErrHeld says that a program has ended with status 0, and something that it left
// running holds its output: what that writes from then on goes nowhere.
var ErrHeld = errors.New("a program that was left running holds the output")

// ExitError says that a program ended with a status other than 0, or was ended.
type ExitError struct {
	Name   string // the program and its first words, for people
	Code   int    // exit status; -1 when it was killed
	Stderr string // the start of its standard error, trimmed
	cause  error
}

// Error tells the program, how it ended, and the first line of what it said.
func (e *ExitError) Error() string {
	first, _, _ := strings.Cut(e.Stderr, "\n")
	how := fmt.Sprintf("exit status %d", e.Code)
	if e.cause != nil {
		how = e.cause.Error()
	}
	if first == "" {
		return e.Name + ": " + how
	}
	return e.Name + ": " + how + ": " + first
}

// Unwrap gives ErrStalled or the context's error when one of them ended the program.
func (e *ExitError) Unwrap() error { return e.cause }

// Run runs c to its end. It returns nil only for exit status 0, and otherwise
// an *ExitError, ErrHeld, or the error that kept the program from starting.
func Run(ctx context.Context, c Command) error {
	p, err := start(ctx, c, true)
	if err != nil {
		return err
	}
	return p.Wait()
}

// Process is a running program whose pipes the caller owns.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.Reader

	cmd    *exec.Cmd
	pipe   *os.File // the other end of its input
	name   string
	stderr *headBuffer
	stop   context.CancelCauseFunc
	watch  *watchdog
	keeper *keeper // nil: it is not tied
}

// Start runs c with pipes for input and output; c.Stdin and c.Stdout are not
// used. The caller reads Stdout to its end, or calls Kill, and then Wait.
func Start(ctx context.Context, c Command) (*Process, error) { return start(ctx, c, false) }

func start(ctx context.Context, c Command, own bool) (*Process, error) {
	stall := c.Stall
	if stall == 0 {
		stall = DefaultStall
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p := &Process{name: display(c), stderr: &headBuffer{max: keptStderr}, stop: cancel, watch: newWatchdog(stall, cancel)}
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stderr = c.Dir, c.Env, p.stderr
	cmd.WaitDelay = 2 * time.Second
	ownGroup(cmd)
	p.cmd = cmd
	var err error
	if own {
		if c.Stdin != nil {
			cmd.Stdin = countingReader{c.Stdin, p.watch}
		}
		cmd.Stdout = countingWriter{c.Stdout, p.watch}
	} else {
		err = p.openPipes()
	}
	if err == nil && c.Tied {
		p.keeper, err = newKeeper()
	}
	if err == nil {
		err = p.begin()
	}
	if err != nil {
		p.watch.stop()
		cancel(nil)
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	context.AfterFunc(ctx, func() { p.watch.stop() })
	p.watch.ctx = ctx
	return p, nil
}

// begin starts the program, and has it kept.
func (p *Process) begin() error {
	err := p.cmd.Start()
	if p.keeper == nil {
		return err
	}
	if err == nil {
		err = p.keeper.keep(p.cmd.Process.Pid)
		if err == nil {
			return nil
		}
		p.stop(err)
		_ = p.cmd.Wait() // it was ended
	}
	p.keeper.release()
	return err
}

func (p *Process) openPipes() error {
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.pipe, _ = in.(*os.File)
	p.Stdin, p.Stdout = countingWriteCloser{in, p.watch}, countingReader{out, p.watch}
	return nil
}

// Kill ends the program's whole process group.
func (p *Process) Kill() { p.stop(context.Canceled) }

// Wait waits for the program's end; see Run for the error.
func (p *Process) Wait() error {
	err := p.cmd.Wait()
	if p.keeper != nil {
		p.keeper.release()
	}
	cause := context.Cause(p.watch.ctx)
	p.watch.stop()
	p.stop(nil)
	if err == nil {
		return nil
	}
	exit := &ExitError{Name: p.name, Code: -1, Stderr: strings.TrimSpace(p.stderr.String()), cause: cause}
	var ee *exec.ExitError
	switch {
	case errors.As(err, &ee):
		exit.Code = ee.ExitCode()
	case cause == nil && errors.Is(err, exec.ErrWaitDelay):
		return fmt.Errorf("%s: %w", p.name, ErrHeld)
	case cause == nil:
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return exit
}

// Rest says that nothing is expected of the program until Expect: its silence
// means nothing then.
func (p *Process) Rest() { p.watch.resting.Store(true) }

// Expect says that the program has something to answer again.
func (p *Process) Expect() {
	p.watch.moved.Add(1)
	p.watch.resting.Store(false)
}

// Stderr is what the program has written to its standard error so far, from the start.
func (p *Process) Stderr() string { return p.stderr.String() }

// display names a command for people: the program and its words up to the
// first option that is not git's -c.
func display(c Command) string {
	name := c.Path[strings.LastIndexByte(c.Path, '/')+1:]
	for i := 0; i < len(c.Args); i++ {
		if c.Args[i] == "-c" || c.Args[i] == "-C" {
			i++
			continue
		}
		if strings.HasPrefix(c.Args[i], "-") {
			continue
		}
		return name + " " + c.Args[i]
	}
	return name
}

// headBuffer keeps the first max bytes of what is written to it.
type headBuffer struct {
	buf bytes.Buffer
	max int
}

func (b *headBuffer) Write(p []byte) (int, error) {
	if room := b.max - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *headBuffer) String() string { return b.buf.String() }

// watchdog cancels a program that moves no byte for a while.
type watchdog struct {
	ctx     context.Context
	limit   time.Duration
	timer   *time.Timer
	moved   atomic.Int64
	resting atomic.Bool
	seen    int64
	quit    context.CancelCauseFunc
}

func newWatchdog(limit time.Duration, quit context.CancelCauseFunc) *watchdog {
	w := &watchdog{limit: limit, quit: quit}
	w.timer = time.AfterFunc(limit, w.check)
	return w
}

func (w *watchdog) check() {
	if now := w.moved.Load(); now != w.seen || w.resting.Load() {
		w.seen = now
		w.timer.Reset(w.limit)
		return
	}
	w.quit(fmt.Errorf("%w for %s", ErrStalled, w.limit))
}

func (w *watchdog) stop() { w.timer.Stop() }

type countingReader struct {
	r io.Reader
	w *watchdog
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.w.moved.Add(int64(n))
	return n, err
}

type countingWriter struct {
	out io.Writer
	w   *watchdog
}

func (c countingWriter) Write(p []byte) (int, error) {
	c.w.moved.Add(int64(len(p)))
	if c.out == nil {
		return len(p), nil
	}
	return c.out.Write(p)
}

type countingWriteCloser struct {
	out io.WriteCloser
	w   *watchdog
}

func (c countingWriteCloser) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	c.w.moved.Add(int64(n))
	return n, err
}

func (c countingWriteCloser) Close() error { return c.out.Close() }
