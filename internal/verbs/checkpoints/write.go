package checkpoints

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/shell"
	"github.com/turnback/turnback/internal/wire"
)

func (c *checkpoints) restore(ctx context.Context, p api.RestoreCheckpointParams, progress func(api.Progress)) (api.RestoreResult, error) {
	if p.N <= 0 {
		return api.RestoreResult{}, api.Errorf(api.CodeInvalidParams, "the number of a checkpoint is 1 or more").
			WithHint(api.Hint{Param: "n", Command: "turnback checkpoint list"})
	}
	paths, err := rawPaths(p.Paths, p.PathsBase64)
	if err != nil {
		return api.RestoreResult{}, err
	}
	f, err := c.target(ctx, p.Place, true)
	if err != nil {
		return api.RestoreResult{}, err
	}
	r := f.request(progress)
	r.N, r.Paths, r.DryRun, r.Here = p.N, paths, p.DryRun, p.Here
	line := f.again("checkpoint restore", map[string]bool{"--force": p.Force, "--here": p.Here, "--dry-run": p.DryRun}).of(p.N).at(paths)
	if err := c.guard(ctx, &r, f, p.Place, p.Force); err != nil {
		return api.RestoreResult{}, line.refusal(err)
	}
	res, err := f.store.Restore(ctx, r)
	if err != nil {
		return api.RestoreResult{}, line.refusal(err)
	}
	return c.restored(f, "restore", res, p.DryRun), nil
}

// flags name the window in a command line for a shell.
func (f found) flags() string {
	return "-s " + shell.Word(f.window.Session) + " -w " + shell.Word(f.window.ID)
}

func (f found) request(progress func(api.Progress)) checkpoint.RestoreRequest {
	return checkpoint.RestoreRequest{
		Pane: f.pane(), Turn: f.window.Turn, State: string(f.window.StateOrNone()),
		Progress: func(done, total int64) { progress(api.Progress{What: "restoring files", Done: done, Total: total}) },
	}
}

// guard refuses now, and again under the lock, while an agent is mid-turn.
func (c *checkpoints) guard(ctx context.Context, r *checkpoint.RestoreRequest, f found, place api.Place, force bool) error {
	if force || r.DryRun {
		return nil
	}
	r.Check = c.ready(place, f.store.Worktree())
	if err := r.Check(ctx); err != nil {
		return err
	}
	// Asking may have closed the turn of a dead or interrupted agent.
	if w, err := c.Panes.Resolve(ctx, api.Place{Window: f.window.ID, Dir: place.Dir}, true); err == nil && w.ID == f.window.ID {
		r.Turn, r.State = w.Turn, string(w.StateOrNone())
	}
	return nil
}

// restored tells about a restore that was carried out, and has the event sent.
func (c *checkpoints) restored(f found, action string, res checkpoint.RestoreResult, dryRun bool) api.RestoreResult {
	if res.Safety != nil {
		c.publish("restored", f, res.Safety)
	}
	pane := f.window.Pane()
	pane.Worktree = f.store.Worktree()
	return wireRestore(action, res, pane, dryRun)
}

func (c *checkpoints) finish(abort bool) func(context.Context, api.FinishRestoreParams, func(api.Progress)) (api.RestoreResult, error) {
	action := "continue"
	if abort {
		action = "abort"
	}
	return func(ctx context.Context, p api.FinishRestoreParams, progress func(api.Progress)) (api.RestoreResult, error) {
		store, err := c.storeFor(ctx, p.Place)
		if err != nil {
			return api.RestoreResult{}, err
		}
		var f found
		f.store = store
		if r, err := store.Interrupted(); err == nil && r != nil {
			f.window.ID, f.window.Session, f.window.Name = r.Pane.ID, r.Pane.Session, r.Pane.Window
		}
		r := checkpoint.FinishRequest{
			Abort:    abort,
			Progress: func(done, total int64) { progress(api.Progress{What: "restoring files", Done: done, Total: total}) },
		}
		if !p.Force {
			r.Check = c.ready(p.Place, store.Worktree())
		}
		res, err := store.Finish(ctx, r)
		if err != nil {
			return api.RestoreResult{}, again{words: []string{"turnback checkpoint restore --" + action}}.refusal(err)
		}
		return c.restored(f, action, res, false), nil
	}
}

func (c *checkpoints) step(action string) func(context.Context, api.UndoParams, func(api.Progress)) (api.RestoreResult, error) {
	return func(ctx context.Context, p api.UndoParams, progress func(api.Progress)) (api.RestoreResult, error) {
		f, err := c.target(ctx, p.Place, true)
		if err != nil {
			return api.RestoreResult{}, err
		}
		r := f.request(progress)
		r.DryRun, r.Here = p.DryRun, p.Here
		line := f.again(action, map[string]bool{"--force": p.Force, "--here": p.Here, "--dry-run": p.DryRun})
		if err := c.guard(ctx, &r, f, p.Place, p.Force); err != nil {
			return api.RestoreResult{}, line.refusal(err)
		}
		take := f.store.Undo
		if action == "redo" {
			take = f.store.Redo
		}
		res, err := take(ctx, r)
		if err != nil {
			return api.RestoreResult{}, line.refusal(err)
		}
		return c.restored(f, action, res, p.DryRun), nil
	}
}

// manualWindow is the name of the window of checkpoints saved where there is none.
const manualWindow = "manual"

func (c *checkpoints) save(ctx context.Context, p api.SaveCheckpointParams, progress func(api.Progress)) (api.SaveCheckpointResult, error) {
	f, err := c.ensure(ctx, p.Place)
	if err != nil {
		return api.SaveCheckpointResult{}, err
	}
	w := f.window
	res, err := f.store.Save(ctx, checkpoint.SaveRequest{
		Kind: checkpoint.KindManual, Pane: f.pane(), Turn: w.Turn, State: string(w.StateOrNone()), Label: p.Label, Always: true,
		Agent: w.Agent, AgentSession: w.AgentSession,
		Progress: func(done, total int64) { progress(api.Progress{What: "saving files", Done: done, Total: total}) },
	})
	if err != nil {
		return api.SaveCheckpointResult{}, err
	}
	c.publish("checkpoint_saved", f, res.Checkpoint)
	pane := w.Pane()
	pane.Worktree = f.store.Worktree()
	return api.SaveCheckpointResult{Pane: pane, Checkpoint: wire.Checkpoint(*res.Checkpoint), Interrupted: interruptedNote(f.store)}, nil
}

// ensure finds the window that a save by hand is for, or makes it. One that only
// its checkpoints still know of is saved where it was, else where the caller
// stands.
func (c *checkpoints) ensure(ctx context.Context, place api.Place) (found, error) {
	w, err := c.Panes.Ensure(ctx, place, manualWindow)
	if err == nil {
		store, err := c.open(ctx, w, place)
		return found{window: w, store: store}, err
	}
	f, err := c.remembered(ctx, place, err)
	if err != nil {
		return found{}, err
	}
	if there, err := c.Open(ctx, f.window.Worktree); err == nil && there.CommonDir() == f.store.CommonDir() {
		f.store = there
	}
	return f, nil
}

func (c *checkpoints) drop(ctx context.Context, p api.DropCheckpointsParams) (api.DropCheckpointsResult, error) {
	if len(p.Ns) == 0 {
		return api.DropCheckpointsResult{}, api.Errorf(api.CodeInvalidParams, "name at least one checkpoint").
			WithHint(api.Hint{Param: "ns", Command: "turnback checkpoint list"})
	}
	f, err := c.target(ctx, p.Place, true)
	if err != nil {
		return api.DropCheckpointsResult{}, err
	}
	dropped, err := f.store.Drop(ctx, f.window.ID, p.Ns)
	return wireDropped(dropped, false), err
}

func wireDropped(list []checkpoint.Checkpoint, dryRun bool) api.DropCheckpointsResult {
	out := api.DropCheckpointsResult{Dropped: []api.DroppedCheckpoint{}, DryRun: dryRun}
	for _, c := range list {
		out.Dropped = append(out.Dropped, api.DroppedCheckpoint{Pane: c.Pane.ID, N: c.N, Commit: c.Commit, Label: c.Label})
	}
	return out
}

func (c *checkpoints) prune(ctx context.Context, p api.PruneCheckpointsParams) (api.DropCheckpointsResult, error) {
	age, err := parseAge(p.OlderThan)
	if err != nil {
		return api.DropCheckpointsResult{}, err
	}
	store, err := c.storeFor(ctx, p.Place)
	if err != nil {
		return api.DropCheckpointsResult{}, err
	}
	dropped, err := store.Prune(ctx, age, p.DryRun)
	return wireDropped(dropped, p.DryRun), err
}

// parseAge reads 30d, 12h or 90m; empty is 0.
func parseAge(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	wrong := api.Errorf(api.CodeInvalidParams, "%q is no age", s).
		WithHint(api.Hint{Param: "older_than", Accepted: []string{"30d", "12h", "90m"}})
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > 100_000 {
			return 0, wrong
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, wrong
	}
	return d, nil
}

func (c *checkpoints) branch(ctx context.Context, p api.BranchCheckpointParams) (api.BranchCheckpointResult, error) {
	if p.Name == "" {
		return api.BranchCheckpointResult{}, api.Errorf(api.CodeInvalidParams, "a branch needs a name").WithHint(api.Hint{Param: "name"})
	}
	f, err := c.target(ctx, p.Place, true)
	if err != nil {
		return api.BranchCheckpointResult{}, err
	}
	commit, err := f.store.Branch(ctx, f.window.ID, p.N, p.Name)
	if err != nil {
		return api.BranchCheckpointResult{}, err
	}
	cp, err := f.store.Get(ctx, f.window.ID, p.N)
	return api.BranchCheckpointResult{Branch: p.Name, Commit: commit, Parent: cp.Head}, err
}
