package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/retention"
	"github.com/turnback/turnback/checkpoint/trash"
	"github.com/turnback/turnback/checkpoint/trees"
	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
)

// farPast is by how many checkpoints a pane may be past its limits before a save
// itself lets go of them; else that waits for Retain.
const farPast = 20

// rules are the limits as they are now.
func (s *Store) rules(pinned func(pane string, n int) bool) retention.Rules {
	l := s.limits()
	return retention.Rules{Now: s.now(), Keep: l.Keep, GoneFor: l.GoneFor, Pinned: pinned}
}

// overdue gives what a save of a pane has to let go of, so that no pane grows
// without bound where nothing calls Retain. The numbers in pinned stay.
func (s *Store) overdue(all []Checkpoint, pinned []int) []Checkpoint {
	expired := s.rules(func(_ string, n int) bool { return slices.Contains(pinned, n) }).Expired(all)
	if len(expired) > 0 {
		s.due.Store(true)
	}
	if len(expired) <= farPast {
		return nil
	}
	return expired
}

const (
	// atOnce is how many refs Retain deletes in one transaction: git makes and removes
	// a lock file for each, half a millisecond where nothing else is going on.
	atOnce = 100
	// passFor is how long a call of Retain goes on to begin transactions.
	passFor = 400 * time.Millisecond
)

// retainEvery is how often Retain looks although no save found anything to do.
const retainEvery = 24 * time.Hour

// Retain lets go of what is past the limits, in all panes of the repository, and
// of what is in the trash for too long, some hundreds in a call; also of what no limit
// alone would tell a save of: panes that are gone, refs whose commit is missing. It does nothing when no save of
// this store found anything past a limit and the last time is less than a day ago,
// and while another process works on one of the repository's work trees. It is for
// the time after a reply: it may be called often, and stopped at any time.
func (s *Store) Retain(ctx context.Context) (gone []Checkpoint, err error) {
	if !s.due.Load() && s.now().Sub(s.retained()) < retainEvery {
		return nil, nil
	}
	unlock, err := trees.TryLock(s.dir)
	if err != nil || unlock == nil {
		return nil, fail.From(err)
	}
	defer func() { err = fail.From(errors.Join(err, unlock())) }()
	if _, err := s.DropBroken(ctx); err != nil {
		return nil, err
	}
	return s.letGo(ctx, 0, passFor, false)
}

// Prune lets go, in all panes of the repository, of the checkpoints older than the
// given age, and of all that Retain would; 0 applies the limits alone. The newest
// checkpoint of every pane and manual ones stay. With dryRun it only says what
// would go.
func (s *Store) Prune(ctx context.Context, olderThan time.Duration, dryRun bool) ([]Checkpoint, error) {
	if olderThan < 0 {
		return nil, &Error{Code: InvalidParams, Message: fmt.Sprintf("an age of %s is negative", olderThan)}
	}
	var list []Checkpoint
	err := s.lockedAll(ctx, func() (err error) {
		list, err = s.letGo(ctx, olderThan, 0, dryRun)
		return err
	})
	return list, err
}

// letGo deletes what is past the limits, and older than an age that is not 0: all in one
// transaction, or with a time to keep to in small ones; the rest is due then. All work
// trees are locked.
func (s *Store) letGo(ctx context.Context, olderThan, within time.Duration, dryRun bool) ([]Checkpoint, error) {
	began := time.Now()
	pinned, err := s.pins()
	if err != nil {
		return nil, err
	}
	all, err := record.Read(ctx, s.repo, "")
	if err != nil {
		return nil, err
	}
	changes, err := trash.Expired(ctx, s.repo, s.now())
	if err != nil {
		return nil, err
	}
	rules := s.rules(pinned)
	if s.gone != nil {
		rules.Gone = s.gone(s.repo.CommonDir)
	}
	list := rules.Over(all, olderThan)
	if dryRun {
		return list, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fromTrash, done := len(changes), 0
	for _, c := range list {
		changes = append(changes, git.RefChange{Name: c.Ref, Old: c.Commit})
	}
	size := max(1, len(changes))
	if within > 0 {
		size = atOnce
	}
	for chunk := range slices.Chunk(changes, size) {
		if done > 0 && time.Since(began) > within {
			break
		}
		if err := s.updateRefs(ctx, chunk); err != nil {
			return list[:max(0, done-fromTrash)], err
		}
		done += len(chunk)
	}
	s.due.Store(done < len(changes))
	return list[:max(0, done-fromTrash)], files.Replace(s.retainedPath(), nil)
}

// retainedPath is a file whose time says when the limits were applied last.
func (s *Store) retainedPath() string { return filepath.Join(s.repo.CommonDir, "turnback", "retained") }

func (s *Store) retained() time.Time {
	st, err := os.Stat(s.retainedPath())
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// pins tells which checkpoints the restores need that were interrupted in any work
// tree of the repository.
func (s *Store) pins() (func(pane string, n int) bool, error) { return trees.Pins(filepath.Dir(s.dir)) }

// lockedAll runs f while no other process works on any work tree of the repository.
func (s *Store) lockedAll(ctx context.Context, f func() error) error {
	if err := trees.CheckOwn(s.repo.CommonDir, s.dir); err != nil {
		return err
	}
	s.tending.Clear()
	unlock, err := trees.Lock(s.dir, func(path string) (*files.Lock, error) { return files.WaitLock(ctx, path) })
	if err != nil {
		return fail.From(err)
	}
	return fail.From(errors.Join(f(), s.repo.Discard(), unlock()))
}
