package conversations

import (
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/tokens"
)

// Seen takes in what a proxy or a plugin saw in a request. What a subagent's
// request holds says nothing of the session.
func (b *Book) Seen(p api.ConversationSeenParams) error {
	if p.At.IsZero() {
		return api.Errorf(api.CodeInvalidParams, "the time of the request is missing").WithHint(api.Hint{Param: "at"})
	}
	s, ok := b.whose(p.Caller)
	if !ok {
		return noSession()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Reason != "" {
		b.doubt(s, p.Reason)
		s.Reason, s.ReasonAt = p.Reason, p.At.UTC()
	}
	if p.Caller.Subagent || s.Seen != nil && p.At.Before(s.Seen.At) {
		return nil
	}
	if p.Unknown {
		b.heard(s, p.Caller, "")
		b.write(s)
		return nil
	}
	// A session without checkpoints is asked a lot and has nothing to keep.
	quiet := len(s.Marks) == 0 && p.Open == nil && !p.Completed && p.Reason == ""
	b.heard(s, p.Caller, "")
	s.Seen = &seen{At: p.At.UTC(), Open: p.Open, Completed: p.Completed, Checkpoints: p.Checkpoints}
	s.Rewrites, s.Spans = p.Rewrites, p.Spans
	if quiet {
		return nil
	}
	b.settle(s, b.look(s, ""))
	b.write(s)
	return nil
}

// maxDoubts bounds the reasons of a session that are told.
const maxDoubts = 20

// doubt tells a reason, once for the session, as long as the daemon runs. s.mu is
// held.
func (b *Book) doubt(s *session, reason string) {
	if b.o.Doubt == nil || s.doubts[reason] || len(s.doubts) >= maxDoubts {
		return
	}
	if s.doubts == nil {
		s.doubts = map[string]bool{}
	}
	s.doubts[reason] = true
	b.o.Doubt(s.Agent, s.Session, reason)
}

func noSession() error {
	return api.Errorf(api.CodeInvalidParams, "the caller names no session").WithHint(api.Hint{Param: "caller"})
}

// Figures takes in what a request cost.
func (b *Book) Figures(p api.ConversationFiguresParams) error {
	if p.BytesBefore < 0 || p.BytesAfter < 0 || p.Tokens < 0 {
		return api.Errorf(api.CodeInvalidParams, "a size is negative")
	}
	s, ok := b.whose(p.Caller)
	if !ok {
		return noSession()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.heard(s, p.Caller, "")
	tokens.Add(&s.Tokens, tokens.Of(p.BytesBefore, p.BytesAfter, p.Tokens))
	b.write(s)
	return nil
}
