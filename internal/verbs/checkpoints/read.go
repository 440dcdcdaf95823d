package checkpoints

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/wire"
)

func (c *checkpoints) list(ctx context.Context, p api.ListCheckpointsParams) (api.ListCheckpointsResult, error) {
	switch {
	case p.Trash:
		return c.listTrash(ctx, p)
	case p.All:
		return c.listAll(ctx, p)
	}
	f, err := c.target(ctx, p.Place, false)
	if err != nil {
		return api.ListCheckpointsResult{}, err
	}
	info, err := f.store.List(ctx, f.window.ID)
	if err != nil {
		return api.ListCheckpointsResult{}, err
	}
	out := c.newList(f.window.Pane())
	out.add(info)
	out.Interrupted = interruptedNote(f.store)
	return out.ListCheckpointsResult, nil
}

func (c *checkpoints) listAll(ctx context.Context, p api.ListCheckpointsParams) (api.ListCheckpointsResult, error) {
	store, err := c.storeFor(ctx, p.Place)
	if err != nil {
		return api.ListCheckpointsResult{}, err
	}
	panes, err := store.ListAll(ctx)
	if err != nil {
		return api.ListCheckpointsResult{}, err
	}
	out := c.newList(api.Pane{Worktree: store.Worktree()})
	for _, info := range panes {
		out.add(info)
	}
	slices.SortStableFunc(out.Checkpoints, func(a, b api.Checkpoint) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Pane, b.Pane), cmp.Compare(a.N, b.N))
	})
	out.Interrupted = interruptedNote(store)
	return out.ListCheckpointsResult, nil
}

// storeFor opens the repository that a place is about: that of the window it
// names, else the caller's.
func (c *checkpoints) storeFor(ctx context.Context, place api.Place) (*checkpoint.Store, error) {
	if place.Window != "" || place.Session != "" || place.Dir == "" {
		f, err := c.target(ctx, place, false)
		return f.store, err
	}
	return c.Open(ctx, place.Dir)
}

type list struct{ api.ListCheckpointsResult }

func (c *checkpoints) newList(pane api.Pane) *list {
	return &list{api.ListCheckpointsResult{
		Pane: pane, Enabled: c.Enabled(), Checkpoints: []api.Checkpoint{}, NotSaved: []api.NotSaved{}, Untrusted: true,
	}}
}

func (l *list) add(info checkpoint.PaneInfo) {
	for _, cp := range info.Checkpoints {
		l.Checkpoints = append(l.Checkpoints, wire.Checkpoint(cp))
	}
	for _, n := range info.NotSaved {
		l.NotSaved = append(l.NotSaved, api.NotSaved{Pane: info.ID, Turn: n.Turn, Reason: n.Reason, At: n.At})
	}
}

// interruptedNote says what to do about a restore that was killed; empty: none was.
func interruptedNote(store *checkpoint.Store) string {
	r, err := store.Interrupted()
	if err != nil {
		return err.Error()
	}
	if r == nil {
		return ""
	}
	what := r.Name
	if r.Half != "" {
		what += " and of its conversation"
	}
	return fmt.Sprintf("%s was interrupted; run: turnback checkpoint restore --continue (or --abort)", what)
}

func (c *checkpoints) show(ctx context.Context, p api.ShowCheckpointParams) (api.ShowCheckpointResult, error) {
	f, err := c.target(ctx, p.Place, false)
	if err != nil {
		return api.ShowCheckpointResult{}, err
	}
	cp, err := f.store.Get(ctx, f.window.ID, p.N)
	if err != nil {
		return api.ShowCheckpointResult{}, err
	}
	out := api.ShowCheckpointResult{
		Checkpoint: wire.Checkpoint(cp), Kept: []api.Kept{}, With: []api.TurnID{}, Transcript: cp.Transcript,
		Interrupted: interruptedNote(f.store), Untrusted: true,
	}
	for _, id := range cp.With {
		out.With = append(out.With, api.TurnID(id))
	}
	return out, c.showKept(ctx, f.store, cp, &out)
}

// showKept fills in what is kept beside a checkpoint.
func (c *checkpoints) showKept(ctx context.Context, store *checkpoint.Store, cp checkpoint.Checkpoint, out *api.ShowCheckpointResult) error {
	left, err := store.LeftOutAll(ctx, cp)
	if err != nil {
		return err
	}
	uncertain, err := store.UncertainAll(ctx, cp)
	if err != nil {
		return err
	}
	named, err := store.NamedAll(ctx, cp)
	if err != nil {
		return err
	}
	kept, err := store.Kept(ctx, cp)
	if err != nil {
		return err
	}
	out.LeftOutAll, out.Uncertain, out.Named = wire.LeftOut(left), keptPaths(uncertain), keptPaths(named)
	for _, k := range kept {
		one := api.Kept{What: k.What, Count: len(k.Items), Items: []api.KeptItem{}}
		for _, i := range k.Items[:min(maxKept, len(k.Items))] {
			path, raw := wire.Path(i.Path)
			one.Items = append(one.Items, api.KeptItem{Path: path, PathBase64: raw, Detail: i.Detail})
		}
		out.Kept = append(out.Kept, one)
	}
	return nil
}

// maxKept is how many of a kind of what is kept are named.
const maxKept = 1000

func keptPaths(paths []string) []api.KeptItem {
	out := []api.KeptItem{}
	for _, p := range paths {
		path, raw := wire.Path(p)
		out = append(out, api.KeptItem{Path: path, PathBase64: raw})
	}
	return out
}

func (c *checkpoints) diff(ctx context.Context, p api.CheckpointDiffParams) (api.CheckpointDiffResult, error) {
	if (p.From > 0) != (p.To > 0) || p.From < 0 || p.To < 0 || p.N < 0 || p.From > 0 && (p.N > 0 || p.Worktree) {
		return api.CheckpointDiffResult{}, api.Errorf(api.CodeInvalidParams, "give one checkpoint, or two of them as from and to").
			WithHint(api.Hint{Param: "n", Command: "turnback checkpoint diff --help"})
	}
	paths, err := rawPaths(p.Paths, p.PathsBase64)
	if err != nil {
		return api.CheckpointDiffResult{}, err
	}
	f, err := c.target(ctx, p.Place, false)
	if err != nil {
		return api.CheckpointDiffResult{}, err
	}
	r := checkpoint.DiffRequest{
		Pane: f.window.ID, N: p.N, From: p.From, To: p.To, Worktree: p.Worktree, Paths: paths, Stat: p.Stat, Context: 3, Binary: p.Binary,
	}
	if p.Context != nil {
		r.Context = *p.Context
	}
	d, err := f.store.Diff(ctx, r)
	if err != nil {
		return api.CheckpointDiffResult{}, err
	}
	out := wireDiff(d, f.window.Pane())
	out.Interrupted = interruptedNote(f.store)
	return out, nil
}
