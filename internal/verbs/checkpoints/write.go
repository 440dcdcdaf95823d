package checkpoints

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/wire"
)

// manualWindow is the name of the window of checkpoints saved where there is none.
const manualWindow = "manual"

func (c *checkpoints) save(ctx context.Context, p api.SaveCheckpointParams, progress func(api.Progress)) (api.SaveCheckpointResult, error) {
	f, err := c.ensure(ctx, p.Place)
	if err != nil {
		return api.SaveCheckpointResult{}, err
	}
	w, kind := f.window, checkpoint.KindManual
	if p.Conversation {
		kind = checkpoint.KindConversation
	}
	talk := c.talk(w)
	res, err := f.store.Save(ctx, checkpoint.SaveRequest{
		Kind: kind, Pane: f.pane(), Turn: w.Turn, State: string(w.StateOrNone()), Label: p.Label, Always: true,
		Agent: talk.Agent, AgentSession: talk.Session, Transcript: talk.At,
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
