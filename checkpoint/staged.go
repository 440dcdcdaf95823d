package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/indexfile"
)

// RestoreStaged makes the user's index what it was when checkpoint N was taken, and
// changes nothing else: no file, not HEAD. What was staged then is staged again,
// entries in conflict and the intent to add too; all else is as the HEAD of then
// has it, so after commits `git status` shows those as staged changes. Of the
// entries that have to be written, those that were staged get back their flags
// (skip-worktree, assume-unchanged); of the others git does without those that it
// does without now. Flags of further entries stay. It first saves a safety
// checkpoint, whose index can be put back in the same way. It fails with IndexBusy
// while git holds the index's lock or a merge, rebase, cherry-pick, revert, bisect
// or am is under way. Written and Removed of the result are paths of the index.
func (s *Store) RestoreStaged(ctx context.Context, r RestoreRequest) (RestoreResult, error) {
	res := RestoreResult{N: r.N, Staged: true}
	if err := errors.Join(checkPane(r.Pane.ID), fail.CheckPaths(r.Paths)); err != nil {
		return res, err
	}
	if r.DryRun && !s.rehearses {
		return s.rehearse(func(d *Store) (RestoreResult, error) { return d.RestoreStaged(ctx, r) })
	}
	err := s.withCheckpoint(ctx, r, func(l *looked, c *Checkpoint) error {
		if err := s.indexFree(); err != nil {
			return err
		}
		return s.restoreStaged(ctx, l, &res, *c, r)
	})
	return res, err
}

func (s *Store) restoreStaged(ctx context.Context, l *looked, res *RestoreResult, c Checkpoint, r RestoreRequest) error {
	_, sum, err := indexfile.Read(s.repo.UserIndex())
	if err != nil {
		return err
	}
	if err := s.see(ctx, l, nil, nil); err != nil {
		return err
	}
	if err := plan.CheckPlace(c, s.repo.Worktree, l.head, r.Here); err != nil {
		return err
	}
	kept, err := s.readBeside(ctx, c.N, c.Beside, c.Looked)
	if err != nil {
		return err
	}
	edits, err := s.planner.Staged(ctx, c, kept.Index, l.made.Index, r.Paths)
	if err != nil {
		return err
	}
	for _, e := range edits {
		if len(e.Entries) == 0 {
			res.Removed = append(res.Removed, e.Path)
		} else {
			res.Written = append(res.Written, e.Path)
		}
	}
	if r.DryRun {
		return nil
	}
	if r.Check != nil {
		if err := r.Check(ctx); err != nil {
			return err
		}
	}
	safety := &Checkpoint{
		Kind: KindSafety, Pane: r.Pane, Turn: r.Turn, State: r.State,
		Label: fmt.Sprintf("before restoring the index of checkpoint %d", c.N),
	}
	safety.Of(r.Talk)
	if err := s.record(ctx, l, safety, []int{c.N}); err != nil {
		return err
	}
	res.Safety = safety
	return s.writeIndex(ctx, res, sum, edits)
}

func (s *Store) writeIndex(ctx context.Context, res *RestoreResult, sum indexfile.Sum, edits []git.IndexEdit) error {
	if len(edits) == 0 {
		return nil
	}
	if err := s.indexFree(); err != nil {
		return err
	}
	var lost []string
	err := indexfile.Rewrite(s.repo.UserIndex(), s.dir, sum, func(private string) (err error) {
		lost, err = s.repo.EditIndex(ctx, private, edits)
		return err
	})
	switch {
	case errors.Is(err, indexfile.ErrLocked):
		return indexBusy("git holds its lock (index.lock)", err)
	case errors.Is(err, indexfile.ErrChanged):
		return &Error{Code: ChangedMeanwhile, Message: "the index was changed while it was to be restored; nothing was restored", Detail: "restore again", Err: err}
	}
	for _, path := range lost {
		res.Notes = append(res.Notes, fmt.Sprintf("%q is not there, so there is no intent to add it", path))
	}
	return err
}

// indexFree refuses while the index is not to be written.
func (s *Store) indexFree() error {
	why, err := indexfile.Busy(s.repo.GitDir)
	if err != nil || why == "" {
		return err
	}
	return indexBusy(why, nil)
}

func indexBusy(why string, err error) error {
	return &Error{Code: IndexBusy, Message: "the index cannot be restored now: " + why, Detail: "finish that first, or end it, then run the command again", Err: err}
}
