package turns

import (
	"cmp"
	"context"

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
	home := where
	if w.CommonDir == "" { // what could not be used then may be usable now
		home = t.trees.at(ctx, w.Worktree, true)
	}
	t.mu.Lock()
	if t.closing {
		t.mu.Unlock()
		return api.SetAgentStateResult{}, stopping()
	}
	if current, ok := t.o.Registry.Get(w.ID); ok {
		w = current
	}
	c := t.change(w, home)
	c.asked = true
	c.w = rehomed(c.w, home.Root, home.CommonDir)
	if p.Agent != "" {
		c.w.Agent = p.Agent
	}
	c.w.LastActive, c.w.Gone = c.now, false
	for _, e := range stated(p, c.w) {
		c.apply(e)
	}
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

// stated are the events that a caller's report about w is: a prompt begins a
// turn, and the state is what it has come to since.
func stated(p api.SetAgentStateParams, w registry.Window) []agentstate.Event {
	e := agentstate.Event{
		Kind: agentstate.Claim, Source: agentstate.Report, State: agentstate.State(p.State),
		Message: checkpoint.Label(p.Message), Label: checkpoint.Label(p.Prompt),
	}
	prompt := e
	prompt.Kind, prompt.State, prompt.Message = agentstate.Prompt, "", ""
	switch {
	case p.Prompt == "":
	case e.State == agentstate.Working:
		prompt.Message = e.Message
		return []agentstate.Event{prompt}
	case !w.TurnOpen:
		return []agentstate.Event{prompt, e}
	}
	return []agentstate.Event{e}
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
		if w.Headless && (w.Gone || t.dead(w)) {
			continue // nobody comes back to it; its checkpoints are found by its name
		}
		info := w.Info()
		info.Since = info.Since.UTC()
		result.Windows = append(result.Windows, info)
	}
	return result, nil
}

// OfSession finds the window that an agent's session was in last.
func (t *Tracker) OfSession(agent, session string) (registry.Window, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found registry.Window
	for _, w := range t.o.Registry.Windows() {
		if w.Agent == agent && w.AgentSession == session && !w.LastActive.Before(found.LastActive) {
			found = w
		}
	}
	return found, found.ID != "" && session != ""
}

// Resolve finds the window that a caller means, among those that this Tracker
// and other processes follow; write is set when files are going to change.
func (t *Tracker) Resolve(ctx context.Context, place api.Place, write bool) (registry.Window, error) {
	where := t.trees.at(ctx, place.Dir, false)
	w, err := t.resolve(place, where, write)
	switch {
	case err != nil && where.failed && notFound(err):
		if where = t.trees.at(ctx, place.Dir, true); where.failed {
			return w, where.refusal
		}
		return t.resolve(place, where, write)
	case err != nil:
		return w, err
	}
	t.caughtUp(ctx, w.Worktree)
	return t.housed(ctx, w)
}

// housed is w with its repository, which may not have been there, or could not
// be used, when w was made. Outside of any repository it is w as it is; the
// error tells why one that is there cannot be used.
func (t *Tracker) housed(ctx context.Context, w registry.Window) (registry.Window, error) {
	if w.CommonDir != "" {
		return w, nil
	}
	home := t.trees.at(ctx, w.Worktree, true)
	switch home.reason {
	case "":
		return rehomed(w, home.Root, home.CommonDir), nil
	case noWorktree:
		return w, nil
	}
	return w, home.refusal
}

func (t *Tracker) resolve(p api.Place, where place, write bool) (registry.Window, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	foreign := t.takeIn(where.CommonDir) // before the registry is asked: it may lose some to others
	windows := append(t.o.Registry.Windows(), foreign...)
	root := where.Root
	if where.reason != "" {
		root = ""
	}
	if p.Dir != "" {
		p.Dir = realPath(p.Dir)
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
		return t.housed(ctx, w)
	case err != nil && (named || !notFound(err)):
		return registry.Window{}, err
	case where.reason != "":
		return registry.Window{}, where.refusal
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
