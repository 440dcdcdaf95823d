package lfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

const (
	// sweepAfter is how old kept content must be before it can go: a save that runs
	// may have kept it, and not have its ref yet.
	sweepAfter = time.Hour
	sweepEach  = 6 * time.Hour
)

// KeepNew keeps the content of the pointers in tree that head's tree (empty: an
// unborn branch) has not, and returns its OIDs, sorted. What HEAD has, git-lfs
// itself keeps. The setting lfs.storage is as in Find.
func (f *Finder) KeepNew(ctx context.Context, storage, head, tree string) ([]string, error) {
	content := Find(f.Repo, storage)
	if !content.InUse() {
		return nil, nil
	}
	pointers, err := f.New(ctx, head, tree)
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

// LetGo lets go of kept content that no checkpoint of the repository needs any
// more. It returns the bytes that were freed, counting those that git-lfs still
// has.
func LetGo(ctx context.Context, repo *git.Repo, now time.Time) (int64, error) {
	content := Find(repo, "")
	if !content.Keeps() {
		return 0, nil
	}
	needed, err := needed(ctx, repo)
	if err != nil {
		return 0, err
	}
	return content.Sweep(ctx, needed, now.Add(-sweepAfter))
}

// LetGoNowAndThen is LetGo when that was not done for long.
func LetGoNowAndThen(ctx context.Context, repo *git.Repo, now time.Time) error {
	if last, ok := Find(repo, "").Swept(); !ok || now.Sub(last) < sweepEach {
		return nil
	}
	_, err := LetGo(ctx, repo, now)
	return err
}

// needed reads which content the checkpoints and the bases of open turns have
// kept, whatever their refs are called.
func needed(ctx context.Context, repo *git.Repo) (map[string]bool, error) {
	refs, err := repo.SoundRefs(ctx, record.Root)
	if err != nil {
		return nil, err
	}
	objects, err := repo.ReadObjects(ctx)
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
