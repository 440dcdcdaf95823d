// Package assembly puts the rooms together into the program turnback: what a
// command needs of the process it runs in, and which room gives it.
package assembly

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/connect"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/locate"
	"github.com/turnback/turnback/internal/launch"
	"github.com/turnback/turnback/internal/proxy"
	"github.com/turnback/turnback/internal/terminal"
	"github.com/turnback/turnback/internal/tour"
)

// Process is what a process has from its caller and its system.
type Process struct {
	Stdin, Stdout, Stderr *os.File
	Environ               []string // as os.Environ gives it
	Dir                   func() (string, error)
	Executable            func() (string, error)
	PID, UID              int
	TempDir               string
	Now                   func() time.Time
}

func (p Process) streams() screen.Streams { return screen.FromFiles(p.Stdin, p.Stdout, p.Stderr) }

func (p Process) getenv(name string) string { return daemon.Getenv(p.Environ)(name) }

// program is turnback's own program; empty: unknown, no daemon can be started.
func (p Process) program() string {
	path, err := p.Executable()
	if err != nil {
		return ""
	}
	return path
}

// Deps are what the commands need.
func (p Process) Deps() command.Deps {
	setup := p.setup()
	return command.Deps{
		Streams:  p.streams(),
		Environ:  p.Environ,
		Getenv:   p.getenv,
		Dir:      p.Dir,
		Now:      p.Now,
		Version:  version(),
		Terminal: func() []string { return terminal.Identify(p.getenv, p.PID) },
		Parents:  p.parents,
		Connect: func(ctx context.Context, reach command.Reach) (command.Caller, error) {
			return connect.Connect(ctx, p.connectOptions(reach))
		},
		Events: func(ctx context.Context, each func(api.Event) error) error {
			return connect.Events(ctx, p.connectOptions(command.StartDaemon), each)
		},
		StopDaemon: func(ctx context.Context) (api.StopDaemonResult, error) {
			return connect.Stop(ctx, p.connectOptions(command.DialOnly))
		},
		RunDaemon:   p.runDaemon,
		LogFile:     p.logFile,
		Tour:        p.tour,
		Git:         p.git,
		GitSetting:  p.gitSetting,
		Agent:       p.agent,
		AgentChecks: setup.ClaudeFindings,
		Commands:    []*cobra.Command{p.hook(), cli.NewSetupCommand(setup), p.proxy(), p.run()},
		Page: func(ctx context.Context, pager string, in io.Reader) error {
			return screen.Page(ctx, pager, in, p.streams(), p.Environ)
		},
	}
}

func (p Process) parents() []int {
	var pids []int
	for _, up := range terminal.Ancestors(p.PID) {
		pids = append(pids, up.PID)
	}
	return pids
}

func (p Process) setup() cli.SetupDeps {
	return cli.SetupDeps{
		Streams: p.streams(), Getenv: p.getenv, Dir: p.Dir, Executable: p.Executable, Now: p.Now,
		StateDir: p.stateDir(),
	}
}

func (p Process) hook() *cobra.Command {
	return cli.NewHookCommand(cli.HookDeps{
		In: p.streams().In, Out: p.streams().Out, Err: p.streams().Err,
		Getenv: p.getenv, Dir: p.Dir, Now: p.Now, PID: p.PID,
		StateDir: p.stateDir(), Adapters: cli.HookAdapters(),
		Connect: func(ctx context.Context) (command.Caller, error) {
			return connect.Connect(ctx, p.connectOptions(command.StartDaemon))
		},
	})
}

// proxy is the command of that name. The HTTP proxy of the process's own
// environment is the agent's: both have the same caller.
func (p Process) proxy() *cobra.Command {
	return cli.NewProxyCommand(cli.ProxyDeps{
		In: p.streams().In, Out: p.streams().Out, Err: p.streams().Err, Getenv: p.getenv, Now: p.Now,
		Config:  p.config,
		Network: proxy.Network{Proxy: http.ProxyFromEnvironment, ExtraCA: p.getenv("NODE_EXTRA_CA_CERTS")},
		Connect: func(ctx context.Context, reach command.Reach) (command.Caller, error) {
			return connect.Connect(ctx, p.connectOptions(reach))
		},
	})
}

func (p Process) run() *cobra.Command {
	return cli.NewRunCommand(cli.RunDeps{
		In: p.Stdin, Out: p.Stdout, Err: p.Stderr, Environ: p.Environ, Getenv: p.getenv, Dir: p.Dir, Executable: p.Executable,
		TempDir: p.TempDir, Config: p.config, Managed: launch.ManagedFolder(runtime.GOOS),
		Signals: func() (<-chan os.Signal, func()) { return endings(p.streams().InTerminal) },
	})
}

// endings are the signals that are handed on to an agent. From the keyboard of a
// terminal they reach it by themselves.
func endings(terminal bool) (<-chan os.Signal, func()) {
	all, handed := make(chan os.Signal, 4), make(chan os.Signal, 4)
	signal.Notify(all, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			select {
			case s := <-all:
				if s == os.Interrupt && terminal {
					continue
				}
				select {
				case handed <- s:
				default: // nobody takes them: the agent ends
				}
			case <-done:
				return
			}
		}
	})
	return handed, func() {
		signal.Stop(all)
		close(done)
		waiting.Wait()
	}
}

func (p Process) config() (config.Config, error) {
	path, err := config.Path(p.getenv)
	if err != nil {
		return config.Default(), nil // no home, no file
	}
	return config.Load(path)
}

// stateDir is the state folder; empty: there is no place for one.
func (p Process) stateDir() string {
	dir, err := daemon.StateDir(p.getenv)
	if err != nil {
		return ""
	}
	return dir
}

func (p Process) connectOptions(reach command.Reach) connect.Options {
	return connect.Options{
		Environ:    p.Environ,
		UID:        p.UID,
		Executable: p.program(),
		NoStart:    reach == command.DialOnly,
	}
}

func (p Process) runDaemon(ctx context.Context) error {
	o, err := daemon.FromEnviron(p.Environ, p.UID, version().Version, p.Now)
	if err != nil {
		return err
	}
	d, err := daemon.New(o)
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

func (p Process) tour(ctx context.Context, o command.TourOptions) error {
	g, err := p.git(ctx)
	if err != nil {
		return fmt.Errorf("the tour needs git: %w", err)
	}
	return tour.Run(ctx, tour.Options{
		In: p.streams().In, Out: p.streams().Out, Err: p.streams().Err, Pause: !o.Straight,
		Colour:  screen.Colour("auto", p.streams().OutTerminal, p.getenv),
		Program: p.program(), Git: g.Path, Environ: p.Environ, TempDir: p.TempDir,
	})
}

func (p Process) git(ctx context.Context) (command.Git, error) {
	g := command.Git{Oldest: locate.Oldest().Text}
	found, err := git.Find(ctx, p.gitOptions())
	if err != nil {
		return g, err
	}
	g.Path, g.Version = found.Path(), found.Version().Text
	return g, nil
}

// gitOptions finds the git that a daemon would use.
func (p Process) gitOptions() git.FindOptions {
	o := git.FindOptions{Env: p.Environ}
	if path, err := config.Path(p.getenv); err == nil {
		if c, err := config.Load(path); err == nil {
			o.Configured = c.Git
		}
	}
	return o
}

// gitSetting reads a value of git's configuration as it holds in dir. A program
// is never taken from the repository's own: that may have come with it. Nor is
// color.ui: git is called with one of its own here, which only the settings
// from outside are free of.
func (p Process) gitSetting(ctx context.Context, dir, key string) string {
	g, err := git.Find(ctx, p.gitOptions())
	if err != nil {
		return ""
	}
	repo, err := g.Open(ctx, dir)
	if err != nil {
		return ""
	}
	read := repo.Settings
	if key == "core.pager" || key == "color.ui" {
		read = repo.OutsideSettings
	}
	settings, err := read(ctx, "^"+key+"$")
	if err != nil {
		return ""
	}
	return settings[key]
}

func (p Process) logFile() (string, error) {
	dir, err := daemon.StateDir(p.getenv)
	return daemon.LogPath(dir), err
}

func version() command.Version {
	info, _ := debug.ReadBuildInfo()
	return cli.VersionOf(info)
}
