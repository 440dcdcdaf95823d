package checkpoint

import (
	"cmp"
	"context"
	"fmt"

	"github.com/turnback/turnback/checkpoint/compare"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/record"
)

// What Diff gives; see package compare.
type (
	Diff     = compare.Diff
	FileDiff = compare.FileDiff
)

// maxContext is the most lines around a change.
const maxContext = 20

// DiffRequest says what to compare.
type DiffRequest struct {
	Pane     string
	N        int      // the checkpoint; 0: the newest
	From, To int      // when both are set: these two instead
	Worktree bool     // N with the disk now
	Paths    []string // literal, relative to the root; empty: all
	Stat     bool     // no hunks
	Context  int      // lines around a change, 0 to 20
	Binary   bool     // binary files as patches
}

// Diff compares. Without From and To it shows what checkpoint N changed against
// its base.
func (s *Store) Diff(ctx context.Context, r DiffRequest) (Diff, error) {
	if r.Context < 0 || r.Context > maxContext {
		return Diff{}, &Error{Code: InvalidParams, Message: fmt.Sprintf("context %d is not in 0 to %d", r.Context, maxContext)}
	}
	if err := fail.CheckPaths(r.Paths); err != nil {
		return Diff{}, err
	}
	if err := checkPane(r.Pane); err != nil {
		return Diff{}, err
	}
	h, err := record.Read(ctx, s.repo, r.Pane)
	if err != nil {
		return Diff{}, fail.From(err)
	}
	from, to, d, err := s.sides(ctx, h, r)
	if err != nil || d.Note != "" {
		return d, fail.From(err)
	}
	o := compare.Options{Paths: r.Paths, Stat: r.Stat, Context: r.Context, Binary: r.Binary}
	err = compare.Trees(ctx, s.repo, &d, from.Tree, to.Tree, o)
	if err == nil {
		err = compare.OtherBytes(ctx, s.repo, &d, from, to, r.Paths)
	}
	if err != nil {
		return Diff{}, fail.From(plan.AsDamaged(plan.Target{Name: d.Subject}, err))
	}
	return d, nil
}

// sides finds the trees to compare and names them in d.
func (s *Store) sides(ctx context.Context, h *record.Held, r DiffRequest) (from, to compare.Side, d Diff, err error) {
	if r.From > 0 || r.To > 0 {
		a, err := h.Sound(r.From)
		if err != nil {
			return from, to, d, err
		}
		b, err := h.Sound(r.To)
		if err != nil {
			return from, to, d, err
		}
		return compare.SideOf(a.Tree, a.Disk), compare.SideOf(b.Tree, b.Disk), Diff{Subject: fmt.Sprintf("Checkpoint %d", b.N), Against: fmt.Sprintf("checkpoint %d", a.N)}, nil
	}
	c, err := h.Pick(r.N)
	if err != nil {
		return from, to, d, err
	}
	if c.Damaged != "" {
		return from, to, d, fail.Broken(c.N, c.Damaged)
	}
	if r.Worktree {
		err := s.locked(ctx, func() error {
			l, err := s.look(ctx, r.Pane, nil, nil)
			if err != nil {
				return err
			}
			to = compare.Side{Tree: l.made.Tree, Bytes: l.made.Bytes, Known: true}
			return s.repo.Flush() // the comparison comes after the lock
		})
		return compare.SideOf(c.Tree, c.Disk), to, Diff{Subject: "The work tree now", Against: fmt.Sprintf("checkpoint %d", c.N)}, err
	}
	d.Subject = fmt.Sprintf("Checkpoint %d", c.N)
	base, err := s.baseTree(ctx, h, c, &d)
	return compare.SideOf(base, h.BaseDisk(*c)), compare.SideOf(c.Tree, c.Disk), d, err
}

// baseTree is what c is compared with: the base of its turn; for kinds without
// one the pane's checkpoint before, else HEAD.
func (s *Store) baseTree(ctx context.Context, h *record.Held, c *Checkpoint, d *Diff) (string, error) {
	if c.Base != nil {
		d.Against = c.Base.Name
		missing, err := s.repo.Missing(ctx, []string{c.Base.Tree})
		if err == nil && len(missing) > 0 {
			d.Note = fmt.Sprintf("base of turn %d was pruned", c.Turn)
		}
		return c.Base.Tree, err
	}
	if before := h.Before(c.N); before != nil && before.Damaged == "" {
		d.Against = fmt.Sprintf("checkpoint %d", before.N)
		return before.Tree, nil
	}
	if c.Head == "" {
		d.Against = "an empty tree"
		return s.emptyTree(ctx)
	}
	d.Against = "HEAD " + short(c.Head)
	commits, err := s.repo.Commits(ctx, []string{c.Head})
	return cmp.Or(commits[c.Head].Tree, c.Head), err
}
