package turns

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/wire"
)

// queue holds the jobs of one work tree, which are done one after the other. It
// is there while it has jobs.
type queue struct {
	running *job // nil: none yet
	waiting []*job
}

// job is one thing that a store is to do: note a turn's start, or save.
type job struct {
	window registry.Window // as it was when the job was made
	turn   *turn
	begin  bool // note the base; else save
	asked  bool // by a caller of its own accord, not by a hook

	missed     *registry.Due   // note this, and nothing else
	saveStart  bool            // begin: save what changed before the turn
	state      string          // save
	label      string          // save
	transcript string          // save: where in its transcript the agent was
	prompt     string          // begin: id of the prompt that the turn begins with; empty: not known
	letGoAt    atomic.Int64    // when whoever caused it was let go before it was done, in nanoseconds; 0: not
	done       chan struct{}   // closed when the job is done
	outcome    outcome         // set before done is closed
	at         time.Time       // when the event fired
	pane       checkpoint.Pane // the window as the store knows it
}

// letGo notes that nobody waits for j any more.
func (j *job) letGo(now time.Time) { j.letGoAt.CompareAndSwap(0, now.UnixNano()) }

// sinceWhen is when letGo was first called; zero: not yet.
func (j *job) sinceWhen() time.Time {
	if at := j.letGoAt.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// outcome is what became of a job.
type outcome struct {
	checkpoint *api.Checkpoint
	unchanged  bool
	notSaved   string
}

// enqueue puts j at the end of its work tree's queue and returns it, or the job
// that it was joined with: a save of the same turn that waits. t.mu is held.
func (t *Tracker) enqueue(j *job) *job {
	j.done = make(chan struct{})
	j.pane = checkpoint.Pane{ID: j.window.ID, Window: j.window.Name, Session: j.window.Session, Key: j.window.Key}
	root := j.window.Worktree
	q := t.queues[root]
	if q == nil {
		q = &queue{}
		t.queues[root] = q
		t.workers.Go(func() { t.work(root) })
	}
	for _, other := range q.waiting {
		if j.saves() && other.saves() && other.turn == j.turn {
			other.window, other.at, other.asked = j.window, j.at, other.asked || j.asked
			other.state, other.label, other.transcript = j.state, j.label, j.transcript
			return other
		}
	}
	q.waiting = append(q.waiting, j)
	return j
}

// work does the jobs of one work tree until there are none.
func (t *Tracker) work(root string) {
	for {
		t.mu.Lock()
		q := t.queues[root]
		if len(q.waiting) == 0 {
			delete(t.queues, root)
			t.mu.Unlock()
			return
		}
		j := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.running = j
		t.mu.Unlock()
		t.do(j)
		t.paid(j)
		close(j.done)
	}
}

func (t *Tracker) do(j *job) {
	s, err := t.store(t.ctx, j.window.Worktree)
	switch {
	case err != nil:
		t.missed(j, reason(err))
		if t.speaks(j, err) {
			j.outcome.notSaved = reason(err)
			t.tell(j)
		}
	case j.missed != nil:
		t.doNote(s, j)
	case j.begin:
		t.doBegin(s, j)
	default:
		t.doSave(s, j)
	}
}

// speaks reports whether a store that did not open is to be told of: a place
// where no checkpoints are taken is told of once a window, and to a caller who
// asked for one.
func (t *Tracker) speaks(j *job, err error) bool {
	if !nowhere(err) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.noticed[j.window.ID]
	t.noticed[j.window.ID] = true
	return first && !j.asked || j.asked && !j.begin
}

func (t *Tracker) doBegin(s Store, j *job) {
	foreign := t.meetForeign(j)
	result, err := s.Begin(t.ctx, checkpoint.BeginRequest{
		Pane: j.pane, Turn: j.turn.number, SaveStart: j.saveStart && !foreign, Agent: j.window.Agent, LetGo: j.sinceWhen,
		Talk: func() checkpoint.Talk { return t.talk(j.window, j.prompt) },
	})
	if err != nil {
		j.outcome.notSaved = reason(err)
		t.note(s, j, "its start: "+j.outcome.notSaved)
		t.tell(j)
		return
	}
	if result.Start != nil {
		start := wire.Checkpoint(*result.Start)
		j.outcome.checkpoint = &start
	}
	base := registry.Base(result.Base)
	t.mu.Lock()
	j.turn.base = &base
	t.mu.Unlock()
	t.tell(j)
	t.catchUp(s, j)
}

// talk is the conversation of a window's agent now, without a prompt.
func (t *Tracker) talk(w registry.Window, prompt string) checkpoint.Talk {
	return checkpoint.Talk{Agent: w.Agent, Session: w.AgentSession, At: t.o.Transcripts.Place(w.Agent, w.Transcript, prompt)}
}

func (t *Tracker) doSave(s Store, j *job) {
	t.meetForeign(j)
	t.mu.Lock()
	base := baseOf(j.turn.base)
	w := j.window
	t.mu.Unlock()
	result, err := s.Save(t.ctx, checkpoint.SaveRequest{
		Kind: checkpoint.KindTurn, Pane: j.pane, Turn: j.turn.number, State: j.state, Label: j.label, Base: base,
		Agent: w.Agent, AgentSession: w.AgentSession, Transcript: j.transcript, LetGo: j.sinceWhen, Since: w.TurnStarted,
		With: withOf(w.With), Named: w.Named,
	})
	if err != nil {
		j.outcome.notSaved = reason(err)
		t.note(s, j, j.outcome.notSaved)
		t.tell(j)
		return
	}
	switch {
	case result.Checkpoint != nil:
		saved := wire.Checkpoint(*result.Checkpoint)
		j.outcome.checkpoint = &saved
	default:
		j.outcome.unchanged = true
		switch {
		case len(result.NotCovered) > 0:
			t.note(s, j, notCovered(result.NotCovered))
		case result.Together > 0:
			t.note(s, j, fmt.Sprintf("saved together with turn %d", result.Together))
		case base != nil && base.Tree == result.Tree:
			t.part(j)
		}
	}
	t.tell(j)
	t.catchUp(s, j)
}

// notCovered says that a turn changed nothing but what no checkpoint holds.
func notCovered(left []checkpoint.LeftOut) string {
	names := make([]string, 0, len(left))
	for _, l := range left {
		names = append(names, l.Path)
	}
	return "not covered: " + strings.Join(names, ", ")
}

// note has the store list a turn that was not saved, also when the saves are
// given up.
func (t *Tracker) note(s Store, j *job, why string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), noteWait)
	defer cancel()
	err := s.NoteNotSaved(ctx, j.pane, checkpoint.NotSaved{Turn: j.turn.number, Reason: why, At: j.at.UTC()})
	if err != nil {
		t.mu.Lock()
		t.o.Problem(fmt.Errorf("note that turn %d of pane %s is not saved: %w", j.turn.number, j.pane.ID, err))
		t.mu.Unlock()
		t.missed(j, why)
	}
}

// tell gives out what became of j.
func (t *Tracker) tell(j *job) {
	e := t.event("", j.window)
	e.Turn = j.turn.number
	switch {
	case j.outcome.notSaved != "":
		e.Type, e.Reason = "checkpoint_not_saved", j.outcome.notSaved
	case j.outcome.checkpoint != nil:
		e.Type, e.Checkpoint = "checkpoint_saved", j.outcome.checkpoint
	default:
		return
	}
	t.mu.Lock()
	t.o.Emit(e)
	t.mu.Unlock()
}

// store returns the store of a work tree. It is opened once.
func (t *Tracker) store(ctx context.Context, root string) (Store, error) {
	t.mu.Lock()
	s := t.stores[root]
	t.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := t.o.Open(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.stores[root]; first != nil {
		return first, nil
	}
	t.stores[root] = s
	return s, nil
}

// await waits for jobs, no longer than limit, and puts into result what became
// of them. A save comes before a turn's start, a failure before all.
func (t *Tracker) await(ctx context.Context, limit time.Duration, jobs []*job, result *api.SetAgentStateResult) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, j := range jobs {
		select {
		case <-j.done:
			continue
		default:
		}
		select {
		case <-j.done:
		case <-timer.C:
			timer.Reset(0)
			j.letGo(t.o.Now())
			result.Pending = true
		case <-ctx.Done():
			j.letGo(t.o.Now())
			result.Pending = true
		}
	}
	sum(jobs, result)
}

func sum(jobs []*job, result *api.SetAgentStateResult) {
	for _, j := range jobs {
		select {
		case <-j.done:
		default:
			continue
		}
		if result.NotSaved == "" {
			result.NotSaved = j.outcome.notSaved
		}
		if result.Checkpoint == nil {
			result.Checkpoint = j.outcome.checkpoint
		}
		result.Unchanged = result.Unchanged || j.outcome.unchanged
	}
	// At most one of them tells.
	switch {
	case result.NotSaved != "":
		result.Checkpoint, result.Pending, result.Unchanged = nil, false, false
	case result.Pending:
		result.Checkpoint, result.Unchanged = nil, false
	case result.Checkpoint != nil:
		result.Unchanged = false
	}
}

// Saving is the number of jobs that run or wait.
func (t *Tracker) Saving() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, q := range t.queues {
		n += len(q.waiting) + 1
	}
	return n
}
