package git

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// runApart runs c, which writes objects, with the quarantine as the place for them.
func (r *Repo) runApart(ctx context.Context, c call, w io.Writer) error {
	// What is in the quarantine need not outlast a loss of power.
	c.settings = []string{"-c", "core.fsync=none", "-c", "pack.compression=1", "-c", "core.bigFileThreshold=" + streamedFrom}
	return r.pen.Within(func(dir string) error {
		c.env = append(slices.Clone(c.env), "GIT_OBJECT_DIRECTORY="+dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+alternate(r.pen.Objects))
		return r.git.stream(ctx, c, w)
	})
}

// alternate quotes path for a list of object directories.
func alternate(path string) string {
	if !strings.ContainsAny(path, "\":\\\n\t") && !strings.HasPrefix(path, "#") {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Flush lets everything that was written so far into the repository, as a pack
// that is kept. It happens by itself before a ref is written.
func (r *Repo) Flush() error { return r.pen.Flush() }

// Discard ends a run: it throws away what was written and not let in.
func (r *Repo) Discard() error { return r.pen.Discard() }

// Hold makes sure that objects which git said it has stored cannot be taken by a
// gc before a ref holds them. git writes no object that the repository has
// already, be it one that nothing reaches: such objects are copied. It names
// those that have gone meanwhile; they have to be stored again.
func (r *Repo) Hold(ctx context.Context, ids []string) (gone []string, err error) {
	apart, err := r.pen.Strangers(ids)
	if err != nil || len(apart) == 0 {
		return nil, err
	}
	objects, err := r.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range apart {
		err := objects.copyTo(id, r.pen)
		if errors.Is(err, ErrMissingObject) {
			gone = append(gone, id)
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("keep an object: %w", err), objects.Close())
		}
	}
	return gone, objects.Close()
}
