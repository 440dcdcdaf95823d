package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git/quarantine"
)

// Objects that are written are kept apart; see package quarantine. They enter the
// repository by themselves before a ref is written, and before a git process
// runs that could ask for them; see call.

// streamedFrom is from how many bytes on git puts a file into a pack at once,
// without reading it whole. Not lower: for each such file git looks into every
// pack that there is.
const streamedFrom = "1m"

func newPen(r *Repo) *quarantine.Pen {
	return &quarantine.Pen{Root: filepath.Join(r.CommonDir, "turnback", "quarantine"), Objects: filepath.Join(r.CommonDir, "objects"), IDLen: r.IDLen}
}

// ObjectsDir is the repository's object directory.
func (r *Repo) ObjectsDir() string { return r.pen.Objects }

// Pack has git make one pack of objects, and lets it in. It gives its path
// without an ending. It holds up no save.
func (r *Repo) Pack(ctx context.Context, ids []string) (string, error) {
	c := *r
	c.pen = newPen(r)
	list := strings.NewReader(strings.Join(ids, "\n") + "\n")
	err := c.pen.Within(func(dir string) error {
		if err := os.MkdirAll(filepath.Join(dir, "pack"), 0o700); err != nil {
			return err
		}
		packing := c.apart(dir, call{dir: r.Worktree, stdin: list, args: []string{
			"pack-objects", "-q", "--delta-base-offset", "--threads=1", filepath.Join(dir, "pack", "pack"),
		}})
		packing.settings = nil // it will stay
		return c.git.stream(ctx, packing, nil)
	})
	base := ""
	if err == nil {
		base, err = c.pen.Let()
	}
	if err := errors.Join(err, c.pen.Discard()); err != nil {
		return "", fmt.Errorf("pack objects: %w", err)
	}
	return base, nil
}

// apart gives c an object directory apart.
func (r *Repo) apart(dir string, c call) call {
	c.env = append(slices.Clone(c.env), "GIT_OBJECT_DIRECTORY="+dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quarantine.Listed(r.pen.Stores()...))
	// What is in the quarantine need not outlast a loss of power.
	c.settings = []string{"-c", "core.fsync=none", "-c", "pack.compression=1", "-c", "core.bigFileThreshold=" + streamedFrom}
	return c
}

// runApart runs c, which writes objects, with a quarantine as the place for them.
func (r *Repo) runApart(ctx context.Context, c call, w io.Writer) error {
	return r.pen.Within(func(dir string) error { return r.git.stream(ctx, r.apart(dir, c), w) })
}

// Flush lets everything that was written so far into the repository, as a pack
// that is kept. It happens by itself before a ref is written.
func (r *Repo) Flush() error { return r.pen.Flush() }

// Discard ends a run: it throws away what was written and not let in.
func (r *Repo) Discard() error { return r.pen.Discard() }

// Rehearse gives a repository that is the same, but for the objects that are written
// to it: git finds them in it, and they never enter r. They go with end.
func (r *Repo) Rehearse() (rehearsal *Repo, end func() error, err error) {
	c, g := *r, *r.git
	c.git, c.pen, c.readers = &g, newPen(r), &sharing{}
	dir, end, err := c.pen.Rehearse()
	g.env = append(slices.Clone(g.env), "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quarantine.Listed(dir))
	return &c, end, err
}

// Hold makes sure that objects which git said it has stored cannot be taken by a
// gc before a ref holds them. git writes no object that the repository has
// already, be it one that nothing reaches: such objects are copied. It names
// those that have gone meanwhile; they have to be stored again.
func (r *Repo) Hold(ctx context.Context, ids []string) (gone []string, err error) {
	if len(r.pen.Stores()) > 1 { // a rehearsal: there will be no ref
		return r.Missing(ctx, ids)
	}
	strangers, err := r.pen.Strangers(ids)
	if err != nil || len(strangers) == 0 {
		return nil, err
	}
	if err := os.MkdirAll(r.pen.Root, 0o700); err != nil {
		return nil, fmt.Errorf("keep objects: %w", err)
	}
	spool, err := os.CreateTemp(r.pen.Root, "run-*.lock") // a name that is removed should this be killed
	if err != nil {
		return nil, fmt.Errorf("keep objects: %w", err)
	}
	defer func() { _ = errors.Join(spool.Close(), os.Remove(spool.Name())) }()
	var objects *Objects
	for _, id := range strangers {
		if objects == nil {
			if objects, err = r.ReadObjects(ctx); err != nil {
				return nil, err
			}
		}
		kind, size, err := copyInto(spool, objects, id)
		switch {
		case err == nil:
			err = r.pen.Take(id, kind, size, spool)
		case ctx.Err() != nil:
		case errors.Is(err, ErrMissingObject):
			gone, err = append(gone, id), nil
		default: // it went while it was read, and git with it
			_ = objects.Close()
			objects = nil
			gone, err = append(gone, id), nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("keep an object: %w", err), objects.Close())
		}
	}
	if objects == nil {
		return gone, nil
	}
	return gone, objects.Close()
}

// copyInto makes file hold the content of an object, ready to be read.
func copyInto(file *os.File, objects *Objects, id string) (kind string, size int64, err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	if err := file.Truncate(0); err != nil {
		return "", 0, err
	}
	if kind, size, err = objects.Copy(id, file); err != nil {
		return "", 0, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return kind, size, err
}
