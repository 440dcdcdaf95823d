package registry

import (
	"cmp"
	"slices"
	"time"
)

// Registry is the set of windows that a daemon follows.
type Registry struct {
	self    Process
	windows map[string]Window // by id
}

// New returns an empty Registry whose windows are followed by self.
func New(self Process) *Registry {
	return &Registry{self: self, windows: map[string]Window{}}
}

// Windows returns every window, ordered by session, name and id.
func (r *Registry) Windows() []Window {
	list := make([]Window, 0, len(r.windows))
	for _, w := range r.windows {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b Window) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Get returns the window with this id.
func (r *Registry) Get(id string) (Window, bool) {
	w, ok := r.windows[id]
	return w, ok
}

// Put adds w or takes the place of the window with its id. Its owner is this
// registry's process from now on. A terminal key that w has is taken from the
// other windows of its work tree: it is w that is in this terminal now.
func (r *Registry) Put(w Window) Window {
	w.Owner = r.self
	r.windows[w.ID] = w
	for id, other := range r.windows {
		if id != w.ID && other.Worktree == w.Worktree && sameTerminal(other.Keys, w.Keys) {
			other.Keys = nil
			r.windows[id] = other
		}
	}
	return w
}

// Remove forgets the window with this id.
func (r *Registry) Remove(id string) { delete(r.windows, id) }

// Expire forgets, and returns, the windows without an open turn that showed no
// sign of life since cutoff. Their checkpoints are not touched.
func (r *Registry) Expire(cutoff time.Time) []Window {
	var expired []Window
	for _, w := range r.Windows() {
		if !w.TurnOpen && w.LastActive.Before(cutoff) {
			expired = append(expired, w)
			r.Remove(w.ID)
		}
	}
	return expired
}

// Owned reports whether w is followed by this registry's process.
func (r *Registry) Owned(w Window) bool { return w.Owner == r.self }

// Sighting is what a report tells of where it comes from.
type Sighting struct {
	Worktree     string   // root of the work tree; the directory where there is none
	CommonDir    string   // the repository's common git directory; empty: none
	Keys         []string // of the terminal, best first
	Agent        string
	AgentSession string
	Process      Process // the agent's; PID 0: not known
}

// Key is the key of a window that is made for s.
func (s Sighting) Key() string {
	switch {
	case len(s.Keys) > 0:
		return s.Keys[0]
	case s.AgentSession != "":
		return SessionKey(s.Agent, s.AgentSession)
	}
	return DirKey()
}

// Find returns the window that s was seen in. The agent's process decides
// first; then its session, unless the window's own agent process lives on
// elsewhere with the same session; then the terminal. All but the work tree may
// have changed since.
func (r *Registry) Find(s Sighting, alive func(Process) bool) (Window, bool) {
	inTree := slices.DeleteFunc(r.Windows(), func(w Window) bool { return w.Worktree != s.Worktree })
	if w, ok := newest(inTree, func(w Window) bool { return sameAgent(w, s) && w.AgentProcess() == s.Process }); ok {
		return w, true
	}
	terminal, known := newest(inTree, func(w Window) bool { return sameTerminal(w.Keys, s.Keys) })
	session, ok := newest(inTree, func(w Window) bool {
		return s.AgentSession != "" && w.AgentSession == s.AgentSession && w.Agent == s.Agent
	})
	switch {
	case ok && (terminal.ID == session.ID || !elsewhere(session, s, alive)):
		return session, true
	case known:
		return terminal, true
	}
	w, ok := r.windows[MakeID(s.Key(), s.Worktree, func(string) bool { return false })]
	return w, ok && w.Key == s.Key() && w.Worktree == s.Worktree && len(w.Keys) == 0
}

// sameAgent reports whether w and s are of one agent whose process is known.
func sameAgent(w Window, s Sighting) bool {
	return s.Process.PID != 0 && s.Process.Started != "" && w.Agent == s.Agent
}

// elsewhere reports whether the window's agent still runs as another process
// than the one that was seen.
func elsewhere(w Window, s Sighting, alive func(Process) bool) bool {
	return w.AgentPID != 0 && s.Process.PID != 0 && !w.AgentProcess().Same(s.Process) && alive(w.AgentProcess())
}

// OpenTurn returns the window, in whatever work tree, in which this session of
// this agent has a turn open.
func (r *Registry) OpenTurn(agent, session string) (Window, bool) {
	return newest(r.Windows(), func(w Window) bool {
		return session != "" && w.TurnOpen && w.AgentSession == session && w.Agent == agent
	})
}

// Make adds the window with this key that s was seen in. Its name gets a number
// when a live window of the session has it.
func (r *Registry) Make(s Sighting, key, session, name string) Window {
	w := Window{
		ID:      r.idFor(key, s.Worktree),
		Session: session, Name: r.freeName(session, name),
		Worktree: s.Worktree, CommonDir: s.CommonDir, Key: key, Keys: s.Keys,
		Agent: s.Agent, AgentSession: s.AgentSession, AgentPID: s.Process.PID, AgentStarted: s.Process.Started,
	}
	return r.Put(w)
}

// idFor makes the id of a window that is to be added.
func (r *Registry) idFor(key, worktree string) string {
	return MakeID(key, worktree, func(id string) bool {
		w, ok := r.windows[id]
		return ok && (w.Key != key || w.Worktree != worktree)
	})
}

// newest returns the most recently active of the windows that match.
func newest(windows []Window, match func(Window) bool) (Window, bool) {
	var found Window
	ok := false
	for _, w := range windows {
		if match(w) && (!ok || w.LastActive.After(found.LastActive)) {
			found, ok = w, true
		}
	}
	return found, ok
}
