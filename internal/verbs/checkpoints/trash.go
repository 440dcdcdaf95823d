package checkpoints

import (
	"context"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/wire"
)

// listTrash lists what was dropped and can come back.
func (c *checkpoints) listTrash(ctx context.Context, p api.ListCheckpointsParams) (api.ListCheckpointsResult, error) {
	var (
		pane  api.Pane
		store *checkpoint.Store
	)
	if p.All {
		var err error
		if store, err = c.storeFor(ctx, p.Place); err != nil {
			return api.ListCheckpointsResult{}, err
		}
		pane.Worktree = store.Worktree()
	} else {
		f, err := c.target(ctx, p.Place, false)
		if err != nil {
			return api.ListCheckpointsResult{}, err
		}
		store, pane = f.store, f.window.Pane()
	}
	list, err := store.ListTrash(ctx, pane.Pane)
	if err != nil {
		return api.ListCheckpointsResult{}, err
	}
	out := c.newList(pane)
	for _, t := range list {
		one := wire.Checkpoint(t.Checkpoint)
		if !t.Dropped.IsZero() {
			dropped, until := t.Dropped.UTC(), t.Until.UTC()
			one.Dropped, one.Until = &dropped, &until
		}
		out.Checkpoints = append(out.Checkpoints, one)
	}
	out.Interrupted = interruptedNote(store)
	return out.ListCheckpointsResult, nil
}

func (c *checkpoints) drop(ctx context.Context, p api.DropCheckpointsParams) (api.DropCheckpointsResult, error) {
	if err := someNumbers(p.Ns); err != nil {
		return api.DropCheckpointsResult{}, err
	}
	f, err := c.target(ctx, p.Place, true)
	if err != nil {
		return api.DropCheckpointsResult{}, err
	}
	drop := f.store.Drop
	if p.Now {
		drop = f.store.DropNow
	}
	dropped, err := drop(ctx, f.window.ID, p.Ns)
	out := wireDropped(dropped, false)
	for i, d := range dropped {
		out.Dropped[i].Trash = !p.Now && d.Tree != ""
	}
	return out, err
}

func (c *checkpoints) untrash(ctx context.Context, p api.UntrashCheckpointsParams) (api.UntrashCheckpointsResult, error) {
	out := api.UntrashCheckpointsResult{Checkpoints: []api.Checkpoint{}, Untrusted: true}
	if err := someNumbers(p.Ns); err != nil {
		return out, err
	}
	f, err := c.target(ctx, p.Place, true)
	if err != nil {
		return out, err
	}
	back, err := f.store.Untrash(ctx, f.window.ID, p.Ns)
	if err != nil {
		return out, err
	}
	out.Pane = f.window.Pane()
	for _, cp := range back {
		out.Checkpoints = append(out.Checkpoints, wire.Checkpoint(cp))
	}
	return out, nil
}

func someNumbers(ns []int) error {
	if len(ns) > 0 {
		return nil
	}
	return api.Errorf(api.CodeInvalidParams, "name at least one checkpoint").WithHint(api.Hint{Param: "ns", Command: "turnback checkpoint list"})
}

func wireDropped(list []checkpoint.Checkpoint, dryRun bool) api.DropCheckpointsResult {
	out := api.DropCheckpointsResult{Dropped: []api.DroppedCheckpoint{}, DryRun: dryRun}
	for _, c := range list {
		out.Dropped = append(out.Dropped, api.DroppedCheckpoint{Pane: c.Pane.ID, N: c.N, Commit: c.Commit, Label: c.Label})
	}
	return out
}

func (c *checkpoints) stats(ctx context.Context, p api.CheckpointStatsParams) (api.CheckpointStatsResult, error) {
	store, err := c.storeFor(ctx, p.Place)
	if err != nil {
		return api.CheckpointStatsResult{}, err
	}
	s, err := store.Stats(ctx)
	if err != nil {
		return api.CheckpointStatsResult{}, err
	}
	out := api.CheckpointStatsResult{
		Worktree: store.Worktree(), Bytes: s.Total, Panes: []api.PaneStats{}, Trashed: s.Trashed, TrashBytes: s.Trash, FileBytes: s.Files, Untrusted: true,
	}
	for _, p := range s.Panes {
		out.Panes = append(out.Panes, api.PaneStats{Pane: p.ID, Session: p.Session, Window: p.Window, Checkpoints: p.Checkpoints, Bytes: p.Bytes})
	}
	return out, nil
}
