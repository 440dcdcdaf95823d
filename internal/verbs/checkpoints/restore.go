package checkpoints

import (
	"context"
	"errors"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/shell"
)

// way is one way of changing the work tree to something that is kept.
type way struct {
	action  string // as results name it
	command string // as the command line names it
	take    func(s *checkpoint.Store, ctx context.Context, r checkpoint.RestoreRequest) (checkpoint.RestoreResult, error)

	place         api.Place
	n             int // 0: the pane's turns say which
	paths         []string
	dryRun, force bool
	flags         map[string]bool                    // the flags of the command line, whether they are set
	fill          func(r *checkpoint.RestoreRequest) // what they mean
	talk          bool                               // the conversation too
	talkOnly      bool                               // and not the files
}

// along takes a way.
func (c *checkpoints) along(ctx context.Context, y way, progress func(api.Progress)) (api.RestoreResult, error) {
	f, err := c.target(ctx, y.place, true)
	if err != nil {
		return api.RestoreResult{}, err
	}
	r := f.request(progress)
	r.N, r.Paths, r.DryRun, r.OpenTurns = y.n, y.paths, y.dryRun, openTurns(f.store)
	r.Talk = func() checkpoint.Talk { return c.talk(f.window) }
	y.fill(&r)
	line := f.again(y)
	if err := c.guard(ctx, &r, f, y.place, y.force); err != nil {
		return api.RestoreResult{}, line.refusal(err)
	}
	if y.talk || y.talkOnly {
		res, err := c.withTalk(ctx, y, f, r)
		return res, line.refusal(err)
	}
	res, err := y.take(f.store, ctx, r)
	if err != nil {
		return api.RestoreResult{}, line.refusal(err)
	}
	return c.restored(ctx, f, y.action, res, y.dryRun), nil
}

func (c *checkpoints) restore(ctx context.Context, p api.RestoreCheckpointParams, progress func(api.Progress)) (api.RestoreResult, error) {
	y := way{
		action: "restore", command: "checkpoint restore", take: (*checkpoint.Store).Restore,
		place: p.Place, n: p.N, dryRun: p.DryRun, force: p.Force,
		flags: map[string]bool{"--here": p.Here, "--mine": p.Mine, "--all-panes": p.AllPanes, "--overwrite": p.Overwrite, "--staged": p.Staged, "--conversation": p.Conversation, "--conversation-only": p.ConversationOnly},
		fill: func(r *checkpoint.RestoreRequest) {
			r.Here, r.Mine, r.AllPanes, r.Overwrite = p.Here, p.Mine, p.AllPanes, p.Overwrite
		},
		talk: p.Conversation, talkOnly: p.ConversationOnly,
	}
	if p.ConversationOnly && (p.Conversation || len(p.Paths) > 0 || len(p.PathsBase64) > 0) {
		return api.RestoreResult{}, api.Errorf(api.CodeInvalidParams, "conversation_only goes with neither conversation nor paths").WithHint(api.Hint{Param: "conversation_only"})
	}
	if p.Staged {
		if p.Mine || p.AllPanes || p.Overwrite || p.Conversation || p.ConversationOnly {
			return api.RestoreResult{}, api.Errorf(api.CodeInvalidParams, "staged goes with none of mine, all_panes, overwrite and conversation").WithHint(api.Hint{Param: "staged"})
		}
		y.take = (*checkpoint.Store).RestoreStaged
	}
	return c.numbered(ctx, y, p.Paths, p.PathsBase64, progress)
}

func (c *checkpoints) revert(ctx context.Context, p api.RevertCheckpointParams, progress func(api.Progress)) (api.RestoreResult, error) {
	y := way{
		action: "revert", command: "checkpoint revert", take: (*checkpoint.Store).Revert,
		place: p.Place, n: p.N, dryRun: p.DryRun, force: p.Force,
		flags: map[string]bool{"--here": p.Here, "--mine": p.Mine, "--all-panes": p.AllPanes, "--overwrite": p.Overwrite},
		fill: func(r *checkpoint.RestoreRequest) {
			r.Here, r.Mine, r.AllPanes, r.Overwrite = p.Here, p.Mine, p.AllPanes, p.Overwrite
		},
	}
	return c.numbered(ctx, y, p.Paths, p.PathsBase64, progress)
}

// numbered takes a way that a number and paths choose.
func (c *checkpoints) numbered(ctx context.Context, y way, paths, raw []string, progress func(api.Progress)) (api.RestoreResult, error) {
	if y.n <= 0 {
		return api.RestoreResult{}, api.Errorf(api.CodeInvalidParams, "the number of a checkpoint is 1 or more").
			WithHint(api.Hint{Param: "n", Command: "turnback checkpoint list"})
	}
	var err error
	if y.paths, err = rawPaths(paths, raw); err != nil {
		return api.RestoreResult{}, err
	}
	return c.along(ctx, y, progress)
}

func (c *checkpoints) step(action string) func(context.Context, api.UndoParams, func(api.Progress)) (api.RestoreResult, error) {
	take := (*checkpoint.Store).Undo
	if action == "redo" {
		take = (*checkpoint.Store).Redo
	}
	return func(ctx context.Context, p api.UndoParams, progress func(api.Progress)) (api.RestoreResult, error) {
		return c.along(ctx, way{
			action: action, command: action, take: take,
			place: p.Place, dryRun: p.DryRun, force: p.Force,
			flags: map[string]bool{
				"--here": p.Here, "--mine": p.Mine, "--all-panes": p.AllPanes, "--keep-edits": p.KeepEdits, "--discard-edits": p.DiscardEdits,
				"--overwrite": p.Overwrite,
			},
			fill: func(r *checkpoint.RestoreRequest) {
				r.Here, r.Mine, r.AllPanes, r.Overwrite = p.Here, p.Mine, p.AllPanes, p.Overwrite
				r.KeepEdits, r.DiscardEdits = p.KeepEdits, p.DiscardEdits
			},
		}, progress)
	}
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

// restored tells about a restore that was carried out, and has the event sent and
// the agents told.
func (c *checkpoints) restored(ctx context.Context, f found, action string, res checkpoint.RestoreResult, dryRun bool) api.RestoreResult {
	if res.Safety != nil {
		c.publish("restored", f, res.Safety)
	}
	pane := f.window.Pane()
	pane.Worktree = f.store.Worktree()
	out := wireRestore(action, res, pane, dryRun)
	if text := noteFor(action, res); text != "" && !dryRun {
		if err := c.Panes.Tell(ctx, f.store.Worktree(), text); err != nil {
			out.Notes = append(out.Notes, "agents in the work tree will not be told of it: "+err.Error())
		}
	}
	return out
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
		talk, err := c.otherHalf(store, abort)
		if err != nil {
			return api.RestoreResult{}, err
		}
		r.Half = talk.put
		res, err := store.Finish(ctx, r)
		if err = errors.Join(err, talk.close()); err != nil {
			return api.RestoreResult{}, again{words: []string{"turnback checkpoint restore --" + action}}.refusal(err)
		}
		out := c.restored(ctx, f, action, res, false)
		talk.tell(&out)
		return out, nil
	}
}
