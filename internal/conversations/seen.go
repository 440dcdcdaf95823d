package conversations

import (
	"math"

	"github.com/turnback/turnback/internal/api"
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
	add(&s.Tokens, one(p.BytesBefore, p.BytesAfter, p.Tokens))
	b.write(s)
	return nil
}

// one is the figures of one request: what was sent is told exactly, what would
// have been is estimated from it.
func one(before, after, tokens int64) api.ConversationTokens {
	t := api.ConversationTokens{Requests: 1, BytesBefore: before, BytesAfter: after, TokensAfter: tokens, TokensBefore: tokens}
	if after > 0 && before != after {
		t.TokensBefore = int64(math.Round(float64(tokens) * float64(before) / float64(after)))
	}
	return t
}

func add(sum *api.ConversationTokens, t api.ConversationTokens) {
	sum.Requests += t.Requests
	sum.BytesBefore += t.BytesBefore
	sum.BytesAfter += t.BytesAfter
	sum.TokensBefore += t.TokensBefore
	sum.TokensAfter += t.TokensAfter
}
