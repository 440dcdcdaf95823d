package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
)

const (
	// maxNamed is how many changed files the model is told by name.
	maxNamed = 50
	// maxReport is how much of a report is kept here, in bytes; the agent's own
	// transcript has all of it.
	maxReport = 64 << 10
)

// Call answers a call of one of the tools.
func (b *Book) Call(ctx context.Context, p api.ConversationCallParams) (api.ConversationCallResult, error) {
	tool, err := toolOf(p.Tool)
	if err != nil {
		return api.ConversationCallResult{}, err
	}
	s, ok := b.whose(p.Caller)
	if !ok {
		return refused(conversation.ErrSessionUnknown), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer b.write(s)
	b.heard(s, p.Caller, s.dirOr(p.Dir))
	c := conversation.Call{ID: p.Caller.ToolUseID, Text: p.Text, At: b.o.Now().UTC(), Subagent: p.Caller.Subagent}
	if a, announced := s.Announced[c.ID]; announced {
		c.Subagent = a.Subagent
		a.Answered = true
		s.Announced[c.ID] = a
	}
	if c.ID == "" {
		c.ID = fmt.Sprintf("call-%d", c.At.UnixNano())
	}
	v, result, err := b.decide(ctx, s, tool, c)
	if refusal, is := errors.AsType[conversation.Refusal](err); is {
		return refused(refusal), nil
	}
	if err != nil {
		return api.ConversationCallResult{}, err
	}
	s.take(tool, c)
	if tool == conversation.ToolCheckpoint {
		b.opened(ctx, s, c, p.Caller.ToolUseID)
	} else if facts := b.rewound(ctx, s, v, c); facts != "" {
		result.Texts = append(result.Texts, facts)
	}
	details, err := json.Marshal(result.Details)
	if err != nil {
		return api.ConversationCallResult{}, fmt.Errorf("encode the details: %w", err)
	}
	return api.ConversationCallResult{Texts: result.Texts, Details: details}, nil
}

func toolOf(name string) (conversation.Tool, error) {
	switch t := conversation.Tool(name); t {
	case conversation.ToolCheckpoint, conversation.ToolRewind:
		return t, nil
	}
	return "", api.Errorf(api.CodeInvalidParams, "there is no tool %q", name).
		WithHint(api.Hint{Param: "tool", Accepted: []string{string(conversation.ToolCheckpoint), string(conversation.ToolRewind)}})
}

func refused(r conversation.Refusal) api.ConversationCallResult {
	return api.ConversationCallResult{Texts: []string{r.Error()}, IsError: true}
}

// dirOr is where the agent works: as its hooks told, else dir.
func (s *session) dirOr(dir string) string {
	if s.Dir != "" {
		return s.Dir
	}
	return dir
}

// take remembers a call that succeeded, and what it makes of the state where
// there is no history to ask: whoever calls again has its answer, so the batch
// is over.
func (s *session) take(tool conversation.Tool, c conversation.Call) {
	g := grant{ID: c.ID, Tool: tool, Text: strings.TrimSpace(c.Text), At: c.At}
	if len(g.Text) > maxReport {
		g.Text = cut(g.Text, maxReport)
	}
	s.Granted = append(s.Granted, g)
	const most = 16
	if len(s.Granted) > most {
		s.Granted = s.Granted[len(s.Granted)-most:]
	}
	v := view{State: s.State}
	if v.Open == nil && tool == conversation.ToolRewind { // by the history it is
		v.Completed = &conversation.Report{CallID: c.ID}
	}
	v.apply(g)
	v.end()
	s.State = v.State
}

// opened saves the work tree of a checkpoint that was granted. That it cannot be
// saved is no failure of the checkpoint, but the person is told. id is the call's
// own; empty: it has none.
func (b *Book) opened(ctx context.Context, s *session, c conversation.Call, id string) {
	goal := strings.TrimSpace(c.Text)
	if last := s.newest(); last != nil && last.End == "" {
		last.End, last.EndedAt = endReplaced, c.At
	}
	m := mark{Call: c.ID, Goal: goal, StartedAt: c.At.Truncate(time.Millisecond)}
	if b.o.WorkTree != nil {
		saved, err := b.o.WorkTree.Save(ctx, SaveRequest{
			Agent: s.Agent, Session: s.Session, Dir: s.Dir, Goal: goal, Transcript: s.Transcript, Call: id,
		})
		switch {
		case err != nil:
			s.Notices = append(s.Notices, "turnback: the work tree was not saved with the conversation's checkpoint: "+api.AsError(err).Message)
		default:
			m.Saved = saved
		}
	}
	s.Marks = append(s.Marks, m)
	if len(s.Marks) > maxMarks {
		s.Marks = s.Marks[len(s.Marks)-maxMarks:]
	}
	s.Reminded = reminded{Call: c.ID}
}

// rewound closes the checkpoint that was open, and tells the facts that go with
// the report: files that changed, and that nothing shortens what is sent.
func (b *Book) rewound(ctx context.Context, s *session, v view, c conversation.Call) string {
	var facts []string
	if v.Open != nil {
		if m := s.mark(v.Open.CallID); m != nil {
			m.End, m.EndedAt, m.Rewind, m.Report = endRewound, c.At, c.ID, cut(strings.TrimSpace(c.Text), maxReport)
			facts = append(facts, b.changed(ctx, s, m.Saved)...)
		}
	}
	if !s.Rewrites {
		facts = append(facts, conversation.NoProxyNote)
	}
	return strings.Join(facts, "\n")
}

// changed is the line about files; none where nothing was saved or it cannot be
// told.
func (b *Book) changed(ctx context.Context, s *session, saved Saved) []string {
	if b.o.WorkTree == nil || saved.N == 0 {
		return nil
	}
	paths, err := b.o.WorkTree.Changed(ctx, saved)
	if err != nil {
		b.o.Problem(fmt.Errorf("compare the work tree with checkpoint %d: %w", saved.N, err))
		return nil
	}
	list := "none"
	if more := len(paths) - maxNamed; more > 0 {
		list = strings.Join(paths[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	} else if len(paths) > 0 {
		list = strings.Join(paths, ", ")
	}
	return []string{fmt.Sprintf("Files changed since the checkpoint: %s (work-tree checkpoint %d)", list, saved.N)}
}

// cut keeps the first most bytes, whole characters, and says so.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "\n[cut here]"
}

// Calling notes that a call is about to come. The answer is the refusal that it
// gets in any case; empty: it may come.
func (b *Book) Calling(p api.ConversationCallingParams) (api.ConversationCallingResult, error) {
	tool, err := toolOf(p.Tool)
	if err != nil {
		return api.ConversationCallingResult{}, err
	}
	s, ok := b.whose(p.Caller)
	if !ok || p.Caller.ToolUseID == "" {
		return api.ConversationCallingResult{}, api.Errorf(api.CodeInvalidParams, "the caller names no session, or no call").
			WithHint(api.Hint{Param: "caller"})
	}
	s.mu.Lock()
	b.heard(s, p.Caller, p.Dir)
	s.announce(p.Caller.ToolUseID, announcement{Tool: tool, Subagent: p.Caller.Subagent, At: b.o.Now().UTC()})
	b.write(s)
	s.mu.Unlock()
	b.mu.Lock()
	b.byCall[p.Caller.ToolUseID] = s
	b.mu.Unlock()
	var r api.ConversationCallingResult
	if p.Caller.Subagent {
		r.Deny = conversation.ErrCheckpointInSubagent.Error()
		if tool == conversation.ToolRewind {
			r.Deny = conversation.ErrRewindInSubagent.Error()
		}
	}
	return r, nil
}
