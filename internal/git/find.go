package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/xec"
)

// FindOptions says where to look for git.
type FindOptions struct {
	Env        []string // the caller's environment, as os.Environ gives it
	Configured string   // the config's `git = PATH`; it wins when it is not empty
}

// ErrMissing says that no usable git was found.
var ErrMissing = errors.New("git not found")

// ErrTooOld says that the git that was found is older than Oldest.
var ErrTooOld = errors.New("git is too old")

// Find resolves git once to an absolute path and checks its version. Entries of
// PATH that are relative, inside a work tree, or writable by others are passed
// over, so that a repository cannot bring a git of its own.
func Find(ctx context.Context, o FindOptions) (*Git, error) {
	path, err := locate(o)
	if err != nil {
		return nil, err
	}
	g := &Git{path: path, env: cleanEnv(o.Env)}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var out strings.Builder
	cmd := xec.Command{Path: path, Args: []string{"--version"}, Env: g.env, Dir: "/", Stdout: &out}
	if err := xec.Run(ctx, cmd); err != nil {
		return nil, fmt.Errorf("%w: %s does not run: %w", ErrMissing, path, err)
	}
	if g.version, err = parseVersion(out.String()); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMissing, path, err)
	}
	if g.version.Less(Oldest()) {
		return nil, fmt.Errorf("%w: %s is version %s, needed is %s or newer", ErrTooOld, path, g.version.Text, Oldest().Text)
	}
	return g, nil
}

func locate(o FindOptions) (string, error) {
	if o.Configured != "" {
		if !filepath.IsAbs(o.Configured) {
			return "", fmt.Errorf("%w: config names %q, which is not an absolute path", ErrMissing, o.Configured)
		}
		if !isProgram(o.Configured) {
			return "", fmt.Errorf("%w: config names %q, which is no program", ErrMissing, o.Configured)
		}
		return o.Configured, nil
	}
	var passed []string
	for _, dir := range filepath.SplitList(envValue(o.Env, "PATH")) {
		candidate := filepath.Join(dir, "git")
		if !filepath.IsAbs(dir) || !isProgram(candidate) {
			continue
		}
		if why := untrusted(dir, candidate); why != "" {
			passed = append(passed, candidate+" ("+why+")")
			continue
		}
		return candidate, nil
	}
	if len(passed) > 0 {
		return "", fmt.Errorf("%w: passed over %s", ErrMissing, strings.Join(passed, ", "))
	}
	return "", fmt.Errorf("%w in PATH", ErrMissing)
}

// untrusted says why a git in dir may not be used; empty: it may.
func untrusted(dir, program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "unreadable"
	}
	for _, p := range []string{dir, filepath.Dir(real), real} {
		st, err := os.Stat(p)
		if err != nil {
			return "unreadable"
		}
		if st.Mode().Perm()&0o002 != 0 {
			return "writable by others"
		}
	}
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return "inside a work tree"
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}

func envValue(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
