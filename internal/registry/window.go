// Package registry knows the windows: which agent runs in which terminal and
// work tree, under which name, and how far its turns have come. It keeps them
// in a state file of the daemon and in one live record a window below the
// repository's common git directory, where other processes find them.
//
// A Registry is not safe for concurrent use; its owner guards it.
package registry

import (
	"slices"
	"time"

	"github.com/turnback/turnback/internal/agentstate"
	"github.com/turnback/turnback/internal/api"
)

// Window is a named slot of a session with one pane in it. It is a value; what
// its slices and pointers refer to is never changed in place.
type Window struct {
	ID        string   `json:"id"` // 8 hexadecimal digits or more
	Session   string   `json:"session"`
	Name      string   `json:"name"`
	Worktree  string   `json:"worktree"`             // root of its work tree; its directory where there is none
	CommonDir string   `json:"common_dir,omitempty"` // the repository's common git directory; empty: not in a git work tree
	Key       string   `json:"key"`                  // what its id was made from: a terminal's key, session:..., name:..., dir:
	Keys      []string `json:"keys,omitempty"`       // keys of the terminal it is in now, best first

	Agent          string `json:"agent,omitempty"`           // claude, codex, ...
	AgentSession   string `json:"agent_session,omitempty"`   // the agent's own session id
	AgentPID       int    `json:"agent_pid,omitempty"`       // the agent's process; 0: not known
	AgentStarted   string `json:"agent_started,omitempty"`   // start time of that process
	Headless       bool   `json:"headless,omitempty"`        // the agent does one task without a person
	Transcript     string `json:"transcript,omitempty"`      // absolute path of the agent's transcript
	TranscriptSize int64  `json:"transcript_size,omitempty"` // its size in bytes when the newest turn began

	agentstate.Machine          // state and turns
	Base               *Base    `json:"base,omitempty"`  // what the newest turn started from; nil: not noted
	With               []TurnID `json:"with,omitempty"`  // turns of other windows that were open in the work tree while the newest was
	Named              []string `json:"named,omitempty"` // files that the newest turn's tools named, relative to the root
	Due                []Due    `json:"due,omitempty"`   // what is to be stored of its turns, oldest first

	Untold []Untold `json:"untold,omitempty"` // what agents are to be told, oldest first

	LastActive time.Time `json:"last_active"`    // the last sign of life
	Gone       bool      `json:"gone,omitempty"` // its terminal is known to have ended, or its headless agent
	Owner      Process   `json:"owner"`          // the daemon that follows it
}

// Due is something that is to be stored of a turn, and is not yet. It outlives
// the process that was to do it.
type Due struct {
	Turn         int       `json:"turn"`
	At           time.Time `json:"at"`                      // when it fell due
	Start        bool      `json:"start,omitempty"`         // the turn's start is to be noted; else the turn is to be saved
	Missed       string    `json:"missed,omitempty"`        // why it was not stored, which is to be noted; empty: it may still be
	State        string    `json:"state,omitempty"`         // of the turn
	Label        string    `json:"label,omitempty"`         // of the turn
	Agent        string    `json:"agent,omitempty"`         // who had the turn
	AgentSession string    `json:"agent_session,omitempty"` // its session
	Transcript   string    `json:"transcript,omitempty"`    // where in its transcript the agent was
	Base         *Base     `json:"base,omitempty"`          // of the turn; nil: not noted
	With         []TurnID  `json:"with,omitempty"`          // as in Window
	Named        []string  `json:"named,omitempty"`         // as in Window
	Since        time.Time `json:"since"`                   // when the turn began
}

// maxDue bounds what is kept of a window whose store cannot be had.
const maxDue = 100

// Owe returns w with d due. Of one turn's saves the newest stands for all.
func (w Window) Owe(d Due) Window {
	if d.Missed == "" {
		w = w.Paid(d.Turn, d.Start)
	}
	w.Due = append(slices.Clone(w.Due), d)
	w.Due = lighter(w.Due[max(0, len(w.Due)-maxDue):])
	return w
}

// Paid returns w without what was due of a turn: its start, or its save. What
// was missed stays.
func (w Window) Paid(turn int, start bool) Window {
	return w.without(func(d Due) bool { return d.Missed == "" && d.Turn == turn && d.Start == start })
}

// Told returns w without d, which was missed and is noted now.
func (w Window) Told(d Due) Window {
	return w.without(func(o Due) bool {
		return o.Missed == d.Missed && o.Turn == d.Turn && o.Start == d.Start && o.At.Equal(d.At)
	})
}

func (w Window) without(gone func(Due) bool) Window {
	due := slices.DeleteFunc(slices.Clone(w.Due), gone)
	if len(due) == 0 {
		due = nil
	}
	w.Due = due
	return w
}

// Based returns w with the base of one of its turns.
func (w Window) Based(turn int, base *Base) Window {
	if w.Turn == turn {
		w.Base = base
	}
	w.Due = slices.Clone(w.Due)
	for i := range w.Due {
		if w.Due[i].Turn == turn && !w.Due[i].Start {
			w.Due[i].Base = base
		}
	}
	return w
}

// Base is what a turn started from.
type Base struct {
	Head   string `json:"head"` // commit id; empty on an unborn branch
	Tree   string `json:"tree"`
	Disk   string `json:"disk,omitempty"` // a digest of what is in no tree; empty: not known
	Number int    `json:"number"`         // the window's checkpoint with this tree; 0: none
	Name   string `json:"name"`           // as a person reads it

	At        time.Time `json:"at,omitzero"`         // when the work tree was seen so
	Uncertain []string  `json:"uncertain,omitempty"` // files that may have changed after the turn began
}

// Process names a process, also after its id was used again.
type Process struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // start time as package terminal tells it
}

// Same reports whether p and q are one process, as far as is known: where a
// start time is missing, by the id alone. A process that is not known is none.
func (p Process) Same(q Process) bool {
	return p.PID != 0 && p.PID == q.PID && (p.Started == q.Started || p.Started == "" || q.Started == "")
}

// AgentProcess is the window's agent; its PID is 0 when it is not known.
func (w Window) AgentProcess() Process {
	return Process{PID: w.AgentPID, Started: w.AgentStarted}
}

// Pane names w in a result.
func (w Window) Pane() api.Pane {
	return api.Pane{Session: w.Session, Window: w.Name, Pane: w.ID, Worktree: w.Worktree}
}

// Info is w as `turnback ls` shows it.
func (w Window) Info() api.WindowInfo {
	return api.WindowInfo{
		Name: w.Name, ID: w.ID, Session: w.Session, State: string(w.StateOrNone()), Worktree: w.Worktree,
		Agent: w.Agent, Turn: w.Turn, TurnOpen: w.TurnOpen, Since: w.Since, Gone: w.Gone,
	}
}

// StateOrNone is the state of w, also when nothing was ever claimed.
func (w Window) StateOrNone() agentstate.State {
	if w.State == "" {
		return agentstate.None
	}
	return w.State
}

// MidTurn reports whether an agent may be changing files now: it works, waits
// for an answer, or its state is unknown while its process lives and its turn
// is open.
func (w Window) MidTurn(alive func(Process) bool) bool {
	switch w.StateOrNone() {
	case agentstate.Working, agentstate.NeedsInput:
		return true
	case agentstate.Unknown:
		return w.TurnOpen && w.AgentPID != 0 && alive(w.AgentProcess())
	}
	return false
}

// sameTerminal reports whether the keys of two terminals, best first, are of
// one terminal. A key that one host hands on to the panes of another (a
// multiplexer inside a terminal) is on both lists without saying so: the best
// key of one must be known to the other, and no kind of key may differ.
func sameTerminal(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	if !slices.Contains(b, a[0]) && !slices.Contains(a, b[0]) {
		return false
	}
	for _, x := range a {
		for _, y := range b {
			if x != y && keyKind(x) == keyKind(y) {
				return false
			}
		}
	}
	return true
}
