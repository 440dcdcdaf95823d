package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/turnback/turnback/internal/agentstate"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/terminal"
	"github.com/turnback/turnback/internal/turns"
	"github.com/turnback/turnback/internal/verbs"
	"github.com/turnback/turnback/internal/verbs/checkpoints"
)

// Local makes the table of the verbs that need no daemon, to run them in this
// process. It knows the windows of a repository by the records that daemons keep
// below its common git directory. A config file that cannot be used, or has no
// possible place, gives the defaults.
func Local(environ []string, now func() time.Time) (*verbs.Table, error) {
	settings := config.Default
	if path, err := config.Path(Getenv(environ)); err == nil {
		settings = config.NewWatcher(path, now, nil).Get
	}
	r := newRepos(environ, settings, now)
	stateDir, err := StateDir(Getenv(environ))
	if err != nil {
		stateDir = "" // then there are no copies of transcripts
	}
	shelf := newShelf(stateDir, environ, settings, now)
	all := checkpoints.New(checkpoints.Deps{
		Panes:   &localPanes{repos: r, now: now, transcripts: interrupts{}},
		Open:    r.open,
		Enabled: func() bool { return settings().Agents.Checkpoints.Enabled },
		Back:    wayBack(environ, now, shelf),
		Halves:  halves(stateDir, now),
		At:      placeNow,
		Copies:  shelf,
	})
	for i := range all {
		if slices.Contains([]string{"save-checkpoint", "drop-checkpoints", "prune-checkpoints"}, all[i].Name) {
			all[i].Run = thenTidy(all[i].Run, r)
		}
		all[i].Run = thenPersist(all[i].Run, r)
	}
	return verbs.NewTable(all...)
}

// thenPersist writes down what makes the next process faster after each call:
// this one may end at once. Without it the next is slower, nothing else.
func thenPersist(run func(context.Context, verbs.Call) (any, error), r *repos) func(context.Context, verbs.Call) (any, error) {
	return func(ctx context.Context, call verbs.Call) (any, error) {
		result, err := run(ctx, call)
		_ = r.persist()
		return result, err
	}
}

// tidyFor is how long a command that runs without a daemon may take for what a
// daemon does when idle.
const tidyFor = 2 * time.Second

// thenTidy has a verb that changed what is kept look after what has piled up, where
// no daemon does. What is amiss is for the next time to show.
func thenTidy(run func(context.Context, verbs.Call) (any, error), r *repos) func(context.Context, verbs.Call) (any, error) {
	return func(ctx context.Context, call verbs.Call) (any, error) {
		result, err := run(ctx, call)
		if err == nil {
			brief, end := context.WithTimeout(ctx, tidyFor)
			defer end()
			for _, s := range r.held() {
				_ = s.TendPiled(brief)
			}
		}
		return result, err
	}
}

// localPanes knows the windows without following them.
type localPanes struct {
	repos       *repos
	now         func() time.Time
	transcripts turns.Transcripts
}

var _ checkpoints.Panes = (*localPanes)(nil)

// recorded reads the windows of the repository that dir is in. Records that
// cannot be read are passed over: what they were of cannot be told.
func (p *localPanes) recorded(ctx context.Context, dir string) ([]registry.Window, turns.WorktreeInfo, error) {
	if !filepath.IsAbs(dir) {
		return nil, turns.WorktreeInfo{}, nil
	}
	where, err := p.repos.find(ctx, dir)
	if err != nil {
		return nil, where, err
	}
	windows, _ := registry.ReadRecords(where.CommonDir)
	return windows, where, nil
}

// Resolve finds the window that a caller means in the repository it stands in.
func (p *localPanes) Resolve(ctx context.Context, place api.Place, write bool) (registry.Window, error) {
	windows, where, err := p.recorded(ctx, place.Dir)
	if err != nil {
		return registry.Window{}, err
	}
	if real, err := filepath.EvalSymlinks(place.Dir); err == nil {
		place.Dir = real
	}
	return registry.ResolveIn(windows, place, where.Root, write)
}

// Ensure is Resolve for a save by hand: in a work tree without a window it makes
// one with this name, and its record.
func (p *localPanes) Ensure(ctx context.Context, place api.Place, name string) (registry.Window, error) {
	w, err := p.Resolve(ctx, place, true)
	code := api.AsError(err)
	if err == nil || code.Code != api.CodeWindowNotFound || place.Session != "" || place.Window != "" {
		return w, err
	}
	windows, where, err := p.recorded(ctx, place.Dir)
	if err != nil {
		return registry.Window{}, err
	}
	if where.Root == "" {
		return registry.Window{}, api.Errorf(api.CodeInvalidParams, "a new window needs a directory").WithHint(api.Hint{Param: "dir"})
	}
	store, err := p.repos.open(ctx, where.Root)
	if err != nil {
		return registry.Window{}, err
	}
	known := registry.New(thisProcess())
	for _, other := range windows {
		known.Put(other)
	}
	session := registry.SessionName(where.Root, where.CommonDir, where.Branch, where.GitDir != where.CommonDir)
	sighting := registry.Sighting{Worktree: where.Root, CommonDir: where.CommonDir}
	w = known.Make(sighting, registry.NameKey(session, name), session, name)
	w.LastActive = p.now()
	if w.Turn, err = store.HighestTurn(ctx, w.ID); err != nil {
		return registry.Window{}, err
	}
	return w, registry.WriteRecord(w)
}

// Busy lists the windows of a work tree whose agents are mid-turn by their
// records. A turn whose agent has died or was interrupted is over, though its
// record does not say so yet: it is closed and saved now, as is what a daemon
// that was killed still had to save. A window of which that fails counts as
// busy.
func (p *localPanes) Busy(ctx context.Context, worktree string) ([]registry.Window, error) {
	windows, where, err := p.recorded(ctx, worktree)
	if err != nil {
		return nil, err
	}
	var busy []registry.Window
	for _, w := range windows {
		if w.Worktree == where.Root && p.busy(ctx, w) {
			busy = append(busy, w)
		}
	}
	return busy, nil
}

func (p *localPanes) busy(ctx context.Context, w registry.Window) bool {
	how := p.over(w)
	switch {
	case how != 0 && w.TurnOpen:
	case how == 0 && w.MidTurn(alive):
		return true
	case len(w.Due) == 0 || alive(w.Owner): // a daemon that lives saves it itself
		return false
	}
	if !p.repos.config().Agents.Checkpoints.Enabled {
		return false
	}
	store, err := p.repos.open(ctx, w.Worktree)
	if err != nil {
		return true
	}
	w, err = turns.Finish(ctx, store, w, how, p.now())
	return errors.Join(err, registry.WriteRecord(w)) != nil
}

// over tells how the agent of w has ended what it did, 0: not, as far as is known.
func (p *localPanes) over(w registry.Window) agentstate.Kind {
	switch {
	case w.AgentPID != 0 && !alive(w.AgentProcess()):
		return agentstate.Exit
	case w.Transcript == "":
		return 0
	}
	// Unchanged since the turn began, it still ends in what came before.
	info, err := os.Stat(w.Transcript)
	if err == nil && info.Size() != w.TranscriptSize && p.transcripts.EndsInInterrupt(w.Agent, w.Transcript) {
		return agentstate.Interrupt
	}
	return 0
}

// Tell leaves a text in the records of the windows, where a daemon finds it.
func (p *localPanes) Tell(ctx context.Context, worktree, text string) error {
	windows, where, err := p.recorded(ctx, worktree)
	for _, w := range windows {
		if w.Worktree == where.Root && w.AgentSession != "" {
			err = errors.Join(err, registry.WriteRecord(w.Owing(text, p.now())))
		}
	}
	return err
}

func alive(p registry.Process) bool { return terminal.ProcessAlive(p.PID, p.Started) }
