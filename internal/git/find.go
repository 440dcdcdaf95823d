package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git/locate"
	"github.com/turnback/turnback/internal/xec"
)

// FindOptions says where to look for git.
type FindOptions struct {
	Env        []string // the caller's environment, as os.Environ gives it
	Configured string   // the config's `git = PATH`; it wins when it is not empty
}

// ErrTooOld says that the git that was found is older than locate.Oldest.
var ErrTooOld = errors.New("git is too old")

// Find resolves git once to an absolute path and checks its version. Entries of
// PATH that are relative, inside a work tree, or writable by others are passed
// over, so that a repository cannot bring a git of its own.
func Find(ctx context.Context, o FindOptions) (*Git, error) {
	path, err := locate.Git(o.Configured, envValue(o.Env, "PATH"))
	if err != nil {
		return nil, err
	}
	g := &Git{path: path, env: cleanEnv(o.Env)}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var out strings.Builder
	cmd := xec.Command{Path: path, Args: []string{"--version"}, Env: g.env, Dir: "/", Stdout: &out}
	if err := xec.Run(ctx, cmd); err != nil {
		return nil, fmt.Errorf("%w: %s does not run: %w", locate.ErrMissing, path, err)
	}
	if g.version, err = locate.ParseVersion(out.String()); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", locate.ErrMissing, path, err)
	}
	if g.version.Less(locate.Oldest()) {
		return nil, fmt.Errorf("%w: %s is version %s, needed is %s or newer", ErrTooOld, path, g.version.Text, locate.Oldest().Text)
	}
	return g, nil
}

func envValue(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
