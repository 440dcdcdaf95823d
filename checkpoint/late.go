package checkpoint

import (
	"context"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/snapshot"
)

// maxUncertain bounds the files that a late save names.
const maxUncertain = 1000

// markLate notes in c whether the agent was let go before the work tree in l was
// seen, and which of the files that differ from the tree from changed since. A
// tree that is gone costs the names, not the save.
func (s *Store) markLate(ctx context.Context, l *looked, c *Checkpoint, from string, letGo func() time.Time) {
	if letGo == nil {
		return
	}
	since := letGo()
	if c.Late = !since.IsZero(); !c.Late || from == "" {
		return
	}
	changes, err := s.repo.ChangedEntries(ctx, from, l.made.Tree)
	if err != nil {
		return
	}
	paths := make([]string, 0, len(changes))
	for _, change := range changes {
		paths = append(paths, change.Path)
	}
	paths = append(snapshot.ChangedSince(s.repo.Worktree, paths, since), c.Uncertain...)
	slices.Sort(paths)
	paths = slices.Compact(paths)
	c.Uncertain = paths[:min(maxUncertain, len(paths))]
}

// longLists counts the lists of paths of c and cuts them to what its message
// holds; what is longer is kept beside.
func longLists(c *Checkpoint, kept *beside.Content) {
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

// together gives the turn whose late save may hold what the turn of r did: it was
// written when that turn had begun; 0: there is none.
func (l *looked) together(r SaveRequest) int {
	if r.Base == nil || r.Since.IsZero() {
		return 0
	}
	i := slices.IndexFunc(l.Checkpoints, func(c Checkpoint) bool { return c.N == r.Base.Number })
	if i < 0 {
		return 0
	}
	c := l.Checkpoints[i]
	if c.Kind != KindTurn || c.Turn == r.Turn || c.UncertainCount == 0 || !r.Since.Before(c.At) {
		return 0
	}
	return c.Turn
}
