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

const (
	keepSafety    = 20             // safety checkpoints of a pane
	keepSafetyFor = 24 * time.Hour // a younger one always stays
)

// expired names the checkpoints of a pane that are past the limits: turns by
// their number, with all that was saved in them; safety checkpoints by number
// and age; manual ones never. Numbers in pinned stay.
func (s *Store) expired(all []Checkpoint, pinned []int) []Checkpoint {
	keep := max(1, s.limits().Keep)
	var turns []int
	safeties := 0
	var out []Checkpoint
	for i := len(all) - 1; i >= 0; i-- {
		c := all[i]
		gone := false
		switch c.Kind {
		case KindTurn, KindStart, KindConversation:
			if !slices.Contains(turns, c.Turn) {
				turns = append(turns, c.Turn)
			}
			gone = slices.Index(turns, c.Turn) >= keep
		case KindSafety:
			safeties++
			gone = safeties > keepSafety && s.now().Sub(c.At) > keepSafetyFor
		}
		if gone && !slices.Contains(pinned, c.N) {
			out = append(out, c)
		}
	}
	return out
}

// Drop deletes checkpoints of a pane and returns what they were. Either all of
// the numbers are there, or nothing is deleted. Git keeps their objects until
// its own gc.
func (s *Store) Drop(ctx context.Context, pane string, numbers []int) ([]Checkpoint, error) {
	if err := checkPane(pane); err != nil {
		return nil, err
	}
	var dropped []Checkpoint
	err := s.locked(ctx, func() error {
		dropped = nil
		h, err := record.Read(ctx, s.repo, pane)
		if err != nil {
			return err
		}
		if i, err := s.Interrupted(); err == nil && i != nil && i.Pane.ID == pane && (slices.Contains(numbers, i.N) || slices.Contains(numbers, i.Safety)) {
			return s.notInterrupted()
		}
		slices.Sort(numbers)
		for _, n := range slices.Compact(numbers) {
			c, err := h.Find(n)
			if err != nil {
				return err
			}
			dropped = append(dropped, *c)
		}
		return s.deleteRefs(ctx, h, dropped)
	})
	if err != nil {
		return nil, err
	}
	return dropped, nil
}

// deleteRefs deletes the refs of list. The pane's own ref remembers the highest
// number, so that none is used twice.
func (s *Store) deleteRefs(ctx context.Context, h *record.Held, list []Checkpoint) error {
	changes := make([]git.RefChange, 0, len(list))
	for _, c := range list {
		changes = append(changes, git.RefChange{Name: c.Ref, Old: c.Commit})
	}
	if len(changes) == 0 {
		return nil
	}
	if h.Pane.ID == "" {
		return s.repo.UpdateRefs(ctx, changes)
	}
	return s.writePane(ctx, &h.Pane, h.Pane, changes)
}

// Prune deletes, in all panes of the repository, the checkpoints older than the
// given age; 0 applies the limits alone. The newest checkpoint of every pane and
// manual ones stay. With dryRun it only says what it would delete.
func (s *Store) Prune(ctx context.Context, olderThan time.Duration, dryRun bool) ([]Checkpoint, error) {
	if olderThan < 0 {
		return nil, &Error{Code: InvalidParams, Message: fmt.Sprintf("an age of %s is negative", olderThan)}
	}
	var list []Checkpoint
	err := s.locked(ctx, func() error {
		all, err := record.Read(ctx, s.repo, "")
		if err != nil {
			return err
		}
		list = nil
		for _, group := range byPane(all.Checkpoints) {
			list = append(list, s.expired(group, nil)...)
			if olderThan > 0 {
				list = append(list, s.olderThan(group, olderThan)...)
			}
		}
		slices.SortFunc(list, func(a, b Checkpoint) int {
			if a.Pane.ID != b.Pane.ID {
				return compare(a.Pane.ID, b.Pane.ID)
			}
			return a.N - b.N
		})
		list = slices.CompactFunc(list, func(a, b Checkpoint) bool { return a.Ref == b.Ref })
		if dryRun {
			return nil
		}
		return s.deleteRefs(ctx, all, list)
	})
	return list, err
}

func (s *Store) olderThan(group []Checkpoint, age time.Duration) []Checkpoint {
	var out []Checkpoint
	for _, c := range group[:len(group)-1] {
		if c.Kind != KindManual && c.Damaged == "" && s.now().Sub(c.At) > age {
			out = append(out, c)
		}
	}
	return out
}

// byPane splits a sorted list into one list a pane.
func byPane(all []Checkpoint) [][]Checkpoint {
	var groups [][]Checkpoint
	for i := range all {
		if i == 0 || all[i].Pane.ID != all[i-1].Pane.ID {
			groups = append(groups, nil)
		}
		g := &groups[len(groups)-1]
		*g = append(*g, all[i])
	}
	return groups
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Branch makes a branch with a new commit that has n's tree, n's HEAD as its
// only parent, the user's identity, and n's label as its message. Nothing of
// ours goes with it.
func (s *Store) Branch(ctx context.Context, pane string, n int, name string) (commit string, err error) {
	if err := checkPane(pane); err != nil {
		return "", err
	}
	h, err := record.Read(ctx, s.repo, pane)
	if err != nil {
		return "", fail.From(err)
	}
	c, err := h.Find(n)
	if err != nil {
		return "", err
	}
	if c.Damaged != "" {
		return "", fail.Broken(n, c.Damaged)
	}
	message := c.Label
	if message == "" {
		message = fmt.Sprintf("checkpoint %d", n)
	}
	if commit, err = s.repo.CommitAsUser(ctx, c.Tree, c.Head, message+"\n"); err != nil {
		return "", fail.From(err)
	}
	if err := s.repo.Branch(ctx, name, commit); err != nil {
		return "", branchError(name, err)
	}
	return commit, nil
}

func branchError(name string, err error) error {
	switch {
	case fail.IsBadPath(err):
		return &Error{Code: InvalidParams, Message: fmt.Sprintf("%q is not a valid name for a branch", name), Err: err}
	case fail.IsRefMoved(err):
		return &Error{Code: InvalidParams, Message: fmt.Sprintf("there is a branch %q already, or one that stands in its way", name), Detail: "choose another name", Err: err}
	}
	return fail.From(err)
}
