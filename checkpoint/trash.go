package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// trashFor is how long a dropped checkpoint can come back.
const trashFor = 7 * 24 * time.Hour

// Trashed is a checkpoint in the trash.
type Trashed struct {
	Checkpoint           // as it was; Damaged where it cannot come back
	Dropped    time.Time // zero: not known
	Until      time.Time // when it goes for good

	ref string // what its ref in the trash holds
}

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
	refs, err := record.ReadTrash(ctx, s.repo, pane)
	if err != nil {
		return nil, fail.From(err)
	}
	list, err := s.trashed(ctx, refs)
	return list, fail.From(err)
}

// trashed reads the checkpoints that refs in the trash keep.
func (s *Store) trashed(ctx context.Context, refs []record.Trashed) ([]Trashed, error) {
	var ids []string
	for _, t := range refs {
		if t.Kept != "" {
			ids = append(ids, t.Kept)
		}
	}
	commits, err := s.repo.Commits(ctx, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Trashed, 0, len(refs))
	for _, t := range refs {
		one := Trashed{Checkpoint: Checkpoint{N: t.N, Turn: t.Turn, Pane: Pane{ID: t.Pane}, Damaged: t.Damaged}, ref: t.Commit}
		if t.Damaged == "" {
			one.Checkpoint = record.FromCommit(t.Pane, t.N, commits[t.Kept])
			one.Dropped, one.Until = t.At, t.At.Add(trashFor)
		}
		one.Ref = t.Ref
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Trashed) int { return byPaneAndNumber(a.Checkpoint, b.Checkpoint) })
	return list, nil
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
		list, err := s.trashed(ctx, h.Trash)
		if err != nil {
			return err
		}
		var changes []git.RefChange
		slices.Sort(numbers)
		for _, n := range slices.Compact(numbers) {
			i := slices.IndexFunc(list, func(t Trashed) bool { return t.N == n })
			if i < 0 {
				return notInTrash(pane, n, list)
			}
			c := list[i].Checkpoint
			if c.Tree == "" {
				return fail.Broken(n, c.Damaged)
			}
			if _, err := h.Find(n); err == nil {
				return &Error{Code: InvalidParams, Message: fmt.Sprintf("pane %s has a checkpoint %d already", pane, n), Numbers: []int{n}, Detail: "drop that one first"}
			}
			changes = append(changes, git.RefChange{Name: c.Ref, Old: list[i].ref}, git.RefChange{Name: record.CheckpointRef(pane, n), New: c.Commit})
			c.Ref = record.CheckpointRef(pane, n)
			back = append(back, c)
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

func notInTrash(pane string, n int, list []Trashed) error {
	e := &Error{Code: NoCheckpoint, Message: fmt.Sprintf("the trash of pane %s has no checkpoint %d", pane, n), Command: "checkpoint list --trash"}
	for _, t := range list {
		e.Numbers = append(e.Numbers, t.N)
	}
	return e
}

// expiredTrash gives the refs in the trash that are past their time.
func (s *Store) expiredTrash(ctx context.Context) ([]git.RefChange, error) {
	refs, err := record.ReadTrash(ctx, s.repo, "")
	if err != nil {
		return nil, err
	}
	var gone []git.RefChange
	for _, t := range refs {
		if t.Damaged == "" && s.now().Sub(t.At) > trashFor {
			gone = append(gone, git.RefChange{Name: t.Ref, Old: t.Commit})
		}
	}
	return gone, nil
}
