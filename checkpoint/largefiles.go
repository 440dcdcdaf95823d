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
	needed := map[string]bool{}
	note := func(commit string) error { // what is malformed there, no restore uses
		var b bytes.Buffer
		kind, _, err := objects.Copy(commit+":"+beside.NameLFS, &b)
		switch {
		case errors.Is(err, git.ErrMissingObject) || err == nil && kind != "blob":
			return nil
		case err != nil:
			return err
		}
		oids, _ := beside.DecodeLFS(b.Bytes())
		for _, oid := range oids {
			needed[oid] = true
		}
		return nil
	}
	for _, ref := range refs {
		// What is kept beside is a parent of a checkpoint, or of the base that a
		// pane or a checkpoint holds.
		for _, parent := range record.OwnParents(ref) {
			err = errors.Join(err, note(parent), note(parent+"^"))
		}
	}
	if err := errors.Join(err, objects.Close()); err != nil {
		return nil, fmt.Errorf("read what LFS content is needed: %w", err)
	}
	return needed, nil
}
