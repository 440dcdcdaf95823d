package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/turnback/turnback/checkpoint/company"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/merge"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// Revert takes back only what checkpoint N changed, as Diff shows it for N alone,
// and keeps what was changed later: a three-way merge of the work tree with N's
// base, path by path and line by line. It is carried out like a restore, with a
// safety checkpoint. What other panes' turns changed at the same time stops it
// (OthersChanged), unless the request says what to do about it. It fails with
// Conflicts, and the paths, where later changes and those of N do not go apart; with
// NothingToUndo where N changed nothing or its base was pruned. A refusal changes
// nothing.
func (s *Store) Revert(ctx context.Context, r RestoreRequest) (RestoreResult, error) {
	res := RestoreResult{N: r.N}
	if err := errors.Join(checkPane(r.Pane.ID), fail.CheckPaths(r.Paths), checkFlags(r)); err != nil {
		return res, err
	}
	if r.DryRun && !s.rehearses {
		return s.rehearse(func(d *Store) (RestoreResult, error) { return d.Revert(ctx, r) })
	}
	err := s.withCheckpoint(ctx, r, func(l *looked, c *Checkpoint) error {
		rev, err := s.planRevert(ctx, l.Held, *c)
		if err != nil {
			return err
		}
		var o *company.Company
		p, err := s.lookAndPlan(ctx, l, r.Paths, func() (plan.Target, error) {
			if err := plan.CheckPlace(*c, s.repo.Worktree, l.head, r.Here); err != nil {
				return plan.Target{}, err
			}
			o = s.others(r, l).In(rev.period, rev.since)
			to, err := s.mergedTarget(ctx, l, rev, o)
			to.Overwrite = r.Overwrite
			return to, err
		})
		if err == nil {
			err = o.Check(ctx, p)
		}
		if err != nil {
			return err
		}
		res.Turn, res.HeadHolds = c.Turn, plan.HeadHolds(*c, l.head)
		res.note(o)
		return s.carryOut(ctx, &res, l, p, job{
			action: actionRevert, to: plan.Target{N: c.N}, request: r, undone: record.Closed(l.Pane.Undone), shared: o.Shared(),
			label: fmt.Sprintf("before reverting checkpoint %d", c.N),
		})
	})
	return res, err
}

const actionRevert = "revert"

// reverting is what a revert takes back.
type reverting struct {
	turn    Checkpoint
	base    string       // the tree that the changes were made to
	bytes   plan.Bytes   // of it
	changes []git.Change // from turn to base
	period  company.Period
	since   string // what the period began with, for people
	leftOut []LeftOut
}

func (s *Store) planRevert(ctx context.Context, h *record.Held, c Checkpoint) (reverting, error) {
	var d Diff
	rev := reverting{turn: c}
	var err error
	if rev.base, err = s.baseTree(ctx, h, &c, &d); err != nil {
		return rev, err
	}
	if d.Note != "" {
		return rev, &Error{Code: NothingToUndo, Message: "there is nothing to revert: " + d.Note, Command: "checkpoint list"}
	}
	rev.changes, err = s.repo.ChangedEntries(ctx, c.Tree, rev.base)
	if err != nil {
		return rev, plan.AsDamaged(plan.Target{Name: d.Subject, N: c.N}, err)
	}
	if len(rev.changes) == 0 {
		return rev, &Error{Code: NothingToUndo, Message: fmt.Sprintf("there is nothing to revert: checkpoint %d changed nothing against %s", c.N, d.Against), Command: "checkpoint list"}
	}
	if rev.bytes, err = s.planner.BytesKept(ctx, h.BaseDisk(c)); err != nil {
		return rev, err
	}
	if c.Base != nil {
		rev.period, rev.since = company.During(c), fmt.Sprintf("turn %d began", c.Turn)
		rev.leftOut, err = s.leftOutAround(ctx, h, c)
		return rev, err
	}
	var from time.Time
	if before := h.Before(c.N); before != nil {
		from = before.At
	}
	rev.period, rev.since = company.Until(c, rev.base, from), d.Against
	rev.leftOut, err = s.LeftOutAll(ctx, c)
	return rev, err
}

// mergedTarget is the work tree in l without what rev takes back. o knows whose
// that is.
func (s *Store) mergedTarget(ctx context.Context, l *looked, rev reverting, o *company.Company) (plan.Target, error) {
	name := fmt.Sprintf("checkpoint %d", rev.turn.N)
	wanted, err := o.Wanted(ctx, rev.changes)
	if err != nil {
		return plan.Target{}, err
	}
	merged, err := merge.Merger{Repo: s.repo, Scratch: s.dir}.Merge(ctx, merge.Trees{
		Base: rev.turn.Tree, Ours: l.made.Tree, Theirs: rev.base, Wanted: wanted,
	})
	if err != nil {
		return plan.Target{}, plan.AsDamaged(plan.Target{Name: name, N: rev.turn.N}, err)
	}
	if len(merged.Conflicts) > 0 {
		// Other panes' files need not be taken back: --mine may do without a conflict.
		if err := o.CheckPaths(ctx, merged.Conflicts); err != nil {
			return plan.Target{}, err
		}
		return plan.Target{}, &Error{
			Code: Conflicts, Paths: merged.Conflicts,
			Message: fmt.Sprintf("%s cannot be taken back alone, later changes are in the same places: %s", name, fail.Quoted(merged.Conflicts)),
			Detail:  "take back the later turns first, or restore single files with --path",
			Command: fmt.Sprintf("checkpoint diff %d", rev.turn.N),
		}
	}
	return company.Part(plan.Target{
		Bytes: rev.bytes, BytesOf: rev.base, Name: "the work tree without " + name, Head: l.head.Commit, LeftOut: rev.leftOut,
	}, merged), nil
}
