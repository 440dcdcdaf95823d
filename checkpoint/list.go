package checkpoint

import (
	"context"
	"slices"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/kept"
	"github.com/turnback/turnback/checkpoint/record"
)

// List reads the checkpoints of a pane.
func (s *Store) List(ctx context.Context, pane string) (PaneInfo, error) {
	if err := checkPane(pane); err != nil {
		return PaneInfo{}, err
	}
	h, err := record.Read(ctx, s.repo, pane)
	if err != nil {
		return PaneInfo{}, fail.From(err)
	}
	return h.Info(h.Pane, h.Checkpoints), nil
}

// ListAll reads the checkpoints of every pane of the repository, by pane id.
func (s *Store) ListAll(ctx context.Context) ([]PaneInfo, error) {
	h, err := record.Read(ctx, s.repo, "")
	if err != nil {
		return nil, fail.From(err)
	}
	byID := map[string]*PaneInfo{}
	var order []string
	add := func(id string) *PaneInfo {
		if byID[id] == nil {
			byID[id] = &PaneInfo{Pane: Pane{ID: id}}
			order = append(order, id)
		}
		return byID[id]
	}
	for _, p := range h.Panes {
		*add(p.ID) = h.Info(p, nil)
	}
	for _, c := range h.Checkpoints {
		info := add(c.Pane.ID)
		info.Checkpoints = append(info.Checkpoints, c)
		if info.Window == "" {
			info.Pane, info.Worktree = c.Pane, c.Worktree
		}
	}
	slices.Sort(order)
	out := make([]PaneInfo, 0, len(order))
	for _, id := range order {
		out = append(out, *byID[id])
	}
	return out, nil
}

// Get reads checkpoint n of a pane; 0 is the newest.
func (s *Store) Get(ctx context.Context, pane string, n int) (Checkpoint, error) {
	if err := checkPane(pane); err != nil {
		return Checkpoint{}, err
	}
	h, err := record.Read(ctx, s.repo, pane)
	if err != nil {
		return Checkpoint{}, fail.From(err)
	}
	c, err := h.Pick(n)
	if err != nil {
		return Checkpoint{}, err
	}
	return *c, nil
}

// LeftOutAll is the complete list of what a checkpoint left out.
func (s *Store) LeftOutAll(ctx context.Context, c Checkpoint) ([]LeftOut, error) {
	if c.Beside == "" {
		return c.LeftOut, nil
	}
	return s.leftOutIn(ctx, c.N, c.Beside)
}

// Kept is a kind of what is kept beside a checkpoint; see package kept.
type Kept = kept.Kind

// Kept lists what is kept with a checkpoint beside its tree, but for what it left
// out and the lists of a turn.
func (s *Store) Kept(ctx context.Context, c Checkpoint) ([]Kept, error) {
	content, err := s.readBeside(ctx, c.N, c.Beside, c.Looked)
	if err != nil {
		return nil, err
	}
	list, err := kept.List(ctx, s.repo, content)
	return list, fail.From(err)
}

// leftOutIn reads the complete list that a commit keeps beside checkpoint n.
func (s *Store) leftOutIn(ctx context.Context, n int, commit string) ([]LeftOut, error) {
	c, err := s.readBeside(ctx, n, commit, nil)
	return leftOutOf(c), err
}

func leftOutOf(c beside.Content) []LeftOut {
	list := make([]LeftOut, 0, len(c.LeftOut))
	for _, l := range c.LeftOut {
		list = append(list, LeftOut{Path: l.Path, Reason: l.Reason})
	}
	return list
}
