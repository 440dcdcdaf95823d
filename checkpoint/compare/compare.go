// Package compare tells how two trees differ, within the limits of a review.
package compare

import (
	"context"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/patch"
)

// Limits of a diff: past them a file keeps its status and counts, and its hunks
// are left away.
const (
	maxDiffFiles = 400
	maxDiffBytes = 2 << 20
	maxFileLines = 5000
)

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

	BytesOnly bool // git stores both alike: only its bytes on disk differ
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

// Options say how much of the difference is wanted.
type Options struct {
	Paths   []string // literal, relative to the root; empty: all
	Stat    bool     // no hunks
	Context int      // lines around a change
	Binary  bool     // binary files as patches
}

// Trees fills in d what differs between two trees.
func Trees(ctx context.Context, repo *git.Repo, d *Diff, from, to string, r Options) error {
	changes, err := repo.Stat(ctx, from, to, r.Paths)
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
	if err := repo.Patch(ctx, from, to, r.Context, r.Binary, r.Paths, w); err != nil {
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
