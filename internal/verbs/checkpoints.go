package verbs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/wire"
)

// Panes says which window is meant and which agents are mid-turn.
type Panes interface {
	// Resolve finds the window that place means; a write falls back to less than
	// a read.
	Resolve(ctx context.Context, place api.Place, write bool) (registry.Window, error)
	// Ensure finds the window that place means, or makes one called name.
	Ensure(ctx context.Context, place api.Place, name string) (registry.Window, error)
	// Busy lists the windows of a work tree whose agents may be changing files
	// now. It closes the turns of dead and interrupted agents first.
	Busy(ctx context.Context, worktree string) ([]registry.Window, error)
}

// CheckpointDeps are what the verbs about checkpoints work with.
type CheckpointDeps struct {
	Panes   Panes
	Open    func(ctx context.Context, dir string) (*checkpoint.Store, error) // the store of the work tree that dir is in
	Enabled func() bool                                                      // checkpoints are taken
	Publish func(api.Event)                                                  // may be nil
}

// checkpoints answers the verbs about checkpoints.
type checkpoints struct{ CheckpointDeps }

// NewCheckpoints gives the verbs about checkpoints. They run in the daemon and
// in the process of a command that has none.
func NewCheckpoints(d CheckpointDeps) []Verb {
	c := &checkpoints{d}
	about := []string{"no_checkpoint", "not_repo", "session_not_found", "window_not_found", "ambiguous_window", "git_failed", "timeout"}
	finishes := append([]string{"not_ready", "damaged", "interrupted", "changed_meanwhile", "disk_full", "sandboxed"}, about...)
	restores := append([]string{"would_overwrite", "other_worktree", "head_moved"}, finishes...)
	steps := append([]string{"edited_since", "nothing_to_undo"}, restores...)
	return []Verb{
		{
			Name: "list-checkpoints", Grant: GrantRead, Summary: "list the checkpoints of a pane, or of all panes of the repository",
			Errors: about, Example: `{"window":"build"}`, Params: func() any { return &api.ListCheckpointsParams{} }, Run: run(c.list),
		},
		{
			Name: "show-checkpoint", Grant: GrantRead, Summary: "show everything that is known of a checkpoint",
			Errors: about, Example: `{"window":"build","n":2}`, Params: func() any { return &api.ShowCheckpointParams{} }, Run: run(c.show),
		},
		{
			Name: "checkpoint-diff", Grant: GrantRead, Summary: "show what a turn changed, or compare two checkpoints, or one with the disk",
			Errors: append([]string{"damaged"}, about...), Example: `{"window":"build","n":2,"stat":true}`,
			Params: func() any { return &api.CheckpointDiffParams{} }, Run: run(c.diff),
		},
		{
			Name: "restore-checkpoint", Grant: GrantWrite, Summary: "put the files back as a checkpoint holds them",
			Errors: restores, Example: `{"window":"build","n":1}`, Params: func() any { return &api.RestoreCheckpointParams{} }, Run: runWithProgress(c.restore),
		},
		{
			Name: "continue-restore", Grant: GrantWrite, Summary: "finish a restore that was killed",
			Errors: finishes, Params: func() any { return &api.FinishRestoreParams{} }, Run: runWithProgress(c.finish(false)),
		},
		{
			Name: "abort-restore", Grant: GrantWrite, Summary: "take back what a killed restore did",
			Errors: finishes, Params: func() any { return &api.FinishRestoreParams{} }, Run: runWithProgress(c.finish(true)),
		},
		{
			Name: "undo", Grant: GrantWrite, Summary: "take back the newest turn of a pane that changed files",
			Errors: steps, Example: `{"window":"build"}`,
			Params: func() any { return &api.UndoParams{} }, Run: runWithProgress(c.step("undo")),
		},
		{
			Name: "redo", Grant: GrantWrite, Summary: "put the turn forward again that was taken back last",
			Errors: steps, Example: `{"window":"build"}`,
			Params: func() any { return &api.UndoParams{} }, Run: runWithProgress(c.step("redo")),
		},
		{
			Name: "save-checkpoint", Grant: GrantWrite, Summary: "save the work tree now",
			Errors: append([]string{"disk_full", "sandboxed"}, about...), Example: `{"label":"before the big change"}`,
			Params: func() any { return &api.SaveCheckpointParams{} }, Run: runWithProgress(c.save),
		},
		{
			Name: "drop-checkpoints", Grant: GrantWrite, Summary: "delete checkpoints of a pane",
			Errors: about, Example: `{"window":"build","ns":[1,2]}`, Params: func() any { return &api.DropCheckpointsParams{} }, Run: run(c.drop),
		},
		{
			Name: "prune-checkpoints", Grant: GrantAdmin, Summary: "delete old checkpoints of every pane of the repository",
			Errors: about, Example: `{"older_than":"30d"}`, Params: func() any { return &api.PruneCheckpointsParams{} }, Run: run(c.prune),
		},
		{
			Name: "branch-checkpoint", Grant: GrantWrite, Summary: "make a branch with the tree of a checkpoint",
			Errors: append([]string{"damaged"}, about...), Example: `{"window":"build","n":2,"name":"try"}`,
			Params: func() any { return &api.BranchCheckpointParams{} }, Run: run(c.branch),
		},
	}
}

// run makes a Verb's Run of a function with typed parameters.
func run[P, R any](f func(context.Context, P) (R, error)) func(context.Context, Call) (any, error) {
	return runWithProgress(func(ctx context.Context, p P, _ func(api.Progress)) (R, error) { return f(ctx, p) })
}

func runWithProgress[P, R any](f func(context.Context, P, func(api.Progress)) (R, error)) func(context.Context, Call) (any, error) {
	return func(ctx context.Context, call Call) (any, error) {
		params, ok := call.Params.(*P)
		if !ok {
			return nil, api.Errorf(api.CodeInternal, "unexpected parameters %T", call.Params)
		}
		result, err := f(ctx, *params, call.Progress)
		if err != nil {
			return nil, toAPI(err)
		}
		return result, nil
	}
}

// toAPI gives an error of package checkpoint its form on the wire.
func toAPI(err error) error {
	var ce *checkpoint.Error
	if !errors.As(err, &ce) {
		return err
	}
	e := api.Errorf(api.Code(ce.Code), "%s", ce.Message)
	h := api.Hint{Detail: ce.Detail}
	if ce.Command != "" {
		h.Command = "turnback " + ce.Command
	}
	for _, n := range ce.Numbers {
		h.Available = append(h.Available, strconv.Itoa(n))
	}
	for _, p := range ce.Paths {
		h.Available = append(h.Available, strings.ToValidUTF8(p, "\uFFFD"))
	}
	if h.Command == "" && h.Detail == "" && len(h.Available) == 0 {
		return e
	}
	return e.WithHint(h)
}

// found is the target of a verb.
type found struct {
	window registry.Window
	store  *checkpoint.Store
}

func (f found) pane() checkpoint.Pane {
	return checkpoint.Pane{ID: f.window.ID, Window: f.window.Name, Session: f.window.Session, Key: f.window.Key}
}

// target finds the window that place means and the store of its work tree. A
// window that only its checkpoints still know of counts too.
func (c *checkpoints) target(ctx context.Context, place api.Place, write bool) (found, error) {
	w, err := c.Panes.Resolve(ctx, place, write)
	if err != nil {
		return c.remembered(ctx, place, err)
	}
	if w.CommonDir == "" {
		return found{}, api.Errorf(api.CodeNotRepo, "window %s is in %s, which is not a git work tree", w.Name, w.Worktree).
			WithHint(api.Hint{Detail: "checkpoints need a git work tree; run git init there"})
	}
	store, err := c.open(ctx, w, place)
	return found{window: w, store: store}, err
}

// open opens the work tree of w. Where that has gone, the caller's repository
// will do if it holds the checkpoints of w: it is another work tree of the same
// one, or the same one moved.
func (c *checkpoints) open(ctx context.Context, w registry.Window, place api.Place) (*checkpoint.Store, error) {
	store, err := c.Open(ctx, w.Worktree)
	if err == nil || place.Dir == "" || place.Dir == w.Worktree {
		return store, err
	}
	here, hereErr := c.Open(ctx, place.Dir)
	if hereErr != nil {
		return nil, err
	}
	if here.CommonDir() == w.CommonDir {
		return here, nil
	}
	if info, listErr := here.List(ctx, w.ID); listErr != nil || len(info.Checkpoints) == 0 {
		return nil, err
	}
	return here, nil
}

// remembered looks for a window among the panes that the refs of the caller's
// repository know of. The error of the first search stands when there is none.
func (c *checkpoints) remembered(ctx context.Context, place api.Place, first error) (found, error) {
	cause := api.AsError(first)
	if place.Dir == "" || cause.Code != api.CodeWindowNotFound && cause.Code != api.CodeSessionNotFound {
		return found{}, first
	}
	store, err := c.Open(ctx, place.Dir)
	if err != nil {
		others := cause.Hint != nil && len(cause.Hint.Available) > 0
		if checkpoint.HasCode(err, checkpoint.NotRepo) && place.Window == "" && place.Session == "" && !others {
			return found{}, err
		}
		return found{}, first
	}
	panes, err := store.ListAll(ctx)
	if err != nil {
		return found{}, err
	}
	var windows []registry.Window
	for _, p := range panes {
		if len(p.Checkpoints) > 0 || len(p.NotSaved) > 0 {
			windows = append(windows, goneWindow(p, store.CommonDir()))
		}
	}
	if len(windows) == 0 {
		return found{}, first
	}
	w, err := registry.ResolveIn(windows, place, store.Worktree(), true)
	if err != nil {
		return found{}, first
	}
	return found{window: w, store: store}, nil
}

func goneWindow(p checkpoint.PaneInfo, commonDir string) registry.Window {
	w := registry.Window{
		ID: p.ID, Session: p.Session, Name: p.Window, Worktree: p.Worktree, CommonDir: commonDir, Key: p.Key, Gone: true,
	}
	w.Turn = p.HighestTurn
	if n := len(p.Checkpoints); n > 0 {
		w.LastActive = p.Checkpoints[n-1].At
	}
	return w
}

// ready refuses while an agent is mid-turn in the work tree; the caller's own
// agent does not count.
func (c *checkpoints) ready(place api.Place, worktree string) func(context.Context) error {
	return func(ctx context.Context) error {
		busy, err := c.Panes.Busy(ctx, worktree)
		if err != nil {
			return err
		}
		busy = slices.DeleteFunc(busy, func(w registry.Window) bool { return ownAgent(place, w) })
		if len(busy) == 0 {
			return nil
		}
		w := busy[0]
		e := api.Errorf(api.CodeNotReady, "the agent in %s of %s, pane %s, is mid-turn (%s) in this work tree", w.Name, w.Session, w.ID, w.StateOrNone())
		h := api.Hint{Detail: "wait for the turn to end, or add --force"}
		for _, w := range busy {
			h.Available = append(h.Available, w.ID)
		}
		return e.WithHint(h)
	}
}

// ownAgent tells whether the caller was started by w's agent.
func ownAgent(place api.Place, w registry.Window) bool {
	return w.AgentPID > 0 && slices.Contains(place.Ancestors, w.AgentPID)
}

func (c *checkpoints) publish(kind string, f found, cp *checkpoint.Checkpoint) {
	if c.Publish == nil {
		return
	}
	e := api.Event{Type: kind, Pane: f.window.ID, Session: f.window.Session, Window: f.window.Name, Worktree: f.window.Worktree, Turn: f.window.Turn}
	if cp != nil {
		out := wire.Checkpoint(*cp)
		e.Checkpoint = &out
	}
	c.Publish(e)
}
