package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/connect"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/terminal"
	"github.com/turnback/turnback/internal/tour"
)

// process is what this process has from its caller.
type process struct {
	streams screen.Streams
	environ []string
	program string // empty: unknown, no daemon can be started
}

func newProcess() process {
	p := process{
		streams: screen.FromFiles(os.Stdin, os.Stdout, os.Stderr),
		environ: os.Environ(),
	}
	if program, err := os.Executable(); err == nil {
		p.program = program
	}
	return p
}

func (p process) deps() cli.Deps {
	setup := p.setup()
	return cli.Deps{
		Streams:  p.streams,
		Environ:  p.environ,
		Getenv:   os.Getenv,
		Dir:      os.Getwd,
		Now:      time.Now,
		Version:  version(),
		Terminal: func() []string { return terminal.Identify(os.Getenv, os.Getpid()) },
		Parents:  parents,
		Connect: func(ctx context.Context, reach cli.Reach) (cli.Caller, error) {
			return connect.Connect(ctx, p.connectOptions(reach))
		},
		Events: func(ctx context.Context, each func(api.Event) error) error {
			return connect.Events(ctx, p.connectOptions(cli.StartDaemon), each)
		},
		StopDaemon: func(ctx context.Context) (api.StopDaemonResult, error) {
			return connect.Stop(ctx, p.connectOptions(cli.DialOnly))
		},
		RunDaemon:   p.runDaemon,
		LogFile:     logFile,
		Tour:        p.tour,
		Git:         p.git,
		GitSetting:  p.gitSetting,
		AgentChecks: setup.ClaudeFindings,
		Commands:    []*cobra.Command{p.hook(), cli.NewSetupCommand(setup)},
		Page: func(ctx context.Context, pager string, in io.Reader) error {
			return screen.Page(ctx, pager, in, p.streams, p.environ)
		},
	}
}

func parents() []int {
	var pids []int
	for _, p := range terminal.Ancestors(os.Getpid()) {
		pids = append(pids, p.PID)
	}
	return pids
}

func (p process) setup() cli.SetupDeps {
	return cli.SetupDeps{
		Streams: p.streams, Getenv: os.Getenv, Dir: os.Getwd, Executable: os.Executable, Now: time.Now,
		StateDir: stateDir(),
	}
}

func (p process) hook() *cobra.Command {
	return cli.NewHookCommand(cli.HookDeps{
		In: p.streams.In, Out: p.streams.Out, Err: p.streams.Err,
		Getenv: os.Getenv, Dir: os.Getwd, Now: time.Now, PID: os.Getpid(),
		StateDir: stateDir(), Adapters: cli.HookAdapters(),
		Connect: func(ctx context.Context) (cli.Caller, error) {
			return connect.Connect(ctx, p.connectOptions(cli.StartDaemon))
		},
	})
}

// stateDir is the state folder; empty: there is no place for one.
func stateDir() string {
	dir, err := daemon.StateDir(os.Getenv)
	if err != nil {
		return ""
	}
	return dir
}

func (p process) connectOptions(reach cli.Reach) connect.Options {
	return connect.Options{
		Environ:    p.environ,
		UID:        os.Getuid(),
		Executable: p.program,
		NoStart:    reach == cli.DialOnly,
	}
}

func (p process) runDaemon(ctx context.Context) error {
	o, err := daemon.FromEnviron(p.environ, os.Getuid(), version().Version, time.Now)
	if err != nil {
		return err
	}
	d, err := daemon.New(o)
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

func (p process) tour(ctx context.Context, o cli.TourOptions) error {
	g, err := p.git(ctx)
	if err != nil {
		return fmt.Errorf("the tour needs git: %w", err)
	}
	return tour.Run(ctx, tour.Options{
		In: p.streams.In, Out: p.streams.Out, Err: p.streams.Err, Pause: !o.Straight,
		Colour:  screen.Colour("auto", p.streams.OutTerminal, os.Getenv),
		Program: p.program, Git: g.Path, Environ: p.environ, TempDir: os.TempDir(),
	})
}

func (p process) git(ctx context.Context) (cli.Git, error) {
	g := cli.Git{Oldest: git.Oldest().Text}
	found, err := git.Find(ctx, git.FindOptions{Env: p.environ})
	if err != nil {
		return g, err
	}
	g.Path, g.Version = found.Path(), found.Version().Text
	return g, nil
}

// gitSetting reads a value of git's configuration as it holds in dir.
func (p process) gitSetting(ctx context.Context, dir, key string) string {
	g, err := git.Find(ctx, git.FindOptions{Env: p.environ})
	if err != nil {
		return ""
	}
	repo, err := g.Open(ctx, dir)
	if err != nil {
		return ""
	}
	settings, err := repo.Settings(ctx, "^"+key+"$")
	if err != nil {
		return ""
	}
	return settings[key]
}

func logFile() (string, error) {
	dir, err := daemon.StateDir(os.Getenv)
	return daemon.LogPath(dir), err
}

func version() cli.Version {
	info, _ := debug.ReadBuildInfo()
	return cli.VersionOf(info)
}
