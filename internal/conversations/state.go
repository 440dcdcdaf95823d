package conversations

import (
	"context"
	"slices"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/history"
)

// pollEvery is how often an agent's history is looked at again.
const pollEvery = 20 * time.Millisecond

// view is a state, with how sure it is.
type view struct {
	conversation.State
	// unsettled: a call that was granted is not in the history yet, or its result
	// is not. It counts, but whether its batch has ended cannot be told.
	unsettled bool
}

// look tells the state of s by its history and by what was granted since. call
// is the one that is being answered; empty: none. s.mu is held.
func (b *Book) look(s *session, call string) view {
	v, known := b.byHistory(s, call)
	if !known {
		v = view{State: s.State}
	}
	for _, m := range s.Marks {
		if m.End == endAbandoned {
			v.Cleared(m.Call)
		}
		v.State.Saved(m.Call, m.Saved.N)
	}
	if m := s.newest(); v.Open == nil && m != nil && m.End == endLost {
		v.Lost = m.open()
	}
	if v.Open != nil {
		open := *v.Open // the record's own stays as it is
		if m := s.mark(open.CallID); m != nil {
			open.StartedAt = m.StartedAt
		}
		v.Open = &open
		v.Reminders = 0
		if s.Reminded.Call == open.CallID {
			v.Reminders = s.Reminded.Count
		}
	}
	return v
}

// byHistory asks the newest request that a proxy saw, else the transcript; false:
// there is neither.
func (b *Book) byHistory(s *session, call string) (view, bool) {
	fresh := s.Seen != nil && !s.Seen.Stale
	behind := fresh && slices.ContainsFunc(s.Granted, func(g grant) bool { return !g.At.Before(s.Seen.At) })
	if fresh && !behind {
		return s.bySeen(), true
	}
	if h, ok := b.history(s); ok {
		return s.byTranscript(h, call), true
	}
	if fresh {
		return s.bySeen(), true
	}
	return view{}, false
}

// history reads the transcript where a hook told that it is, else where it is
// found: an agent may tell of it after the first call alone, and may have moved it.
func (b *Book) history(s *session) (history.History, bool) {
	if b.o.History == nil {
		return history.History{}, false
	}
	if s.Transcript != "" {
		if h, ok := b.o.History(s.Agent, s.Transcript); ok {
			return h, true
		}
	}
	if b.o.Transcript == nil {
		return history.History{}, false
	}
	path, found := b.o.Transcript(s.Agent, s.Session)
	if !found || path == s.Transcript {
		return history.History{}, false
	}
	s.Transcript = path
	return b.o.History(s.Agent, path)
}

// bySeen is the state by the newest request.
func (s *session) bySeen() view {
	var v view
	n := s.Seen
	switch {
	case n.Open != nil:
		v.Open = &conversation.Open{CallID: n.Open.CallID, Goal: n.Open.Goal, StartedAt: n.At}
		if n.Open.BatchEnded {
			v.Open.Boundary = &conversation.Boundary{}
		}
	case n.Completed:
		v.Completed = &conversation.Report{}
	}
	if m := s.newest(); v.Open == nil && m != nil && m.StartedAt.Before(n.At) && !slices.Contains(n.Checkpoints, m.Call) {
		if m.End == "" || m.End == endLost {
			v.Lost = m.open()
		}
	}
	for _, g := range s.Granted {
		if !g.At.Before(n.At) {
			v.apply(g)
		}
	}
	return v
}

// byTranscript is the state by the agent's transcript. A call that was granted
// after the last that the model wrote may be on its way into it; one from before
// is not on this branch any more.
func (s *session) byTranscript(h history.History, call string) view {
	v := view{State: h.State()}
	if s.Compacted.After(h.Newest) {
		v.Compacted(false)
	}
	_, current := h.Call(call)
	for _, g := range s.Granted {
		c, there := h.Call(g.ID)
		switch {
		case there && c.Done:
		case there && current && !together(h, g.ID, call):
			// Its result is being written; its batch is not the one of this call.
			v.apply(g)
			v.end()
		case there || g.At.After(h.Newest):
			v.apply(g)
			v.unsettled = v.unsettled || !current
		}
	}
	return v
}

// together says whether two calls are of one batch.
func together(h history.History, a, b string) bool {
	for _, step := range h.Steps {
		has := func(id string) bool {
			return slices.ContainsFunc(step.Calls, func(c history.Call) bool { return c.ID == id })
		}
		if has(a) {
			return has(b)
		}
	}
	return false
}

// apply takes in a call that succeeded.
func (v *view) apply(g grant) {
	if g.Tool == conversation.ToolCheckpoint {
		v.Opened(g.ID, g.Text, g.At)
		return
	}
	v.Reported(g.ID, g.Text)
}

// end tells that the newest batch has ended.
func (v *view) end() {
	if due := v.BatchEnded(conversation.Boundary{}); due != nil {
		v.Rewound(*due)
	}
}

// decide has the state answer a call. A refusal that hangs on a call which the
// history does not have yet is looked at again for a while: an agent answers its
// model first, and writes down then. s.mu is held, but not while it waits.
func (b *Book) decide(ctx context.Context, s *session, tool conversation.Tool, c conversation.Call) (view, conversation.Result, error) {
	limit := b.o.Now().Add(b.o.Wait)
	for {
		v := b.look(s, c.ID)
		before := v
		ask := v.Checkpoint
		if tool == conversation.ToolRewind {
			ask = v.Rewind
		}
		result, err := ask(c)
		if err == nil || c.Subagent || !before.waits(s) || !b.o.Now().Before(limit) {
			return before, result, err
		}
		s.mu.Unlock() // news of a request may wait for it
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return before, result, err
		}
	}
}

// waits says whether the state may change by itself.
func (v view) waits(s *session) bool {
	if v.unsettled {
		return true
	}
	return s.Seen != nil && !s.Seen.Stale && slices.ContainsFunc(s.Granted, func(g grant) bool { return !g.At.Before(s.Seen.At) })
}
