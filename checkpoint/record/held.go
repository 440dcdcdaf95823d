package record

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/internal/git"
)

// Held is what the refs hold of one pane, or of all.
type Held struct {
	Pane        PaneState // of the pane asked for
	Panes       []PaneState
	Checkpoints []Checkpoint      // by pane, then by number
	Extra       map[string]string // further refs asked for, with their commits
	Trash       []Trashed         // of the pane asked for
}

// Refs lists commits at refs below prefixes, as git.Repo does.
type Refs interface {
	SoundRefs(ctx context.Context, prefixes ...string) ([]git.Ref, error)
}

// Read reads the refs of a pane (empty: all panes) in one git process.
// Further refs that exist are in Extra, with the commits that they hold.
func Read(ctx context.Context, refs Refs, pane string, further ...string) (*Held, error) {
	patterns := []string{CheckpointsRoot, PanesRoot}
	if pane != "" {
		patterns = []string{CheckpointsRoot + pane + "/", PanesRoot + pane, TrashRoot + pane + "/"}
	}
	for _, f := range further {
		if f != "" {
			patterns = append(patterns, f)
		}
	}
	list, err := refs.SoundRefs(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	return hold(list, pane), nil
}

// ReadBoth reads the refs of all panes in one git process, and gives what Read
// gives of all and of one.
func ReadBoth(ctx context.Context, refs Refs, pane string, further ...string) (all, one *Held, err error) {
	own := []string{CheckpointsRoot + pane + "/", PanesRoot + pane, TrashRoot + pane + "/"}
	patterns := append([]string{CheckpointsRoot, PanesRoot, TrashRoot + pane + "/"}, further...)
	list, err := refs.SoundRefs(ctx, slices.DeleteFunc(patterns, func(p string) bool { return p == "" })...)
	if err != nil {
		return nil, nil, err
	}
	ofPane := func(ref git.Ref) bool {
		return strings.HasPrefix(ref.Name, own[0]) || ref.Name == own[1] || strings.HasPrefix(ref.Name, own[2]) || slices.Contains(further, ref.Name)
	}
	isTrash := func(ref git.Ref) bool { return strings.HasPrefix(ref.Name, TrashRoot) }
	one = hold(slices.DeleteFunc(slices.Clone(list), func(ref git.Ref) bool { return !ofPane(ref) }), pane)
	return hold(slices.DeleteFunc(list, isTrash), ""), one, nil
}

func hold(list []git.Ref, pane string) *Held {
	h := &Held{Pane: PaneState{Pane: Pane{ID: pane}}, Extra: map[string]string{}}
	for _, ref := range list {
		h.Extra[ref.Name] = ref.Commit
		if strings.HasPrefix(ref.Name, PanesRoot) {
			p := readPane(ref) // of a damaged one, numbers are counted again from the checkpoints
			h.Panes = append(h.Panes, p)
			if p.ID == pane {
				h.Pane = p
			}
			continue
		}
		if t, ok := readTrashed(ref); ok {
			h.Trash = append(h.Trash, t)
			continue
		}
		if id, _, ok := ParseRef(ref.Name); ok && (pane == "" || id == pane) {
			h.Checkpoints = append(h.Checkpoints, readCheckpoint(ref))
		}
	}
	slices.SortFunc(h.Checkpoints, func(a, b Checkpoint) int {
		if c := strings.Compare(a.Pane.ID, b.Pane.ID); c != 0 {
			return c
		}
		return a.N - b.N
	})
	for _, c := range h.Checkpoints {
		if c.Pane.ID == pane {
			h.Pane.HighestN = max(h.Pane.HighestN, c.N)
			h.Pane.HighestTurn = max(h.Pane.HighestTurn, c.Turn)
		}
	}
	for _, t := range h.Trash { // no number is given twice
		h.Pane.HighestN = max(h.Pane.HighestN, t.N)
		h.Pane.HighestTurn = max(h.Pane.HighestTurn, t.Turn)
	}
	return h
}

// Find gives checkpoint n, or a NoCheckpoint error that lists what there is.
func (h *Held) Find(n int) (*Checkpoint, error) {
	var numbers []int
	for i := range h.Checkpoints {
		if h.Checkpoints[i].N == n {
			return &h.Checkpoints[i], nil
		}
		numbers = append(numbers, h.Checkpoints[i].N)
	}
	msg := fmt.Sprintf("pane %s has no checkpoint %d", h.Pane.ID, n)
	if len(numbers) == 0 {
		msg = fmt.Sprintf("pane %s has no checkpoints", h.Pane.ID)
	}
	return nil, &fail.Error{Code: fail.NoCheckpoint, Message: msg, Numbers: numbers, Command: "checkpoint list"}
}

// Before gives the newest checkpoint with a smaller number than n, or nil.
func (h *Held) Before(n int) *Checkpoint {
	for i := len(h.Checkpoints) - 1; i >= 0; i-- {
		if h.Checkpoints[i].N < n {
			return &h.Checkpoints[i]
		}
	}
	return nil
}

// Last gives the newest checkpoint, or nil.
func (h *Held) Last() *Checkpoint {
	if len(h.Checkpoints) == 0 {
		return nil
	}
	return &h.Checkpoints[len(h.Checkpoints)-1]
}

// PaneInfo is what the refs know of a pane, also of one that is gone.
type PaneInfo struct {
	Pane
	Worktree    string
	HighestN    int
	HighestTurn int
	NotSaved    []NotSaved
	Checkpoints []Checkpoint // by number
}

// Info is what h says of pane p, with list as its checkpoints.
func (h *Held) Info(p PaneState, list []Checkpoint) PaneInfo {
	return PaneInfo{
		Pane: p.Pane, Worktree: p.Worktree, HighestN: p.HighestN, HighestTurn: p.HighestTurn, NotSaved: p.NotSaved, Checkpoints: list,
	}
}

// Pick is Find, where 0 is the newest checkpoint.
func (h *Held) Pick(n int) (*Checkpoint, error) {
	if n == 0 {
		if last := h.Last(); last != nil {
			return last, nil
		}
	}
	return h.Find(n)
}

// Sound gives checkpoint n unless it is damaged.
func (h *Held) Sound(n int) (*Checkpoint, error) {
	c, err := h.Find(n)
	if err == nil && c.Damaged != "" {
		err = fail.Broken(n, c.Damaged)
	}
	return c, err
}

// Holder gives the newest sound checkpoint of the pane with that tree, or nil.
func (h *Held) Holder(tree string) *Checkpoint {
	return h.HolderOf(tree, "")
}

// HolderOfBytes gives the newest sound checkpoint of the pane whose files have the
// bytes of state, whatever their modes are; it may be nil.
func (h *Held) HolderOfBytes(state State) *Checkpoint {
	for i := len(h.Checkpoints) - 1; i >= 0; i-- {
		if c := &h.Checkpoints[i]; c.Damaged == "" && state.Same(State{c.Tree, c.Disk}) {
			return c
		}
	}
	return nil
}

// HolderOf gives the newest sound checkpoint of the pane that is of the same files:
// tree and digest (see Checkpoint.Disk; empty: any) are the same. It may be nil.
func (h *Held) HolderOf(tree, disk string) *Checkpoint {
	for i := len(h.Checkpoints) - 1; i >= 0; i-- {
		c := &h.Checkpoints[i]
		if c.Tree == tree && c.Damaged == "" && (disk == "" || c.Disk == "" || c.Disk == disk) {
			return c
		}
	}
	return nil
}

// ChangedTurns gives the last checkpoint of every turn that changed files,
// newest first.
func (h *Held) ChangedTurns() []Checkpoint {
	var out []Checkpoint
	for i := len(h.Checkpoints) - 1; i >= 0; i-- {
		c := h.Checkpoints[i]
		if c.Kind != KindTurn || c.Base == nil || SameFiles(c.Base.Tree, c.Base.Disk, c.Tree, c.Disk) {
			continue
		}
		if !slices.ContainsFunc(out, func(o Checkpoint) bool { return o.Turn == c.Turn }) {
			out = append(out, c)
		}
	}
	return out
}

// BaseDisk is what was on disk, and in no tree, of what c is compared with; as
// Checkpoint.Disk. Empty: not known.
func (h *Held) BaseDisk(c Checkpoint) string {
	if c.Base != nil {
		return c.Base.Disk
	}
	if before := h.Before(c.N); before != nil && before.Damaged == "" {
		return before.Disk
	}
	return ""
}

// UndoLabel is the label of the safety checkpoint of an undo.
func UndoLabel(turn int) string { return fmt.Sprintf("before undoing turn %d", turn) }

// UndoSafety gives the newest sound safety checkpoint of an undo of c's turn, or nil.
func (h *Held) UndoSafety(c Checkpoint) *Checkpoint {
	for i := len(h.Checkpoints) - 1; i >= 0; i-- {
		s := &h.Checkpoints[i]
		if s.N > c.N && s.Damaged == "" && s.Kind == KindSafety && s.Label == UndoLabel(c.Turn) {
			return s
		}
	}
	return nil
}
