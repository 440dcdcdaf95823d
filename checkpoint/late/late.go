// Package late is about saves for which the agent did not wait: what they may
// hold of a later time.
package late

import (
	"context"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// maxUncertain bounds the files that a late save names.
const maxUncertain = 1000

// Mark notes in c whether the agent was let go before the work tree was seen as
// the tree now, and which of the files that differ from the tree from changed
// since, beside those that c has already. A tree that is gone costs the names, not
// the save. letGo tells since when the agent goes on; zero, and nil: it waits.
func Mark(ctx context.Context, repo *git.Repo, c *record.Checkpoint, from, now string, letGo func() time.Time) {
	if letGo == nil {
		return
	}
	since := letGo()
	if c.Late = !since.IsZero(); !c.Late || from == "" {
		return
	}
	changes, err := repo.ChangedEntries(ctx, from, now)
	if err != nil {
		return
	}
	paths := make([]string, 0, len(changes))
	for _, change := range changes {
		paths = append(paths, change.Path)
	}
	paths = append(snapshot.ChangedSince(repo.Worktree, paths, since), c.Uncertain...)
	slices.Sort(paths)
	paths = slices.Compact(paths)
	c.Uncertain = paths[:min(maxUncertain, len(paths))]
}

// CutLists counts the lists of paths of c and cuts them to what its message
// holds; what is longer is kept beside.
func CutLists(c *record.Checkpoint, kept *beside.Content) {
	if len(c.With) == 0 {
		c.Named = nil // nobody asks
	}
	cut := func(list *[]string, count *int, long *[]string) {
		if *count = len(*list); *count > record.MaxNamed {
			*long = *list
			*list = slices.Clone((*list)[:record.MaxNamed])
		}
	}
	cut(&c.Uncertain, &c.UncertainCount, &kept.Uncertain)
	cut(&c.Named, &c.NamedCount, &kept.Named)
}

// Together gives the turn with whose late save a turn may have been saved, which
// began at since and had base: that save was written when this turn had begun; 0:
// there is none.
func Together(list []record.Checkpoint, turn int, base *record.Base, since time.Time) int {
	if base == nil || since.IsZero() {
		return 0
	}
	i := slices.IndexFunc(list, func(c record.Checkpoint) bool { return c.N == base.Number })
	if i < 0 {
		return 0
	}
	c := list[i]
	if c.Kind != record.KindTurn || c.Turn == turn || c.UncertainCount == 0 || !since.Before(c.At) {
		return 0
	}
	return c.Turn
}
