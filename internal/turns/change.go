package turns

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"time"

	"github.com/turnback/turnback/internal/agentstate"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

// change is one or more events being applied to a window. t.mu is held from its
// beginning to its end.
type change struct {
	t          *Tracker
	w          registry.Window
	where      place // of the window
	now        time.Time
	transcript string // where in its transcript the agent is, as its adapter tells it
	prompt     string // id of the prompt that causes the change; empty: none, or not known
	elsewhere  bool   // the change is about another session than the window had
	applied    bool   // every event was applied
	jobs       []*job // to be waited for
	asked      bool   // by a caller of its own accord, not by a hook
	skipped    bool   // a turn's start or a save was due, but nothing can be saved here
	unsaved    bool   // a save was
}

// change begins a change of w.
func (t *Tracker) change(w registry.Window, where place) *change {
	return &change{t: t, w: w, where: where, now: t.o.Now(), applied: true}
}

// apply applies one event and sees to what follows from it.
func (c *change) apply(e agentstate.Event) {
	before := c.w.Machine
	machine, out := agentstate.Apply(before, e, c.now)
	c.w.Machine = machine
	c.applied = c.applied && out.Applied
	for _, effect := range out.Effects {
		c.effect(effect)
	}
	if machine.State != before.State || machine.Source != before.Source {
		c.t.o.Emit(c.t.event("state", c.w))
	}
}

func (c *change) effect(effect agentstate.Effect) {
	switch effect := effect.(type) {
	case agentstate.TurnStarted:
		c.w.Base, c.w.With, c.w.Named, c.w.TranscriptSize = nil, nil, nil, fileSize(c.w.Transcript)
		c.meet(effect.Turn)
		current := &turn{number: effect.Turn}
		c.t.turns[c.w.ID] = current
		c.turnEvent("turn_started", effect.Turn, "")
		c.t.wakeUp()
		if c.saves() {
			current.start = c.add(&job{begin: true, saveStart: c.savesStart(), turn: current, prompt: c.prompt})
			c.w = c.w.Owe(registry.Due{Turn: effect.Turn, Start: true, At: c.now})
		}
	case agentstate.TurnContinued:
		c.w.TranscriptSize = fileSize(c.w.Transcript)
		c.meet(effect.Turn)
		c.turnEvent("turn_started", effect.Turn, "")
		c.t.wakeUp()
	case agentstate.TurnEnded:
		c.turnEvent("turn_ended", effect.Turn, string(effect.State))
	case agentstate.SaveDue:
		c.unsaved = c.w.CommonDir == ""
		if c.saves() {
			current := c.t.turnOf(c.w, effect.Turn)
			c.findPlace(effect)
			current.save = c.add(&job{turn: current, state: string(effect.State), label: effect.Label, transcript: c.transcript})
			due := dueOf(c.w, effect, c.now)
			due.Base, due.Transcript = current.base, c.transcript
			c.w = c.w.Owe(due)
		}
	}
}

// findPlace finds out where in its transcript an agent was that ended a turn without
// a word.
func (c *change) findPlace(effect agentstate.SaveDue) {
	if c.transcript == "" && !c.elsewhere && (effect.State == agentstate.Aborted || effect.State == agentstate.Unknown) {
		c.transcript = c.t.o.Transcripts.Place(c.w.Agent, c.w.Transcript, c.prompt)
	}
}

// saves reports whether a checkpoint can be taken of the window's directory.
func (c *change) saves() bool {
	if !c.t.o.Settings().Enabled {
		return false
	}
	c.skipped = c.skipped || c.w.CommonDir == ""
	return c.w.CommonDir != ""
}

// savesStart reports whether what changed before this turn is to be saved as
// its start: not while another window's turn is open in the same work tree.
func (c *change) savesStart() bool {
	if !c.t.o.Settings().AtTurnStart {
		return false
	}
	for _, other := range c.t.o.Registry.Windows() {
		if other.ID != c.w.ID && other.Worktree == c.w.Worktree && other.TurnOpen {
			return false
		}
	}
	return true
}

func (c *change) add(j *job) *job {
	j.window, j.at, j.asked = c.w, c.now, c.asked
	j = c.t.enqueue(j)
	c.jobs = append(c.jobs, j)
	return j
}

func (c *change) turnEvent(kind string, number int, state string) {
	e := c.t.event(kind, c.w)
	e.Turn, e.State = number, state
	c.t.o.Emit(e)
}

// finish puts the window back and returns the answer, but for what becomes of
// the jobs.
func (c *change) finish() api.SetAgentStateResult {
	c.w = c.t.keep(c.w)
	return api.SetAgentStateResult{
		State: string(c.w.StateOrNone()), Applied: c.applied, Turn: c.w.Turn, Pane: c.w.ID,
	}
}

// complain says in result why nothing is saved here: a failure each time; that
// there is no work tree once a window, and to a caller who asked for a save.
func (c *change) complain(result *api.SetAgentStateResult) {
	if !c.skipped {
		return
	}
	first := !c.t.noticed[c.w.ID]
	if !c.where.failed {
		c.t.noticed[c.w.ID] = true
		if c.asked && !c.unsaved || !c.asked && !first {
			return
		}
	}
	result.NotSaved = cmp.Or(c.where.reason, noWorktree)
	e := c.t.event("checkpoint_not_saved", c.w)
	e.Reason = result.NotSaved
	c.t.o.Emit(e)
}

// turnOf returns what is in memory of a window's turn, the newest that was
// started so far; of a turn that was taken up again, what its record said.
func (t *Tracker) turnOf(w registry.Window, number int) *turn {
	current := t.turns[w.ID]
	if current == nil || current.number != number {
		current = &turn{number: number, base: w.Base}
		t.turns[w.ID] = current
	}
	return current
}

// keep puts w into the registry and writes what others read of it.
func (t *Tracker) keep(w registry.Window) registry.Window {
	w = t.o.Registry.Put(w)
	before, ok := t.written[w.ID]
	if ok && w.LastActive.Sub(before.at) < writeEvery && sameButTime(before.window, w) {
		return w
	}
	t.written[w.ID] = written{window: w, at: w.LastActive}
	if err := registry.WriteRecord(w); err != nil {
		delete(t.written, w.ID)
		if errors.Is(err, fs.ErrNotExist) {
			t.o.Emit(t.event("git_dir_gone", w))
		}
		t.o.Problem(err)
	}
	t.writeState()
	return w
}

func (t *Tracker) writeState() {
	if t.o.StateFile == "" {
		return
	}
	if err := t.o.Registry.Store(t.o.StateFile); err != nil {
		t.o.Problem(err)
	}
}

// sameButTime reports whether two windows differ in nothing but the time of the
// last sign of life.
func sameButTime(a, b registry.Window) bool {
	a.LastActive, a.Claimed = b.LastActive, b.Claimed
	if len(a.With) == 0 && len(b.With) == 0 {
		a.Named = b.Named // of no use to anybody while the turn is alone
	}
	return reflect.DeepEqual(a, b)
}

// event makes an event about w.
func (t *Tracker) event(kind string, w registry.Window) api.Event {
	return api.Event{
		Type: kind, At: t.o.Now().UTC(), Pane: w.ID, Session: w.Session, Window: w.Name, Worktree: w.Worktree,
		State: string(w.StateOrNone()), Turn: w.Turn,
	}
}

// wakeUp has Watch look at the open turns.
func (t *Tracker) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// fileSize is the size of a file in bytes; 0 where there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if path == "" || err != nil {
		return 0
	}
	return info.Size()
}
