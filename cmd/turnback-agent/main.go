// Command turnback-agent is `turnback agent`: turnback with our own agent in it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/assembly"
	"github.com/turnback/turnback/internal/cli"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/coder"
	"github.com/turnback/turnback/internal/coder/ui"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/terminal"
)

// lastGrace is how long the agent may take to end a turn after a signal until a
// second signal ends it at once.
const lastGrace = 200 * time.Millisecond

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(lastGrace, stop) })
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	p := assembly.Process{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: os.Getwd, Executable: beside,
		PID: os.Getpid(), UID: os.Getuid(), TempDir: os.TempDir(), Now: time.Now,
	}
	d := p.Deps()
	d.Agent = func(ctx context.Context, f command.AgentFlags) error { return agent(ctx, d, f) }
	return cli.Execute(ctx, d, append([]string{"agent"}, os.Args[1:]...))
}

// endings are the signals that end the agent in order. A hangup that the caller
// wants ignored (nohup) stays ignored.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// beside is the program turnback: the daemon is started from it.
func beside() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), "turnback"), nil
}

func agent(ctx context.Context, d command.Deps, f command.AgentFlags) error {
	// Here and not in turnback, which could hand on no more than arguments hold.
	prompt, err := coder.ReadPrompt(f.Prompt, d.Streams.In)
	if err != nil {
		return err
	}
	dir, err := d.Dir()
	if err != nil {
		return err
	}
	path, err := config.Path(d.Getenv)
	if err != nil {
		return err
	}
	c, err := config.Load(path)
	if err != nil {
		return err
	}
	sessions, err := session.Folder(d.Getenv)
	if err != nil {
		return err
	}
	caller, err := d.Connect(ctx, command.StartDaemon)
	if err != nil {
		return err
	}
	pid := os.Getpid()
	started, err := terminal.ProcessStart(pid)
	if err != nil {
		pid = 0 // this system does not tell; the session alone names the agent
	}
	return coder.Run(ctx, coder.Options{
		Flags: coder.Flags{
			Prompt: prompt, Headless: prompt != "", Model: f.Model, Resume: f.Resume, Continue: f.Continue, Fork: f.Fork,
			JSON: f.JSON, Yes: f.Yes, Conversation: f.Conversation, RewindFiles: f.RewindFiles,
		},
		Config: c, Terminal: person(d), Out: d.Streams.Out, Err: d.Streams.Err, OutTerminal: d.Streams.OutTerminal,
		Environ: d.Environ, Getenv: d.Getenv, Dir: dir, DataDir: sessions, Shell: coder.FindShell(), Now: d.Now,
		Caller: caller, PID: pid, Started: started,
		Place: api.Place{
			Dir: dir, PaneID: d.Getenv("TURNBACK_PANE_ID"), Ancestors: []int{os.Getpid()},
			TerminalKeys: terminal.IdentifyAgent(d.Getenv, os.Getpid()),
		},
		Worktree: func(ctx context.Context, dir string) (string, func(context.Context) ([]string, error)) {
			return worktree(ctx, d, c.Git, dir)
		},
	})
}

// person is the terminal to talk in.
func person(d command.Deps) ui.Terminal {
	if !d.Streams.InTerminal || !d.Streams.OutTerminal {
		return ui.Terminal{Out: io.Discard}
	}
	return ui.Terminal{In: os.Stdin, Out: os.Stdout, Colour: d.Getenv("NO_COLOR") == "" && d.Getenv("TERM") != "dumb"}
}

// worktree is the root around a directory, and what lists its files.
func worktree(ctx context.Context, d command.Deps, configured, dir string) (string, func(context.Context) ([]string, error)) {
	g, err := git.Find(ctx, git.FindOptions{Env: d.Environ, Configured: configured})
	if err != nil {
		return "", nil
	}
	repo, err := g.Open(ctx, dir)
	if err != nil || repo.Worktree == "" {
		return "", nil
	}
	return repo.Worktree, func(ctx context.Context) ([]string, error) {
		index := repo.UserIndex()
		entries, err := repo.IndexEntries(ctx, index)
		if err != nil {
			return nil, err
		}
		files, err := repo.Untracked(ctx, index)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			files = append(files, e.Path)
		}
		return files, nil
	}
}
