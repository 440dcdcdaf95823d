// Package git speaks to the git program in words of the domain: heads, trees,
// entries, refs. Nothing outside builds a git command line. Every child gets a
// hardened environment: no inherited GIT_* variables, no hooks, no file system
// monitor, no network, no prompts, no optional locks, literal paths.
package git

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git/locate"
	"github.com/turnback/turnback/internal/xec"
)

// Git is a git program that was found and checked.
type Git struct {
	path    string
	version locate.Version
	env     []string
	stall   time.Duration
}

// Path is the absolute path of the program.
func (g *Git) Path() string { return g.path }

// Version is what the program says of itself.
func (g *Git) Version() locate.Version { return g.version }

// WithStall returns a copy of g whose commands may run for d without progress.
func (g *Git) WithStall(d time.Duration) *Git {
	c := *g
	c.stall = d
	return &c
}

// Stall is how long a command may run without progress.
func (g *Git) Stall() time.Duration { return cmp.Or(g.stall, xec.DefaultStall) }

// passedEnv names the variables that a git child keeps; all others are dropped.
func passedEnv() []string {
	return []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USER", "LOGNAME", "SSL_CERT_FILE", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}
}

// cleanEnv makes the environment of git children from the caller's.
func cleanEnv(env []string) []string {
	keep := map[string]bool{}
	for _, name := range passedEnv() {
		keep[name] = true
	}
	out := []string{
		"LC_ALL=C", "LANGUAGE=C", "TERM=dumb", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_ASKPASS=false", "SSH_ASKPASS=false",
		"GIT_LITERAL_PATHSPECS=1", "GIT_NO_REPLACE_OBJECTS=1",
	}
	for _, kv := range env {
		if name, _, ok := strings.Cut(kv, "="); ok && keep[name] {
			out = append(out, kv)
		}
	}
	return out
}

// hardened are the settings that every command gets, whatever any config file says.
func hardened() []string {
	settings := []string{
		"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.splitIndex=false", "core.trustctime=true", "core.safecrlf=false", "core.checkStat=default",
		"core.logAllRefUpdates=false", "core.abbrev=auto", "core.preloadIndex=true", "submodule.recurse=false", "color.ui=false", "gc.auto=0", "maintenance.auto=false",
		"advice.detachedHead=false", "core.sparseCheckout=true", "sparse.expectFilesOutsideOfPatterns=false", "index.sparse=false",
	}
	args := make([]string, 0, 2*len(settings))
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

// Error is a git command that failed.
type Error struct {
	Op     string // the git subcommand
	Code   int    // exit status; -1 when it was killed
	Stderr string
	Err    error
}

// Error tells the subcommand and what git said.
func (e *Error) Error() string {
	msg := strings.TrimSpace(e.Stderr)
	if msg == "" {
		msg = e.Err.Error()
	}
	first, _, _ := strings.Cut(msg, "\n")
	return "git " + e.Op + ": " + strings.TrimPrefix(first, "fatal: ")
}

// Unwrap gives the error of the process.
func (e *Error) Unwrap() error { return e.Err }

// Stalled tells whether err comes from a git command that made no progress.
func Stalled(err error) bool { return errors.Is(err, xec.ErrStalled) }

// call is one git command.
type call struct {
	dir   string    // working directory
	args  []string  // subcommand first
	stdin io.Reader // nil: empty
	index string    // GIT_INDEX_FILE; empty: the user's
	env   []string  // further variables

	settings []string // further ones, after the hardened

	writes bool // it writes objects: they go where they are kept apart
	apart  bool // it asks for no object that was written just now
}

func (g *Git) command(c call) xec.Command {
	env := append(append([]string(nil), g.env...), c.env...)
	if c.index != "" {
		env = append(env, "GIT_INDEX_FILE="+c.index)
	}
	return xec.Command{
		Path: g.path, Dir: c.dir, Env: env, Stdin: c.stdin, Stall: g.stall,
		Args: slices.Concat(hardened(), c.settings, c.args),
	}
}

// stream runs c and hands its output to w.
func (g *Git) stream(ctx context.Context, c call, w io.Writer) error {
	cmd := g.command(c)
	cmd.Stdout = w
	if err := xec.Run(ctx, cmd); err != nil {
		return wrap(c.args[0], err)
	}
	return nil
}

func wrap(op string, err error) error {
	e := &Error{Op: op, Code: -1, Err: err}
	var exit *xec.ExitError
	if errors.As(err, &exit) {
		e.Code, e.Stderr = exit.Code, exit.Stderr
		if exit.Unwrap() != nil {
			e.Stderr = ""
		}
	}
	return e
}

// exitedWith tells whether err is git's exit status code.
func exitedWith(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
