package turns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/turnback/turnback/internal/agentstate"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

// answerTime is how long after an answer to an agent's hook its transcript may
// still lack what the hook was about.
const answerTime = 500 * time.Millisecond

// Recover reads the state file and the records and takes up the windows. A turn
// whose agent has died is closed as aborted and saved; others stay open. An
// error tells what could not be read; the Tracker is usable all the same.
func (t *Tracker) Recover(_ context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if t.o.StateFile != "" {
		err = t.o.Registry.Load(t.o.StateFile)
	}
	for _, w := range t.o.Registry.Expire(t.o.Now().Add(-forgetAfter)) {
		err = errors.Join(err, registry.RemoveRecord(w))
	}
	remembered := t.o.Registry.Windows()
	commonDirs := map[string]bool{}
	for _, w := range remembered {
		t.o.Registry.Remove(w.ID)
		// The repository had gone when the record was to be written.
		if r, e := registry.ReadRecord(w); e == nil && !t.foreign(r) && w.LastActive.After(r.LastActive) {
			err = errors.Join(err, registry.WriteRecord(w))
		}
		commonDirs[w.CommonDir] = true
	}
	for dir := range commonDirs {
		t.takeIn(dir)
	}
	for _, w := range remembered {
		if _, ok := t.o.Registry.Get(w.ID); !ok && !t.followed(w) {
			t.adopt(w)
		}
	}
	return err
}

// followed reports whether the record of w says that another living process
// follows it now. t.mu is held.
func (t *Tracker) followed(w registry.Window) bool {
	for _, r := range t.records(w.CommonDir) {
		if r.ID == w.ID {
			return t.foreign(r)
		}
	}
	return false
}

// foreign reports whether another living process follows w.
func (t *Tracker) foreign(w registry.Window) bool {
	return !t.o.Registry.Owned(w) && t.alive(w.Owner)
}

// records reads the live records of a repository. t.mu is held.
func (t *Tracker) records(commonDir string) []registry.Window {
	if commonDir == "" {
		return nil
	}
	windows, err := registry.ReadRecords(commonDir)
	if err != nil {
		t.o.Problem(err)
	}
	return windows
}

// takeIn takes up the recorded windows of a repository that nobody follows any
// more, lets go of those that another process has taken over, and returns the
// windows that others follow. t.mu is held.
func (t *Tracker) takeIn(commonDir string) []registry.Window {
	var foreign []registry.Window
	for _, w := range t.records(commonDir) {
		ours, known := t.o.Registry.Get(w.ID)
		switch {
		case t.foreign(w) && (!known || w.LastActive.After(ours.LastActive)):
			t.o.Registry.Remove(w.ID)
			delete(t.turns, w.ID)
			delete(t.written, w.ID)
			foreign = append(foreign, w)
		case !known:
			t.adopt(w)
		}
	}
	return foreign
}

// takeOver takes the window that s was seen in from the process that follows it:
// its agent reports here now. t.mu is held.
func (t *Tracker) takeOver(foreign []registry.Window, s registry.Sighting) (registry.Window, bool) {
	theirs := registry.New(registry.Process{})
	for _, w := range foreign {
		theirs.Put(w)
	}
	w, ok := theirs.Find(s, t.alive)
	if !ok {
		return registry.Window{}, false
	}
	w.LastActive = t.o.Now()
	for _, d := range w.Due { // the process that follows it lives to do that
		if d.Missed == "" {
			w = w.Paid(d.Turn, d.Start)
		}
	}
	return t.keep(w), true
}

// adopt takes up a window that was followed before: what its agent does is not
// known, unless it has died. t.mu is held.
func (t *Tracker) adopt(w registry.Window) {
	if t.closing {
		return
	}
	w = t.resume(w)
	if w.AgentPID != 0 && !t.alive(w.AgentProcess()) {
		c := t.change(w, place{})
		if c.w.StateOrNone() != agentstate.None {
			c.apply(agentstate.Event{Kind: agentstate.Exit})
		}
		c.finish()
		return
	}
	w.Machine = agentstate.Restarted(w.Machine, t.o.Now())
	w = t.keep(w)
	if w.TurnOpen {
		t.wakeUp()
	}
}

// Busy returns the windows in a work tree whose agent is mid-turn, those that
// other processes follow too. Before that it closes, and saves, the turns of
// agents that are dead or were interrupted; it waits for these saves and all
// others in the work tree, at most 2 s.
func (t *Tracker) Busy(ctx context.Context, worktree string) ([]registry.Window, error) {
	where := t.trees.at(ctx, worktree, false)
	inTree := func(w registry.Window) bool { return w.Worktree == where.Root }
	t.letSettle(ctx, inTree)
	t.mu.Lock()
	foreign := t.takeIn(where.CommonDir)
	t.closeDead(inTree)
	jobs := t.queued(where.Root)
	t.mu.Unlock()
	t.await(ctx, hookWait, jobs, &api.SetAgentStateResult{})

	t.mu.Lock()
	defer t.mu.Unlock()
	var busy []registry.Window
	for _, w := range t.o.Registry.Windows() {
		if inTree(w) && w.MidTurn(t.alive) {
			busy = append(busy, w)
		}
	}
	for _, w := range foreign {
		if inTree(w) && w.MidTurn(t.alive) && !t.over(w) {
			busy = append(busy, w)
		}
	}
	return busy, nil
}

// letSettle waits until an interrupt that the transcript of a matching window
// tells of can be believed: answerTime at most.
func (t *Tracker) letSettle(ctx context.Context, match func(registry.Window) bool) {
	var wait time.Duration
	t.mu.Lock()
	for _, w := range t.o.Registry.Windows() {
		c := t.calls[w.ID]
		if !w.TurnOpen || !match(w) || w.Transcript == "" || c.running > 0 {
			continue
		}
		left := answerTime - t.o.Now().Sub(c.answered)
		if left > wait && t.o.Transcripts.EndsInInterrupt(w.Agent, w.Transcript) {
			wait = left
		}
	}
	t.mu.Unlock()
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// closeDead closes the open turns of the matching windows whose agent has died
// or was interrupted, and returns their saves. t.mu is held.
func (t *Tracker) closeDead(match func(registry.Window) bool) []*job {
	var jobs []*job
	for _, w := range t.o.Registry.Windows() {
		if t.closing || !w.TurnOpen || !match(w) {
			continue
		}
		kind := agentstate.Interrupt
		switch {
		case t.dead(w):
			kind = agentstate.Exit
		case !t.interrupted(w):
			continue
		}
		c := t.change(w, place{})
		c.apply(agentstate.Event{Kind: kind})
		c.finish()
		jobs = append(jobs, c.jobs...)
	}
	return jobs
}

// over reports whether the turn of a window that another process follows is
// over without that process having heard of it.
func (t *Tracker) over(w registry.Window) bool { return t.dead(w) || t.interrupted(w) }

func (t *Tracker) dead(w registry.Window) bool {
	return w.AgentPID != 0 && !t.alive(w.AgentProcess())
}

// interrupted reports whether the transcript says that the person interrupted
// the open turn. An agent writes a prompt down only after its hook was
// answered; until then the transcript ends in what interrupted the turn before.
func (t *Tracker) interrupted(w registry.Window) bool {
	if w.Transcript == "" || fileSize(w.Transcript) == w.TranscriptSize {
		return false
	}
	if c := t.calls[w.ID]; c.running > 0 || t.o.Now().Sub(c.answered) < answerTime {
		return false
	}
	return t.o.Transcripts.EndsInInterrupt(w.Agent, w.Transcript)
}

// Watch closes the turns of agents that die or are interrupted without a word,
// until ctx ends. It sleeps while no turn is open.
func (t *Tracker) Watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		for t.openTurns() > 0 {
			timer := time.NewTimer(sweepEvery)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			t.mu.Lock()
			t.closeDead(func(registry.Window) bool { return true })
			t.mu.Unlock()
		}
	}
}

func (t *Tracker) openTurns() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, w := range t.o.Registry.Windows() {
		if w.TurnOpen && (w.AgentPID != 0 || w.Transcript != "") {
			n++
		}
	}
	return n
}

// Close saves what is mid-turn, with state unknown, waits for all saves and
// ends the Tracker. Open turns stay open in the records. When ctx ends first,
// saves that still run are given up, and noted as not saved.
func (t *Tracker) Close(ctx context.Context) error {
	t.mu.Lock()
	if !t.closing {
		for _, w := range t.o.Registry.Windows() {
			if w.TurnOpen {
				c := t.change(w, place{})
				c.effect(agentstate.SaveDue{Turn: w.Turn, State: agentstate.Unknown, Label: labelOf(w)})
			}
		}
		t.closing = true
	}
	t.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		t.workers.Wait()
	}()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = fmt.Errorf("save what is mid-turn: %w", ctx.Err())
	}
	t.giveUp()
	<-idle
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeState()
	return err
}

func labelOf(w registry.Window) string {
	if w.TurnLabel != "" {
		return w.TurnLabel
	}
	return w.Message
}

// highestTurn asks the store for the highest turn that a window ever had.
func (t *Tracker) highestTurn(ctx context.Context, s registry.Sighting, id string) (int, error) {
	if s.CommonDir == "" {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWait)
	defer cancel()
	store, err := t.store(ctx, s.Worktree)
	if err != nil {
		return 0, err
	}
	highest, err := store.HighestTurn(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("read highest turn of pane %s: %w", id, err)
	}
	return highest, nil
}

// settle asks again for the highest turn of a window whose store could not
// tell it when the window was made.
func (t *Tracker) settle(ctx context.Context, w registry.Window) {
	t.mu.Lock()
	unsure := t.unsure[w.ID]
	t.mu.Unlock()
	if !unsure {
		return
	}
	highest, err := t.highestTurn(ctx, registry.Sighting{Worktree: w.Worktree, CommonDir: w.CommonDir}, w.ID)
	if err != nil {
		return // the save will tell
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unsure, w.ID)
	if current, ok := t.o.Registry.Get(w.ID); ok && !current.TurnOpen && current.Turn < highest {
		current.Turn = highest
		t.keep(current)
	}
}
