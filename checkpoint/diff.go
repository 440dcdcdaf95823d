package checkpoint

import (
	"context"
	"fmt"
	"strings"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/patch"
)

// Limits of a diff: past them a file keeps its status and counts, and its hunks
// are left away.
const (
	maxDiffFiles = 400
	maxDiffBytes = 2 << 20
	maxFileLines = 5000
	maxContext   = 20
)

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

// FileDiff is one file of a diff.
type FileDiff struct {
	Status    byte // A, M, D, R, T
	Path      string
	OldPath   string // R
	Added     int    // lines
	Deleted   int
	Binary    bool
	Submodule bool
	Cut       bool // its hunks are not in the patch
}

// Diff is a comparison of two trees.
type Diff struct {
	Subject string // "Checkpoint 2"
	Against string // "checkpoint 1"
	Files   []FileDiff
	Added   int // lines, of all files
	Deleted int
	Patch   []byte
	Cut     bool   // some hunks are not in the patch
	Note    string // why there is nothing to compare with
}

// Diff compares. Without From and To it shows what checkpoint N changed against
// its base.
func (s *Store) Diff(ctx context.Context, r DiffRequest) (Diff, error) {
	if r.Context < 0 || r.Context > maxContext {
		return Diff{}, &Error{Code: InvalidParams, Message: fmt.Sprintf("context %d is not in 0 to %d", r.Context, maxContext)}
	}
	if err := checkPaths(r.Paths); err != nil {
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
	if err := s.compareTrees(ctx, &d, from, to, r); err != nil {
		return Diff{}, fail.From(plan.AsDamaged(plan.Target{Name: d.Subject}, err))
	}
	return d, nil
}

// checkPaths refuses paths that name nothing in a work tree.
func checkPaths(paths []string) error {
	for _, p := range paths {
		if err := git.CheckPath(strings.TrimSuffix(p, "/")); err != nil {
			return &Error{Code: InvalidParams, Message: fmt.Sprintf("%q is no path in the work tree", p), Detail: "paths are relative to the root of the work tree, without . and ..", Err: err}
		}
	}
	return nil
}

// sides finds the trees to compare and names them in d.
func (s *Store) sides(ctx context.Context, h *record.Held, r DiffRequest) (from, to string, d Diff, err error) {
	if r.From > 0 || r.To > 0 {
		a, err := h.Sound(r.From)
		if err != nil {
			return "", "", d, err
		}
		b, err := h.Sound(r.To)
		if err != nil {
			return "", "", d, err
		}
		return a.Tree, b.Tree, Diff{Subject: fmt.Sprintf("Checkpoint %d", b.N), Against: fmt.Sprintf("checkpoint %d", a.N)}, nil
	}
	c, err := h.Pick(r.N)
	if err != nil {
		return "", "", d, err
	}
	if c.Damaged != "" {
		return "", "", d, fail.Broken(c.N, c.Damaged)
	}
	if r.Worktree {
		err := s.locked(ctx, func() error {
			l, err := s.look(ctx, r.Pane, nil, nil)
			if err == nil {
				to = l.made.Tree
			}
			return err
		})
		return c.Tree, to, Diff{Subject: "The work tree now", Against: fmt.Sprintf("checkpoint %d", c.N)}, err
	}
	d.Subject = fmt.Sprintf("Checkpoint %d", c.N)
	from, err = s.baseTree(ctx, h, c, &d)
	return from, c.Tree, d, err
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
	return c.Head + "^{tree}", nil
}

func (s *Store) compareTrees(ctx context.Context, d *Diff, from, to string, r DiffRequest) error {
	changes, err := s.repo.Stat(ctx, from, to, r.Paths)
	if err != nil {
		return err
	}
	for _, c := range changes {
		d.Files = append(d.Files, FileDiff{
			Status: c.Status, Path: c.Path, OldPath: c.OldPath, Added: c.Added, Deleted: c.Deleted, Binary: c.Binary,
			Submodule: c.OldMode == git.ModeGitlink || c.NewMode == git.ModeGitlink,
		})
		d.Added += c.Added
		d.Deleted += c.Deleted
	}
	if r.Stat || len(changes) == 0 {
		return nil
	}
	w := &patch.Keeper{MaxFiles: maxDiffFiles, MaxBytes: maxDiffBytes, MaxLines: maxFileLines}
	if err := s.repo.Patch(ctx, from, to, r.Context, r.Binary, r.Paths, w); err != nil {
		return err
	}
	d.Patch = w.Finish()
	d.markCut(w.Kept())
	return nil
}

// markCut notes which files are not in the patch; kept tells it for each of the
// patch's sections. A change of kind has two, a removal and a creation.
func (d *Diff) markCut(kept []bool) {
	section := func() bool {
		if len(kept) == 0 {
			return false
		}
		first := kept[0]
		kept = kept[1:]
		return first
	}
	for i := range d.Files {
		f := &d.Files[i]
		whole := section()
		if f.Status == 'T' {
			whole = section() && whole
		}
		f.Cut = !whole
		d.Cut = d.Cut || f.Cut
	}
}
