package lfs

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/turnback/turnback/internal/git"
)

// Finder finds the pointers that a tree has and HEAD has not. It remembers which
// blobs are pointers, and may be used by several goroutines at once.
type Finder struct {
	Repo *git.Repo

	mu    sync.Mutex
	blobs map[string]*Pointer // by id; nil: no pointer
}

// New lists the pointers of tree whose blobs are not at the same path in head's
// tree (empty: an unborn branch), without repetition.
func (f *Finder) New(ctx context.Context, head, tree string) ([]Pointer, error) {
	if head == "" {
		var err error
		if head, err = f.Repo.EmptyTree(ctx); err != nil {
			return nil, err
		}
	}
	changes, err := f.Repo.ChangedEntries(ctx, head, tree)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []string
	seen := map[string]bool{}
	for _, c := range changes {
		if (c.NewMode == git.ModeFile || c.NewMode == git.ModeExec) && !seen[c.NewID] {
			seen[c.NewID] = true
			ids = append(ids, c.NewID)
		}
	}
	if err := f.read(ctx, ids); err != nil {
		return nil, err
	}
	var found []Pointer
	for _, id := range ids {
		if p := f.blobs[id]; p != nil {
			found = append(found, *p)
		}
	}
	return found, nil
}

// read fills in what is not known of ids.
func (f *Finder) read(ctx context.Context, ids []string) error {
	var unknown []string
	for _, id := range ids {
		if _, ok := f.blobs[id]; !ok {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	sizes, err := f.Repo.Sizes(ctx, unknown)
	if err != nil {
		return err
	}
	const shortest = 100 // bytes of a pointer: three lines, one with an OID
	var small []string
	known := make(map[string]*Pointer, len(f.blobs)+len(unknown))
	for id, p := range f.blobs {
		known[id] = p
	}
	for i, id := range unknown {
		if sizes[i] >= shortest && sizes[i] <= MaxPointer {
			small = append(small, id)
			continue
		}
		known[id] = nil
	}
	if len(small) > 0 {
		if err := f.parse(ctx, small, known); err != nil {
			return err
		}
	}
	f.blobs = known
	return nil
}

func (f *Finder) parse(ctx context.Context, ids []string, known map[string]*Pointer) error {
	objects, err := f.Repo.ReadObjects(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		var b bytes.Buffer
		if _, _, err := objects.Copy(id, &b); err != nil {
			return errors.Join(err, objects.Close())
		}
		known[id] = nil
		if p, ok := ParsePointer(b.Bytes()); ok {
			known[id] = &p
		}
	}
	return objects.Close()
}
