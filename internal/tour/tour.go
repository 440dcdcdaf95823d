// Package tour shows the main job on real input: a scratch repository, a daemon
// of its own, a scripted agent that takes three turns, and the real commands
// that list, diff, restore and undo them. It leaves nothing behind.
package tour

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/turnback/turnback/internal/xec"
)

// Options are what a tour needs from outside.
type Options struct {
	In      io.Reader // a line from it goes on to the next step
	Out     io.Writer // the tour, and the output of the commands
	Err     io.Writer // what the commands write to stderr
	Pause   bool      // wait for a line of In between the steps
	Colour  bool
	Program string   // path of turnback
	Git     string   // path of git
	Environ []string // the caller's environment; only what commands cannot do without is passed on
	TempDir string   // where the scratch folder is made
}

// stopWithin is how long the private daemon may take to end.
const stopWithin = 30 * time.Second

// Run gives the tour. Whatever ends it, also the end of ctx, the private daemon
// is stopped and the scratch folder is removed before it returns.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := scratch(o.TempDir)
	if err != nil {
		return fmt.Errorf("make the scratch folder: %w", err)
	}
	g := &guide{Options: o, dir: dir, repo: filepath.Join(dir, "api")}
	g.env = g.privateEnv()
	defer func() { err = worse(err, g.cleanUp(context.WithoutCancel(ctx))) }()
	if err := g.prepare(ctx); err != nil {
		return err
	}
	for _, s := range steps() {
		if err := g.take(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// worse joins what ended the tour with what the clean-up could not do. That a
// reader has gone is no news beside something that was left behind.
func worse(ended, left error) error {
	if left != nil && errors.Is(ended, syscall.EPIPE) {
		return left
	}
	return errors.Join(ended, left)
}

// scratch makes the folder of a tour. The daemon's socket lies in it, whose path
// is limited to about 100 bytes.
func scratch(temp string) (string, error) {
	const longest = 60
	base, err := filepath.EvalSymlinks(temp)
	if err != nil || len(base) > longest {
		base = "/tmp"
	}
	return os.MkdirTemp(base, "turnback-tour-")
}

// guide leads through one tour.
type guide struct {
	Options
	dir  string   // everything of this tour lies below it
	repo string   // the scratch repository
	env  []string // of the commands
	pid  int      // the private daemon
}

// privateEnv keeps the commands away from the person's own daemon, settings and
// agents: HOME and the XDG folders are scratch ones.
func (g *guide) privateEnv() []string {
	env := []string{
		"HOME=" + filepath.Join(g.dir, "home"),
		"XDG_CONFIG_HOME=" + filepath.Join(g.dir, "config"),
		"XDG_STATE_HOME=" + filepath.Join(g.dir, "state"),
		"XDG_DATA_HOME=" + filepath.Join(g.dir, "data"),
		"XDG_CACHE_HOME=" + filepath.Join(g.dir, "cache"),
		"TURNBACK_SOCKET=" + filepath.Join(g.dir, "run", "s"),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_PAGER=cat",
	}
	for _, e := range g.Environ {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "PATH", "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME":
			env = append(env, e)
		}
	}
	return env
}

func (g *guide) prepare(ctx context.Context) error {
	for _, name := range []string{"home", "run", "api"} {
		if err := os.Mkdir(filepath.Join(g.dir, name), 0o700); err != nil {
			return fmt.Errorf("make the scratch folder: %w", err)
		}
	}
	var out bytes.Buffer
	if err := g.quietly(ctx, &out, g.Program, "daemon", "start", "--json"); err != nil {
		return fmt.Errorf("start a private daemon: %w", err)
	}
	var status struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(out.Bytes(), &status); err != nil {
		return fmt.Errorf("start a private daemon: %w", err)
	}
	g.pid = status.PID
	return nil
}

// quietly runs a program without showing it.
func (g *guide) quietly(ctx context.Context, out io.Writer, path string, args ...string) error {
	return xec.Run(ctx, xec.Command{Path: path, Args: args, Dir: g.dir, Env: g.env, Stdout: out})
}

// cleanUp stops the private daemon, by force if it must be, and removes the
// scratch folder. ctx is not the tour's: that may have ended.
func (g *guide) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	err := g.quietly(ctx, io.Discard, g.Program, "daemon", "stop")
	if err != nil && g.pid > 0 {
		err = errors.Join(err, kill(g.pid))
	}
	if err != nil {
		err = fmt.Errorf("stop the private daemon: %w", err)
	}
	if e := os.RemoveAll(g.dir); e != nil {
		err = errors.Join(err, fmt.Errorf("remove the scratch folder: %w", e))
	}
	return err
}

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(syscall.SIGKILL)
}
