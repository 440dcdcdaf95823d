package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/git/quarantine"
	"github.com/turnback/turnback/internal/xec"
)

// Repo is a work tree with its repository.
type Repo struct {
	git       *Git
	Worktree  string // absolute path of the root, symbolic links resolved
	GitDir    string // the work tree's own git directory
	CommonDir string // the repository's git directory, shared by all its work trees
	IDLen     int    // bytes of an object id: 20 or 32

	pen     *quarantine.Pen
	readers *sharing
}

// ErrNotRepo says that a directory is in no git work tree.
var ErrNotRepo = errors.New("not a git work tree")

// Open finds the work tree that dir is in. It returns ErrNotRepo where there is
// none, and an *Error when git refuses (a directory of another owner, say).
func (g *Git) Open(ctx context.Context, dir string) (*Repo, error) {
	var out bytes.Buffer
	err := g.stream(ctx, call{dir: dir, args: []string{
		"rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir", "--show-object-format",
	}}, &out)
	if err != nil {
		return nil, notRepo(dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4 {
		return nil, fmt.Errorf("%w: %q: line feeds in the path of a repository are not supported", ErrNotRepo, dir)
	}
	r := &Repo{git: g, Worktree: lines[0], GitDir: lines[1], CommonDir: filepath.Clean(lines[2]), IDLen: 20}
	if lines[3] == "sha256" {
		r.IDLen = 32
	}
	if real, err := filepath.EvalSymlinks(r.Worktree); err == nil {
		r.Worktree = real
	}
	r.pen, r.readers = newPen(r), &sharing{}
	return r, nil
}

// stream runs c and hands its output to w.
func (r *Repo) stream(ctx context.Context, c call, w io.Writer) error {
	if c.writes {
		return r.runApart(ctx, c, w)
	}
	if !c.apart {
		if err := r.pen.Settle(); err != nil {
			return err
		}
	}
	return r.git.stream(ctx, c, w)
}

// output runs c and returns its whole output.
func (r *Repo) output(ctx context.Context, c call) ([]byte, error) {
	var out bytes.Buffer
	err := r.stream(ctx, c, &out)
	return out.Bytes(), err
}

// line runs c and returns its output without the final line feed.
func (r *Repo) line(ctx context.Context, c call) (string, error) {
	out, err := r.output(ctx, c)
	return strings.TrimSuffix(string(out), "\n"), err
}

// start runs c, which writes no objects, with pipes for its input and output.
func (r *Repo) start(ctx context.Context, c call) (*xec.Process, error) {
	if err := r.pen.Settle(); err != nil {
		return nil, err
	}
	return xec.Start(ctx, r.git.command(c))
}

func notRepo(dir string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	for _, said := range []string{"not a git repository", "must be run in a work tree", "cannot change to", "no such file or directory"} {
		if strings.Contains(e.Stderr, said) || strings.Contains(e.Err.Error(), said) {
			return fmt.Errorf("%w: %s", ErrNotRepo, dir)
		}
	}
	return err
}

// With returns a copy of r that runs g.
func (r *Repo) With(g *Git) *Repo {
	c := *r
	c.git = g
	return &c
}

// Git is the program that r runs.
func (r *Repo) Git() *Git { return r.git }

// IsID tells whether s has the form of an object id, of either hash.
func IsID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// IsUnused tells whether id is the all-zero object id.
func IsUnused(id string) bool { return strings.Trim(id, "0") == "" }

// Head is what HEAD stands for.
type Head struct {
	Commit string // empty on an unborn branch
	Tree   string // empty on an unborn branch
	Branch string // full name of the branch; empty when detached
}

// Head reads HEAD.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	out, err := r.line(ctx, call{dir: r.Worktree, args: []string{"rev-parse", "HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD"}})
	if err == nil {
		lines := strings.Split(out, "\n")
		if len(lines) == 2 { // another ref is called HEAD too
			branch, err := r.line(ctx, call{dir: r.Worktree, args: []string{"symbolic-ref", "--quiet", "HEAD"}})
			if err != nil && !exitedWith(err, 1) {
				return Head{}, fmt.Errorf("read HEAD: %w", err)
			}
			lines = append(lines, branch)
		}
		if len(lines) != 3 {
			return Head{}, fmt.Errorf("read HEAD: unexpected answer %.120q", out)
		}
		h := Head{Commit: lines[0], Tree: lines[1], Branch: lines[2]}
		if h.Branch == "HEAD" {
			h.Branch = ""
		}
		return h, nil
	}
	branch, symErr := r.line(ctx, call{dir: r.Worktree, args: []string{"symbolic-ref", "--quiet", "HEAD"}})
	if symErr != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if _, refErr := r.line(ctx, call{dir: r.Worktree, args: []string{"show-ref", "--verify", "--quiet", branch}}); refErr == nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	return Head{Branch: branch}, nil
}

// splitNUL splits NUL-terminated records.
func splitNUL(b []byte) []string {
	s := strings.TrimSuffix(string(b), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// joinNUL writes NUL-terminated records.
func joinNUL(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\x00") + "\x00"
}
