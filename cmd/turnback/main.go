// Command turnback saves, shows and takes back the turns of coding agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/turnback/turnback/internal/assembly"
	"github.com/turnback/turnback/internal/cli"
)

// lastGrace is how long a command may tidy up after a signal until a second
// signal ends it at once.
const lastGrace = 5 * time.Second

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(lastGrace, stop) })
	// A reader that goes away must not end the process before it has tidied up.
	// Caught and not ignored, since what is ignored stays so in every child.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	p := assembly.Process{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: os.Getwd, Executable: os.Executable,
		PID: os.Getpid(), UID: os.Getuid(), TempDir: os.TempDir(), Now: time.Now,
	}
	return cli.Execute(ctx, p.Deps(), os.Args[1:])
}

// endings are the signals that end a command in order. A hangup that the caller
// wants ignored (nohup) stays ignored.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
