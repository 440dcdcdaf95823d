// Package trash knows the checkpoints that were dropped and can come back for a
// while.
package trash

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// For is how long a dropped checkpoint can come back.
const For = 7 * 24 * time.Hour

// Trashed is a checkpoint in the trash.
type Trashed struct {
	record.Checkpoint           // as it was; Damaged where it cannot come back
	Dropped           time.Time // zero: not known
	Until             time.Time // when it goes for good

	ref string // what its ref in the trash holds
}

// List lists the trash of a pane (empty: of all panes of the repository), by pane
// and number.
func List(ctx context.Context, repo *git.Repo, pane string) ([]Trashed, error) {
	refs, err := record.ReadTrash(ctx, repo, pane)
	if err != nil {
		return nil, err
	}
	return Read(ctx, repo, refs)
}

// Read reads the checkpoints that refs in the trash keep, by pane and number.
func Read(ctx context.Context, repo *git.Repo, refs []record.Trashed) ([]Trashed, error) {
	var ids []string
	for _, t := range refs {
		if t.Kept != "" {
			ids = append(ids, t.Kept)
		}
	}
	commits, err := repo.Commits(ctx, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Trashed, 0, len(refs))
	for _, t := range refs {
		one := Trashed{Checkpoint: record.Checkpoint{N: t.N, Turn: t.Turn, Pane: record.Pane{ID: t.Pane}, Damaged: t.Damaged}, ref: t.Commit}
		if t.Damaged == "" {
			one.Checkpoint = record.FromCommit(t.Pane, t.N, commits[t.Kept])
			one.Dropped, one.Until = t.At, t.At.Add(For)
		}
		one.Ref = t.Ref
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Trashed) int {
		return cmp.Or(cmp.Compare(a.Pane.ID, b.Pane.ID), cmp.Compare(a.N, b.N))
	})
	return list, nil
}

// Back tells how numbers of the pane in h come back from list, under their old
// numbers. One that is not there, is damaged, or whose number is taken is an error.
func Back(h *record.Held, list []Trashed, numbers []int) (back []record.Checkpoint, changes []git.RefChange, err error) {
	pane := h.Pane.ID
	for _, n := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		i := slices.IndexFunc(list, func(t Trashed) bool { return t.N == n })
		if i < 0 {
			return nil, nil, notThere(pane, n, list)
		}
		c := list[i].Checkpoint
		if c.Tree == "" {
			return nil, nil, fail.Broken(n, c.Damaged)
		}
		if _, err := h.Find(n); err == nil {
			return nil, nil, &fail.Error{
				Code: fail.InvalidParams, Message: fmt.Sprintf("pane %s has a checkpoint %d already", pane, n), Numbers: []int{n}, Detail: "drop that one first",
			}
		}
		changes = append(changes, git.RefChange{Name: c.Ref, Old: list[i].ref}, git.RefChange{Name: record.CheckpointRef(pane, n), New: c.Commit})
		c.Ref = record.CheckpointRef(pane, n)
		back = append(back, c)
	}
	return back, changes, nil
}

func notThere(pane string, n int, list []Trashed) error {
	e := &fail.Error{Code: fail.NoCheckpoint, Message: fmt.Sprintf("the trash of pane %s has no checkpoint %d", pane, n), Command: "checkpoint list --trash"}
	for _, t := range list {
		e.Numbers = append(e.Numbers, t.N)
	}
	return e
}

// Expired gives the refs in the trash of all panes that are past their time. What
// cannot be read stays.
func Expired(ctx context.Context, repo *git.Repo, now time.Time) ([]git.RefChange, error) {
	refs, err := record.ReadTrash(ctx, repo, "")
	if err != nil {
		return nil, err
	}
	var gone []git.RefChange
	for _, t := range refs {
		if t.Damaged == "" && now.Sub(t.At) > For {
			gone = append(gone, git.RefChange{Name: t.Ref, Old: t.Commit})
		}
	}
	return gone, nil
}
