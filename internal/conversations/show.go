package conversations

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/own"
	"github.com/turnback/turnback/internal/conversations/tokens"
	"github.com/turnback/turnback/internal/nearest"
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
	ours, problems := b.ours(p.Dir)
	r.Sessions, r.Problems = append(r.Sessions, ours...), problems
	slices.SortStableFunc(r.Sessions, func(a, b api.ConversationSession) int { return b.Last.Compare(a.Last) })
	return r
}

// Uncollapsed tells whose request went out as it came last, though there was
// something to collapse, and why; empty: none did.
func (b *Book) Uncollapsed() string {
	text, newest := "", time.Time{}
	for _, s := range b.inDir("") {
		s.mu.Lock()
		if s.Reason != "" && !s.ReasonAt.Before(newest) {
			text, newest = fmt.Sprintf("%s, session %s: %s", cmp.Or(s.Agent, "-"), s.Session, s.Reason), s.ReasonAt
		}
		s.mu.Unlock()
	}
	return text
}

// ours are the sessions of our own agent that work in dir, below it or above it,
// and what keeps others from being told.
func (b *Book) ours(dir string) (ours []api.ConversationSession, problems []string) {
	all, err := b.o.Own.List()
	if err != nil {
		problems = strings.Split(err.Error(), "\n")
	}
	for _, s := range all {
		if near(s.Dir, dir) {
			ours = append(ours, s)
		}
	}
	return ours, problems
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

// near says whether one of two folders is in the other; any is when dir is empty.
func near(other, dir string) bool { return dir == "" || holds(other, dir) || holds(dir, other) }

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
	s, ours, err := b.meant(p)
	if err != nil {
		return api.ConversationShowResult{}, err
	}
	if s == nil {
		r, err := b.o.Own.Show(ours)
		if !whole {
			shorten(&r)
		}
		return r, err
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

// shorten cuts the texts of a result to what is shown.
func shorten(r *api.ConversationShowResult) {
	for i := range r.Checkpoints {
		r.Checkpoints[i].Report = cut(r.Checkpoints[i].Report, shownReport)
	}
	for i := range r.Tree {
		r.Tree[i].Text = cut(r.Tree[i].Text, shownReport)
	}
}

// candidate is a session that may be meant.
type candidate struct {
	*session // nil: it is our own agent's
	agent    string
	id       string
	last     time.Time
}

// candidates are the sessions of a directory; of all when it is empty.
func (b *Book) candidates(dir string) []candidate {
	var all []candidate
	for _, s := range b.inDir(dir) {
		s.mu.Lock()
		c, matters := candidate{s, s.Agent, s.Session, s.Last}, s.matters()
		s.mu.Unlock()
		if matters {
			all = append(all, c)
		}
	}
	infos, err := b.o.Own.Infos()
	if err != nil {
		b.o.Problem(err)
	}
	for _, s := range infos {
		if near(s.Cwd, dir) {
			all = append(all, candidate{nil, own.Agent, s.ID, s.Modified})
		}
	}
	return all
}

// meant finds the session that is named, else the newest in the caller's
// directory. Where it is our own agent's its id is returned alone.
func (b *Book) meant(p api.ConversationParams) (*session, string, error) {
	dir := p.Dir
	if p.Session != "" {
		dir = ""
	}
	c, err := choose(p.Session, b.candidates(dir))
	return c.session, c.id, err
}

// choose finds the one that is named, else the newest.
func choose(name string, all []candidate) (candidate, error) {
	found := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool {
		prefix := len(name) >= minPrefix && strings.HasPrefix(c.id, name)
		return name != "" && c.id != name && !prefix
	})
	if i := slices.IndexFunc(found, func(c candidate) bool { return c.id == name }); i >= 0 {
		return found[i], nil
	}
	switch {
	case len(found) == 0:
		return candidate{}, notMeant(name, all)
	case name != "" && len(found) > 1:
		return candidate{}, api.Errorf(api.CodeInvalidParams, "%d conversations begin with %s", len(found), name).
			WithHint(api.Hint{Param: "session", Available: ids(found), Command: "turnback conversation list"})
	}
	return slices.MaxFunc(found, func(a, b candidate) int { return a.last.Compare(b.last) }), nil
}

func ids(all []candidate) []string {
	var ids []string
	for _, c := range all {
		ids = append(ids, c.id)
	}
	slices.Sort(ids)
	return ids
}

func notMeant(name string, all []candidate) error {
	hint := api.Hint{Command: "turnback conversation list", Available: ids(all)}
	if name == "" {
		hint.Command += " --all"
		return api.Errorf(api.CodeSessionNotFound, "no conversation is known of this directory").WithHint(hint)
	}
	hint.DidYouMean = nearest.Word(name, hint.Available)
	return api.Errorf(api.CodeSessionNotFound, "no conversation %q is known", name).WithHint(hint)
}

// Stats sums the figures up.
func (b *Book) Stats(p api.ConversationListParams) api.ConversationStatsResult {
	all := b.List(p)
	r := api.ConversationStatsResult{Sessions: []api.ConversationSession{}, Problems: all.Problems, Untrusted: true}
	for _, s := range all.Sessions {
		if s.Tokens.Requests > 0 {
			r.Sessions = append(r.Sessions, s)
			tokens.Add(&r.Total, s.Tokens)
		}
	}
	return r
}

// Abandon closes the open checkpoint of a session without a report, for the
// person.
func (b *Book) Abandon(p api.ConversationParams) (api.ConversationAbandonResult, error) {
	s, ours, err := b.meant(p)
	if err != nil {
		return api.ConversationAbandonResult{}, err
	}
	if s == nil {
		return b.o.Own.Abandon(ours)
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
