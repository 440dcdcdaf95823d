package conversations

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/api"
)

const (
	// shownReport is how much of a report is shown, in bytes; an export has all
	// that is kept.
	shownReport = 2000
	// minPrefix is the shortest beginning of a session's id that names it.
	minPrefix = 4
)

// List tells the sessions, the one heard of last first.
func (b *Book) List(p api.ConversationListParams) api.ConversationListResult {
	r := api.ConversationListResult{Sessions: []api.ConversationSession{}, Untrusted: true}
	for _, s := range b.inDir(p.Dir) {
		s.mu.Lock()
		if s.matters() {
			r.Sessions = append(r.Sessions, b.describe(s))
		}
		s.mu.Unlock()
	}
	slices.SortStableFunc(r.Sessions, func(a, b api.ConversationSession) int { return b.Last.Compare(a.Last) })
	return r
}

// matters says whether there is anything to tell of a session.
func (s *session) matters() bool { return len(s.Marks) > 0 || s.Reason != "" || s.Tokens.Requests > 0 }

// inDir are the sessions that work in dir, below it or above it, or of which it
// is not known where; all of them when it is empty.
func (b *Book) inDir(dir string) []*session {
	b.mu.Lock()
	var all []*session
	for _, s := range b.sessions {
		all = append(all, s)
	}
	b.mu.Unlock()
	return slices.DeleteFunc(all, func(s *session) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return dir != "" && s.Dir != "" && !holds(s.Dir, dir) && !holds(dir, s.Dir)
	})
}

// holds says whether path is root or below it.
func holds(root, path string) bool {
	if root == "" || path == "" {
		return false
	}
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// describe tells of a session as it is now. s.mu is held.
func (b *Book) describe(s *session) api.ConversationSession {
	v := b.look(s, "")
	b.settle(s, v)
	out := api.ConversationSession{
		Agent: s.Agent, Session: s.Session, Dir: s.Dir, Started: s.Started, Last: s.Last, Checkpoints: len(s.Marks),
		Lost: v.Lost != nil, Tokens: s.Tokens, Proxied: s.Rewrites, Reason: s.Reason,
	}
	if s.Reason != "" {
		at := s.ReasonAt
		out.ReasonAt = &at
	}
	for _, m := range s.Marks {
		if m.End == endRewound {
			out.Rewinds++
		}
	}
	if v.Open != nil {
		open := api.ConversationCheckpoint{Goal: v.Open.Goal, State: "open", StartedAt: v.Open.StartedAt}
		if m := s.mark(v.Open.CallID); m != nil {
			open = m.wire(shownReport)
		}
		out.Open = &open
	}
	return out
}

func (m *mark) wire(most int) api.ConversationCheckpoint {
	c := api.ConversationCheckpoint{
		Goal: m.Goal, State: m.End, StartedAt: m.StartedAt, Report: cut(m.Report, most), N: m.Saved.N, Pane: m.Saved.Pane, Reminders: m.Reminders,
	}
	if m.End == "" {
		c.State = "open"
	} else {
		at := m.EndedAt
		c.ClosedAt = &at
	}
	return c
}

// Show tells everything of one session; whole: with reports uncut.
func (b *Book) Show(p api.ConversationParams, whole bool) (api.ConversationShowResult, error) {
	s, err := b.meant(p)
	if err != nil {
		return api.ConversationShowResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := api.ConversationShowResult{Conversation: b.describe(s), Checkpoints: []api.ConversationCheckpoint{}, Transcript: s.Transcript, Untrusted: true}
	most := shownReport
	if whole {
		most = maxReport + len("\n[cut here]")
	}
	for _, m := range s.Marks {
		r.Checkpoints = append(r.Checkpoints, m.wire(most))
	}
	return r, nil
}

// meant finds the session that is named, else the newest in the caller's
// directory.
func (b *Book) meant(p api.ConversationParams) (*session, error) {
	type candidate struct {
		*session
		id   string
		last time.Time
	}
	var found []candidate
	var ids []string
	dir := p.Dir
	if p.Session != "" {
		dir = ""
	}
	for _, s := range b.inDir(dir) {
		s.mu.Lock()
		c, matters := candidate{s, s.Session, s.Last}, s.matters()
		s.mu.Unlock()
		if !matters {
			continue
		}
		ids = append(ids, c.id)
		if p.Session == "" || c.id == p.Session || len(p.Session) >= minPrefix && strings.HasPrefix(c.id, p.Session) {
			found = append(found, c)
		}
	}
	exact := slices.IndexFunc(found, func(c candidate) bool { return c.id == p.Session })
	switch {
	case len(found) == 0:
		slices.Sort(ids)
		e := api.Errorf(api.CodeSessionNotFound, "no conversation with a checkpoint is known here")
		if p.Session != "" {
			e = api.Errorf(api.CodeSessionNotFound, "no conversation %q is known", p.Session)
		}
		return nil, e.WithHint(api.Hint{Command: "turnback conversation list", Available: ids})
	case exact >= 0:
		return found[exact].session, nil
	case p.Session != "" && len(found) > 1:
		return nil, api.Errorf(api.CodeInvalidParams, "%d conversations begin with %s", len(found), p.Session).
			WithHint(api.Hint{Param: "session", Command: "turnback conversation list"})
	}
	return slices.MaxFunc(found, func(a, b candidate) int { return a.last.Compare(b.last) }).session, nil
}

// Stats sums the figures up.
func (b *Book) Stats(p api.ConversationListParams) api.ConversationStatsResult {
	r := api.ConversationStatsResult{Sessions: []api.ConversationSession{}, Untrusted: true}
	for _, s := range b.List(p).Sessions {
		if s.Tokens.Requests > 0 {
			r.Sessions = append(r.Sessions, s)
			add(&r.Total, s.Tokens)
		}
	}
	return r
}

// Abandon closes the open checkpoint of a session without a report, for the
// person.
func (b *Book) Abandon(p api.ConversationParams) (api.ConversationAbandonResult, error) {
	s, err := b.meant(p)
	if err != nil {
		return api.ConversationAbandonResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := b.look(s, "")
	if v.Open == nil || v.Pending != nil {
		return api.ConversationAbandonResult{}, api.Errorf(api.CodeNoCheckpoint, "no checkpoint is open in conversation %s", s.Session).
			WithHint(api.Hint{Command: "turnback conversation show " + s.Session})
	}
	m := s.mark(v.Open.CallID)
	if m == nil {
		s.Marks = append(s.Marks, mark{Call: v.Open.CallID, Goal: v.Open.Goal, StartedAt: v.Open.StartedAt})
		m = s.newest()
	}
	m.End, m.EndedAt = endAbandoned, b.o.Now().UTC()
	s.State.Cleared(m.Call)
	b.write(s)
	return api.ConversationAbandonResult{Agent: s.Agent, Session: s.Session, Checkpoint: m.wire(shownReport), Untrusted: true}, nil
}
