package checkpoint

import (
	"context"
	"fmt"
	"slices"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/trash"
	"github.com/turnback/turnback/internal/git"
)

// Trashed is a checkpoint in the trash; see package trash.
type Trashed = trash.Trashed

// Drop moves checkpoints of a pane to the trash and returns what they were. Either
// all of the numbers are there, or nothing is moved. One whose commit is missing
// cannot be kept; it goes at once.
func (s *Store) Drop(ctx context.Context, pane string, numbers []int) ([]Checkpoint, error) {
	return s.drop(ctx, pane, numbers, false)
}

// DropNow deletes checkpoints of a pane, also those of the numbers that are in the
// trash already. Git keeps their objects until its own gc.
func (s *Store) DropNow(ctx context.Context, pane string, numbers []int) ([]Checkpoint, error) {
	return s.drop(ctx, pane, numbers, true)
}

func (s *Store) drop(ctx context.Context, pane string, numbers []int, now bool) ([]Checkpoint, error) {
	if err := checkPane(pane); err != nil {
		return nil, err
	}
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	var dropped []Checkpoint
	err := s.lockedAll(ctx, func() error {
		dropped = nil
		h, err := record.Read(ctx, s.repo, pane)
		if err != nil {
			return err
		}
		pinned, err := s.pins()
		if err != nil {
			return err
		}
		var changes []git.RefChange
		for _, n := range numbers {
			if pinned(pane, n) {
				return stillNeeded(n)
			}
			c, more, err := s.dropOne(ctx, h, n, now)
			if err != nil {
				return err
			}
			changes, dropped = append(changes, more...), append(dropped, c)
		}
		if len(changes) == 0 {
			return nil
		}
		// The pane's own ref remembers the highest number, so that none is used twice.
		return s.writePane(ctx, &h.Pane, h.Pane, changes)
	})
	if err != nil {
		return nil, err
	}
	return dropped, nil
}

// dropOne gives checkpoint n, and how its ref goes: to the trash, or for good.
func (s *Store) dropOne(ctx context.Context, h *record.Held, n int, now bool) (Checkpoint, []git.RefChange, error) {
	c, err := h.Find(n)
	if err != nil {
		if i := slices.IndexFunc(h.Trash, func(t record.Trashed) bool { return t.N == n }); now && i >= 0 {
			t := h.Trash[i]
			return Checkpoint{N: n, Pane: h.Pane.Pane, Commit: t.Kept, Ref: t.Ref}, []git.RefChange{{Name: t.Ref, Old: t.Commit}}, nil
		}
		return Checkpoint{}, nil, err
	}
	changes := []git.RefChange{{Name: c.Ref, Old: c.Commit}}
	if now || c.Tree == "" {
		return *c, changes, nil
	}
	id, err := s.wrap(ctx, c.Tree, record.TrashMessage(c, s.now()), c.Commit)
	return *c, append(changes, git.RefChange{Name: record.TrashRef(c.Pane.ID, n), New: id}), err
}

// stillNeeded refuses to let go of a checkpoint that a killed restore needs.
func stillNeeded(n int) error {
	return &Error{
		Code: Interrupted, Message: fmt.Sprintf("checkpoint %d is needed by a restore that was interrupted", n), Numbers: []int{n},
		Command: "checkpoint restore --continue", Detail: "--continue finishes it, --abort goes back to the files as they were before",
	}
}

// ListTrash lists the checkpoints in the trash of a pane (empty: of all panes of
// the repository), by pane and number.
func (s *Store) ListTrash(ctx context.Context, pane string) ([]Trashed, error) {
	if pane != "" {
		if err := checkPane(pane); err != nil {
			return nil, err
		}
	}
	list, err := trash.List(ctx, s.repo, pane)
	return list, fail.From(err)
}

// Untrash brings checkpoints of a pane back from the trash, under their old
// numbers. Either all come back, or none.
func (s *Store) Untrash(ctx context.Context, pane string, numbers []int) ([]Checkpoint, error) {
	if err := checkPane(pane); err != nil {
		return nil, err
	}
	var back []Checkpoint
	err := s.lockedAll(ctx, func() error {
		back = nil
		h, err := record.Read(ctx, s.repo, pane)
		if err != nil {
			return err
		}
		list, err := trash.Read(ctx, s.repo, h.Trash)
		if err != nil {
			return err
		}
		var changes []git.RefChange
		if back, changes, err = trash.Back(h, list, numbers); err != nil {
			return err
		}
		return s.updateRefs(ctx, changes)
	})
	if err != nil {
		return nil, err
	}
	return back, nil
}

// updateRefs carries out changes, which need not be any. Once begun it is not
// stopped in the middle: git would leave its locks behind.
func (s *Store) updateRefs(ctx context.Context, changes []git.RefChange) error {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return err
	}
	return s.repo.UpdateRefs(context.WithoutCancel(ctx), changes)
}
