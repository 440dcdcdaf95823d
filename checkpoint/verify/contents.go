package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

func isUnavailable(err error) bool {
	return errors.Is(err, git.ErrMissingObject) || errors.Is(err, git.ErrCorruptObject)
}

// isPartial tells whether git may leave objects at a remote.
func (l *look) isPartial() bool {
	packs, err := filepath.Glob(filepath.Join(l.Repo.CommonDir, "objects", "pack", "*.promisor"))
	return err == nil && len(packs) > 0
}

func dropCommand(c *record.Checkpoint) string {
	return fmt.Sprintf("checkpoint drop -w %s %d", c.Pane.ID, c.N)
}

// contents decodes what is kept beside the checkpoints.
func (l *look) contents(ctx context.Context) error {
	r := &reader{ctx: ctx, repo: l.Repo}
	defer r.close()
	for _, u := range l.units {
		if u.c == nil || u.c.Beside == "" || u.c.Damaged != "" || l.found(u.ref) {
			continue
		}
		if err := r.beside(u.c.Beside); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f := about(Damaged, u.ref, "what is kept beside it cannot be read: %v", err)
			f.Command = dropCommand(u.c)
			l.add(f)
		}
	}
	return nil
}

// reader reads objects from one git process, and from another one when that one
// has failed.
type reader struct {
	ctx     context.Context
	repo    *git.Repo
	objects *git.Objects
}

func (r *reader) close() {
	if r.objects != nil {
		_ = r.objects.Close() // what it could not read is known by then
		r.objects = nil
	}
}

func (r *reader) read(id, kind string) ([]byte, error) {
	if r.objects == nil {
		objects, err := r.repo.ReadObjects(r.ctx)
		if err != nil {
			return nil, err
		}
		r.objects = objects
	}
	var b strings.Builder
	is, _, err := r.objects.Copy(id, &b)
	if err != nil {
		r.close()
		return nil, err
	}
	if is != kind {
		return nil, fmt.Errorf("object %s is a %s, not a %s", id, is, kind)
	}
	return []byte(b.String()), nil
}

func (r *reader) beside(commit string) error {
	content, err := r.read(commit, "commit")
	if err != nil {
		return err
	}
	trees := field(content, "tree")
	if len(trees) != 1 {
		return fmt.Errorf("commit %s has %d trees", commit, len(trees))
	}
	content, err = r.read(trees[0], "tree")
	if err != nil {
		return err
	}
	entries, err := git.ParseTree(content, r.repo.IDLen)
	if err != nil {
		return err
	}
	_, err = beside.Decode(entries, func(id string) ([]byte, error) { return r.read(id, "blob") })
	return err
}

// alternates looks for object stores that this repository borrows from.
func (l *look) alternates() error {
	list := filepath.Join(l.Repo.CommonDir, "objects", "info", "alternates")
	data, err := os.ReadFile(list)
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return fmt.Errorf("read alternates: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' || line[0] == '"' {
			continue
		}
		store := line
		if !filepath.IsAbs(store) {
			store = filepath.Join(l.Repo.CommonDir, "objects", store)
		}
		if st, err := os.Stat(store); err != nil || !st.IsDir() {
			l.add(Finding{Severity: Broken, File: list, What: fmt.Sprintf("the object store %q that this repository borrows from is not there", store)})
			continue
		}
		l.add(Finding{Severity: Note, File: list, What: fmt.Sprintf("this repository borrows objects from %q: a gc there can take what checkpoints need", store)})
	}
	return nil
}
