package turns

import (
	"context"
	"fmt"
	"slices"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

// startLost is what is noted of a turn whose start no process lived to save.
const startLost = "its start: the daemon was ended before it was saved"

// saves reports whether j saves a turn.
func (j *job) saves() bool { return !j.begin && j.missed == nil }

// paid takes j off what is due of its window, unless the same is asked for
// again by now, and notes the base that it found.
func (t *Tracker) paid(j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, ok := t.o.Registry.Get(j.window.ID)
	if !ok || j.missed != nil || t.lost(w) {
		return
	}
	if j.begin && j.turn.base != nil {
		w = w.Based(j.turn.number, j.turn.base)
	}
	for _, other := range t.waiting(j.window.Worktree) {
		if j.saves() && other.saves() && other.turn == j.turn {
			t.keep(w)
			return
		}
	}
	t.keep(w.Paid(j.turn.number, j.begin))
}

func (t *Tracker) waiting(root string) []*job {
	if q := t.queues[root]; q != nil {
		return q.waiting
	}
	return nil
}

// queued are the jobs of a work tree that run or wait. t.mu is held.
func (t *Tracker) queued(root string) []*job {
	q := t.queues[root]
	if q == nil {
		return nil
	}
	if q.running == nil {
		return slices.Clone(q.waiting)
	}
	return append([]*job{q.running}, q.waiting...)
}

// lost reports whether another living process has taken w over, which is not
// to be overwritten. t.mu is held.
func (t *Tracker) lost(w registry.Window) bool {
	r, err := registry.ReadRecord(w)
	return err == nil && t.foreign(r) && r.LastActive.After(w.LastActive)
}

// missed keeps why j was not stored, until it can be noted.
func (t *Tracker) missed(j *job, why string) {
	if j.missed != nil {
		return // it is kept
	}
	if j.begin {
		why = startOf(why)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if w, ok := t.o.Registry.Get(j.window.ID); ok && w.CommonDir != "" && !t.lost(w) {
		t.keep(w.Owe(registry.Due{Turn: j.turn.number, Start: j.begin, Missed: why, At: j.at}))
	}
}

// startOf says that it is a turn's start that was not saved.
func startOf(why string) string {
	const what = "its start: "
	if len(why) >= len(what) && why[:len(what)] == what {
		return why
	}
	return what + why
}

// catchUp notes what the window of j missed: its store can be had again.
func (t *Tracker) catchUp(s Store, j *job) {
	t.mu.Lock()
	w, _ := t.o.Registry.Get(j.window.ID)
	t.mu.Unlock()
	for _, d := range w.Due {
		if d.Missed != "" && !t.noteDue(s, j, d) {
			return
		}
	}
}

// doNote notes what was missed.
func (t *Tracker) doNote(s Store, j *job) {
	t.mu.Lock()
	w, ok := t.o.Registry.Get(j.window.ID)
	t.mu.Unlock()
	for _, d := range w.Due {
		if ok && d.Missed == j.missed.Missed && d.Turn == j.missed.Turn && d.At.Equal(j.missed.At) {
			t.noteDue(s, j, d)
			return
		}
	}
}

func (t *Tracker) noteDue(s Store, j *job, d registry.Due) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), noteWait)
	defer cancel()
	err := s.NoteNotSaved(ctx, j.pane, checkpoint.NotSaved{Turn: d.Turn, Reason: d.Missed, At: d.At.UTC()})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.o.Problem(fmt.Errorf("note that turn %d of pane %s is not saved: %w", d.Turn, j.pane.ID, err))
		return false
	}
	if w, ok := t.o.Registry.Get(j.window.ID); ok && !t.lost(w) {
		t.keep(w.Told(d))
	}
	return true
}

// resume does what is due of a window that was followed by a process which did
// not live to do it. t.mu is held.
func (t *Tracker) resume(w registry.Window) registry.Window {
	if w.CommonDir == "" {
		return w
	}
	w = lostStarts(w)
	for _, d := range w.Due {
		j := &job{window: w, at: d.At, turn: &turn{number: d.Turn, base: d.Base}}
		if d.Turn == w.Turn {
			j.turn = t.turnOf(w, w.Turn)
		}
		if d.Missed != "" {
			j.missed = &d
			t.resumed[w.Worktree] = append(t.resumed[w.Worktree], t.enqueue(j))
			continue
		}
		j.window.Agent, j.window.AgentSession, j.window.TurnStarted = d.Agent, d.AgentSession, d.Since
		j.state, j.label, j.transcript = d.State, d.Label, d.Transcript
		j.window.With, j.window.Named = d.With, d.Named
		j.letGo(d.At)
		j = t.enqueue(j)
		t.resumed[w.Worktree] = append(t.resumed[w.Worktree], j)
		if d.Turn == w.Turn {
			j.turn.save = j
		}
	}
	return w
}

// caughtUp waits, at most 2 s, until what other processes had left to do in a
// work tree is done, so that its checkpoints are seen as they were to be.
func (t *Tracker) caughtUp(ctx context.Context, root string) {
	t.mu.Lock()
	jobs := t.resumed[root]
	delete(t.resumed, root)
	t.mu.Unlock()
	t.await(ctx, hookWait, jobs, &api.SetAgentStateResult{})
}

// lostStarts gives up the starts that are due: what the files were like then
// cannot be known any more.
func lostStarts(w registry.Window) registry.Window {
	for _, d := range w.Due {
		if d.Start && d.Missed == "" {
			w = w.Paid(d.Turn, true)
			d.Missed = startLost
			w = w.Owe(d)
		}
	}
	return w
}
