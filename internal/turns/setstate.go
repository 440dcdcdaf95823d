package turns

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/agentstate"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/nearest"
	"github.com/turnback/turnback/internal/registry"
)

// SetState takes in a state that a caller reports, and makes the window that it
// names if there is none. A state that causes a checkpoint waits for it, at most
// 2 s.
func (t *Tracker) SetState(ctx context.Context, p api.SetAgentStateParams) (api.SetAgentStateResult, error) {
	if !agentstate.State(p.State).Valid() {
		return api.SetAgentStateResult{}, badState(p.State)
	}
	where := t.trees.at(ctx, p.Dir, p.Prompt != "" || p.State == string(agentstate.Working))
	w, err := t.meant(ctx, p, where)
	if err != nil {
		return api.SetAgentStateResult{}, err
	}
	t.settle(ctx, w)
	t.mu.Lock()
	if t.closing {
		t.mu.Unlock()
		return api.SetAgentStateResult{}, stopping()
	}
	if current, ok := t.o.Registry.Get(w.ID); ok {
		w = current
	}
	c := t.change(w, where)
	c.asked = true
	if where.Root == w.Worktree && where.CommonDir != "" {
		c.w.CommonDir = where.CommonDir
	}
	if p.Agent != "" {
		c.w.Agent = p.Agent
	}
	c.w.LastActive, c.w.Gone = c.now, false
	c.apply(stated(p))
	result := c.finish()
	c.complain(&result)
	jobs := c.jobs
	if current := t.turns[w.ID]; len(jobs) == 0 && current != nil && current.save != nil && !c.w.TurnOpen {
		jobs = pending(current.save)
	}
	t.mu.Unlock()
	t.await(ctx, hookWait, jobs, &result)
	return result, nil
}

// stated is the event that a caller's report is.
func stated(p api.SetAgentStateParams) agentstate.Event {
	e := agentstate.Event{
		Kind: agentstate.Claim, Source: agentstate.Report, State: agentstate.State(p.State),
		Message: checkpoint.Label(p.Message), Label: checkpoint.Label(p.Prompt),
	}
	if p.Prompt != "" && e.State == agentstate.Working {
		e.Kind = agentstate.Prompt
	}
	return e
}

// meant finds, or makes, the window that a caller reports about. A caller that
// names none and begins to work does so in the window of its terminal.
func (t *Tracker) meant(ctx context.Context, p api.SetAgentStateParams, where place) (registry.Window, error) {
	w, err := t.resolve(p.Place, where, true)
	switch {
	case err == nil && !startsAnew(p, w, where):
		return w, nil
	case err != nil && !notFound(err):
		return registry.Window{}, err
	}
	s := registry.Sighting{Worktree: where.Root, CommonDir: where.CommonDir, Keys: p.TerminalKeys, Agent: p.Agent}
	session, name := cmp.Or(p.Session, where.session()), cmp.Or(p.Window, p.Agent, defaultName)
	if p.Session == "" && p.Window == "" {
		return t.make(ctx, s, s.Key(), session, name)
	}
	s.Keys = nil // a window that is named is no terminal's, whoever reports about it
	return t.make(ctx, s, registry.NameKey(session, name), session, name)
}

// startsAnew reports whether a caller that w was found for begins to work in
// another window: in its own terminal, of which nothing was known in this work
// tree.
func startsAnew(p api.SetAgentStateParams, w registry.Window, where place) bool {
	named := p.Window != "" || p.Session != "" || w.ID == p.PaneID
	if named || p.State != string(agentstate.Working) || len(p.TerminalKeys) == 0 {
		return false
	}
	return !callers(w, p.Place) || w.Worktree != where.Root
}

// callers reports whether w is the window that the caller itself runs in.
func callers(w registry.Window, p api.Place) bool {
	own, err := registry.Resolve([]registry.Window{w}, api.Place{PaneID: p.PaneID, TerminalKeys: p.TerminalKeys}, true)
	return err == nil && own.ID == w.ID
}

func notFound(err error) bool {
	code := api.AsError(err).Code
	return code == api.CodeWindowNotFound || code == api.CodeSessionNotFound
}

// GetState tells the state of one window.
func (t *Tracker) GetState(ctx context.Context, p api.GetAgentStateParams) (api.GetAgentStateResult, error) {
	where := t.trees.at(ctx, p.Dir, false)
	if _, err := t.resolve(p.Place, where, false); err != nil {
		return api.GetAgentStateResult{}, err
	}
	t.mu.Lock()
	t.closeDead(func(registry.Window) bool { return true })
	t.mu.Unlock()
	w, err := t.resolve(p.Place, where, false)
	if err != nil {
		return api.GetAgentStateResult{}, err
	}
	return api.GetAgentStateResult{
		State: string(w.StateOrNone()), Source: string(w.Source), Since: w.Since.UTC(), Turn: w.Turn, Agent: w.Agent, Message: w.Message,
	}, nil
}

// Windows lists the windows that this Tracker follows.
func (t *Tracker) Windows(_ context.Context) (api.ListWindowsResult, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeDead(func(registry.Window) bool { return true })
	result := api.ListWindowsResult{Windows: []api.WindowInfo{}}
	for _, w := range t.o.Registry.Windows() {
		info := w.Info()
		info.Since = info.Since.UTC()
		result.Windows = append(result.Windows, info)
	}
	return result, nil
}

// Resolve finds the window that a caller means, among those that this Tracker
// and other processes follow; write is set when files are going to change.
func (t *Tracker) Resolve(ctx context.Context, place api.Place, write bool) (registry.Window, error) {
	return t.resolve(place, t.trees.at(ctx, place.Dir, false), write)
}

func (t *Tracker) resolve(p api.Place, where place, write bool) (registry.Window, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	windows := append(t.o.Registry.Windows(), t.takeIn(where.CommonDir)...)
	root := where.Root
	if where.reason != "" {
		root = ""
	}
	if resolved, err := filepath.EvalSymlinks(p.Dir); err == nil {
		p.Dir = resolved
	}
	return registry.ResolveIn(windows, p, root, write)
}

// Ensure is Resolve for a save by hand: in a work tree without a window it
// makes one with this name. A window of the caller's terminal that is in another
// work tree is not meant, unless it is named.
func (t *Tracker) Ensure(ctx context.Context, place api.Place, name string) (registry.Window, error) {
	where := t.trees.at(ctx, place.Dir, true)
	w, err := t.resolve(place, where, true)
	named := place.Session != "" || place.Window != ""
	switch {
	case err == nil && (named || w.Worktree == where.Root):
		return w, nil
	case err != nil && (named || !notFound(err)):
		return registry.Window{}, err
	case where.reason != "":
		return registry.Window{}, api.Errorf(api.CodeNotRepo, "%s: %s", where.reason, where.Root)
	}
	s := registry.Sighting{Worktree: where.Root, CommonDir: where.CommonDir}
	return t.make(ctx, s, registry.NameKey(where.session(), name), where.session(), name)
}

func badState(state string) error {
	var accepted []string
	for _, s := range agentstate.States() {
		accepted = append(accepted, string(s))
	}
	return api.Errorf(api.CodeInvalidParams, "there is no state %q", state).WithHint(api.Hint{
		Param: "state", Accepted: accepted, DidYouMean: nearest.Word(state, accepted),
	})
}
