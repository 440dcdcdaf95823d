package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/lfs"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

const (
	// sweepAfter is how old kept LFS content must be before it can go: a save that
	// runs may have kept it, and not have its ref yet.
	sweepAfter = time.Hour
	sweepEach  = 6 * time.Hour
)

// keepLFS keeps the content of the LFS pointers in l's tree that HEAD has not,
// and returns its OIDs, sorted. What HEAD has, git-lfs itself keeps.
func (s *Store) keepLFS(ctx context.Context, l *looked) ([]string, error) {
	content := lfs.Find(s.repo, l.made.LFSStorage)
	if !content.InUse() {
		return nil, nil
	}
	pointers, err := s.pointers.New(ctx, l.head.Tree, l.made.Tree)
	if err != nil {
		return nil, err
	}
	kept, err := content.Keep(ctx, pointers)
	if err != nil {
		return nil, err
	}
	oids := make([]string, 0, len(kept))
	for _, p := range kept {
		oids = append(oids, p.OID)
	}
	slices.Sort(oids)
	return slices.Compact(oids), nil
}

// SweepLFS lets go of kept LFS content that no checkpoint needs any more. It
// returns the bytes that were freed, counting those that git-lfs still has.
func (s *Store) SweepLFS(ctx context.Context) (int64, error) {
	content := lfs.Find(s.repo, "")
	if !content.Keeps() {
		return 0, nil
	}
	before := s.now().Add(-sweepAfter)
	needed, err := s.neededLFS(ctx)
	if err != nil {
		return 0, err
	}
	return content.Sweep(ctx, needed, before)
}

// sweepLFSNowAndThen is SweepLFS when that was not done for long.
func (s *Store) sweepLFSNowAndThen(ctx context.Context) error {
	content := lfs.Find(s.repo, "")
	if last, ok := content.Swept(); !ok || s.now().Sub(last) < sweepEach {
		return nil
	}
	_, err := s.SweepLFS(ctx)
	return err
}

// neededLFS reads which content the checkpoints and the bases of open turns have
// kept, whatever their refs are called.
func (s *Store) neededLFS(ctx context.Context) (map[string]bool, error) {
	refs, err := s.repo.SoundRefs(ctx, record.Root)
	if err != nil {
		return nil, err
	}
	objects, err := s.repo.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	n := &need{objects: objects, oids: map[string]bool{}, seen: map[string]bool{}}
	for _, ref := range refs {
		for _, parent := range record.OwnParents(ref.Message, ref.Parents) {
			err = errors.Join(err, n.commit(parent, 0))
		}
	}
	if err := errors.Join(err, objects.Close()); err != nil {
		return nil, fmt.Errorf("read what LFS content is needed: %w", err)
	}
	return n.oids, nil
}

// need gathers what commits of ours have kept.
type need struct {
	objects *git.Objects
	oids    map[string]bool
	seen    map[string]bool // commits
}

// deepest is how many commits of ours lie above the one that keeps something: one
// of the trash, its checkpoint, the base of that.
const deepest = 3

// commit notes what the commit keeps, and those above it. What is malformed there
// no restore uses.
func (n *need) commit(id string, depth int) error {
	if depth > deepest || n.seen[id] {
		return nil
	}
	n.seen[id] = true
	var b bytes.Buffer
	kind, _, err := n.objects.Copy(id, &b)
	if errors.Is(err, git.ErrMissingObject) {
		return nil
	}
	if err != nil || kind != "commit" {
		return err
	}
	parents, message := git.SplitCommit(b.String())
	for _, parent := range record.OwnParents(message, parents) {
		if err := n.commit(parent, depth+1); err != nil {
			return err
		}
	}
	if len(parents) > 0 {
		return nil // what is kept beside has none
	}
	b.Reset()
	kind, _, err = n.objects.Copy(id+":"+beside.NameLFS, &b)
	if errors.Is(err, git.ErrMissingObject) || err == nil && kind != "blob" {
		return nil
	}
	oids, _ := beside.DecodeLFS(b.Bytes())
	for _, oid := range oids {
		n.oids[oid] = true
	}
	return err
}
