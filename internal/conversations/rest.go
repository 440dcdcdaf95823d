package conversations

import (
	"fmt"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/label"
)

// Settled says what a model that came to rest is to be told, and its person. A
// reminder that it gives counts as given.
func (b *Book) Settled(p api.ConversationSettledParams) (api.ConversationSettledResult, error) {
	s, ok := b.known(p.Caller)
	if !ok || p.Caller.Subagent {
		return api.ConversationSettledResult{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.heard(s, p.Caller, "")
	defer b.write(s)
	v := b.look(s, "")
	b.settle(s, v)
	var r api.ConversationSettledResult
	g := v.Guard(conversation.Settled{Busy: p.Background > 0, RewindDenied: s.rewindDenied()})
	switch {
	case g.Reminder != "":
		if s.Reminded.Call != v.Open.CallID {
			s.Reminded = reminded{Call: v.Open.CallID}
		}
		s.Reminded.Count++
		if m := s.mark(v.Open.CallID); m != nil {
			m.Reminders++
		}
		r.Reminder = g.Reminder
		return r, nil // the turn goes on; notices wait for its end
	case g.Tell && !s.Reminded.Told:
		s.Reminded.Told = true
		s.Notices = append(s.Notices, fmt.Sprintf(
			"turnback: the checkpoint %q of this conversation is still open, after %d reminders. To close it: turnback conversation abandon %s",
			label.Clean(v.Open.Goal), conversation.MaxReminders, s.Session,
		))
	}
	r.Notice = s.notices()
	return r, nil
}

// known is whose for one that makes no session.
func (b *Book) known(c api.ConversationCaller) (*session, bool) {
	if c.Session != "" {
		return b.find(c.Agent, c.Session)
	}
	if c.Launch == "" {
		return nil, false
	}
	return b.launched(c), true
}

// settle brings the marks in line with the state, and has the person told, once,
// of a checkpoint that was lost.
func (b *Book) settle(s *session, v view) {
	now := b.o.Now().UTC()
	if v.Lost != nil {
		m := s.mark(v.Lost.CallID)
		if m == nil {
			s.Marks = append(s.Marks, mark{Call: v.Lost.CallID, Goal: v.Lost.Goal, StartedAt: v.Lost.StartedAt})
			m = s.newest()
		}
		if m.End != endLost {
			m.End, m.EndedAt = endLost, now
		}
		if !m.Told {
			m.Told = true
			s.Notices = append(s.Notices, fmt.Sprintf("turnback: the checkpoint %q of this conversation was lost in a compaction; the history is unchanged", label.Clean(m.Goal)))
		}
	}
	if v.Open != nil && v.Pending == nil && !v.unsettled {
		if m := s.mark(v.Open.CallID); m != nil && m.End != "" && m.End != endAbandoned {
			// The person went back to where it was open.
			m.End, m.EndedAt, m.Rewind, m.Report = "", time.Time{}, "", ""
		}
	}
	last := s.newest()
	if last != nil && last.End == "" && !v.unsettled && (v.Open == nil || v.Open.CallID != last.Call) {
		last.End, last.EndedAt = endReplaced, now
	}
}

// notices are what the person is to be told, which then is told.
func (s *session) notices() string {
	text := strings.Join(s.Notices, "\n")
	s.Notices = nil
	return text
}

// rewindDenied says that the newest rewind that was announced never came: the
// person denied it.
func (s *session) rewindDenied() bool {
	var newest announcement
	for _, a := range s.Announced {
		if !a.Subagent && a.Tool == conversation.ToolRewind && a.At.After(newest.At) {
			newest = a
		}
	}
	return !newest.At.IsZero() && !newest.Answered
}

// Prompted notes a prompt: one of the person's begins the count of reminders
// anew.
func (b *Book) Prompted(p api.ConversationPromptedParams) error {
	s, ok := b.known(p.Caller)
	if !ok || p.Caller.Subagent || !conversation.IsPersonsPrompt(p.Text) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.heard(s, p.Caller, "")
	s.Reminded.Count, s.Reminded.Told = 0, false
	for id, a := range s.Announced {
		if !a.Answered { // what was denied is of the turn before
			delete(s.Announced, id)
		}
	}
	b.write(s)
	return nil
}

// compacted notes that the agent has summarised the conversation. It returns
// what the person is to be told.
func (b *Book) compacted(s *session) string {
	v := b.look(s, "")
	if v.Open != nil && v.Pending == nil {
		v.Compacted(false)
	}
	s.State = v.State
	s.Granted, s.Compacted = nil, b.o.Now().UTC()
	if s.Seen != nil {
		s.Seen.Stale = true
	}
	b.settle(s, v)
	return s.notices()
}

// started notes that the agent's process took the session up.
func (b *Book) started(s *session, r api.AgentReport) string {
	if s.Seen != nil {
		s.Seen.Stale = true
	}
	s.Rewrites = r.Launch != ""
	if r.Reason != "resume" || s.Rewrites || s.Spans == 0 {
		return ""
	}
	spans := s.Spans
	s.Spans = 0
	return fmt.Sprintf("%d collapsed spans are back in full; start with turnback run --conversation -- %s --resume %s", spans, s.Agent, s.Session)
}

// Report takes what an agent's hook tells, as far as it is about conversations.
// It returns nil where the hook has nothing to answer for them. Of a session
// that never used the tools it costs a look into a map.
func (b *Book) Report(r api.AgentReport) *api.ConversationReply {
	caller := api.ConversationCaller{Agent: r.Agent, Session: r.SessionID, ToolUseID: r.ToolUseID, Launch: r.Launch, Subagent: r.Subagent}
	if r.Kind == api.ReportToolStart && r.ConversationTool != "" {
		return b.reportCall(r, caller)
	}
	s, ok := b.find(r.Agent, r.SessionID)
	if !ok || r.Subagent {
		return nil
	}
	switch r.Kind {
	case api.ReportPrompt:
		if err := b.Prompted(api.ConversationPromptedParams{Caller: caller, Text: r.Prompt}); err != nil {
			b.o.Problem(err)
		}
		return nil
	case api.ReportStop:
		s.note(r)
		if r.Settled {
			return reply("", b.told(s))
		}
		settled, err := b.Settled(api.ConversationSettledParams{Caller: caller, PromptID: r.PromptID, Background: r.Background})
		if err != nil {
			b.o.Problem(err)
		}
		return reply(settled.Reminder, settled.Notice)
	case api.ReportCompacted, api.ReportSessionStart:
		s.mu.Lock()
		defer s.mu.Unlock()
		defer b.write(s)
		b.heard(s, caller, "")
		if r.Kind == api.ReportCompacted {
			return reply("", b.compacted(s))
		}
		return reply("", b.started(s, r))
	}
	return nil
}

// reportCall takes in the announcement of a call.
func (b *Book) reportCall(r api.AgentReport, caller api.ConversationCaller) *api.ConversationReply {
	if r.SessionID == "" && !r.Subagent || r.ToolUseID == "" {
		return nil // its call will find no session
	}
	if r.SessionID == "" {
		caller.Session = "a subagent's"
	}
	calling, err := b.Calling(api.ConversationCallingParams{Tool: r.ConversationTool, Caller: caller, Dir: r.Dir})
	if err != nil {
		b.o.Problem(err)
		return nil
	}
	if s, ok := b.find(r.Agent, r.SessionID); ok && !r.Subagent {
		s.note(r)
	}
	if calling.Deny == "" {
		return nil
	}
	return &api.ConversationReply{Deny: calling.Deny}
}

// told is what the person is to be told of a session at the end of a turn.
func (b *Book) told(s *session) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer b.write(s)
	return s.notices()
}

// note remembers where the transcript is.
func (s *session) note(r api.AgentReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Transcript != "" {
		s.Transcript = r.Transcript
	}
}

func reply(reminder, notice string) *api.ConversationReply {
	if reminder == "" && notice == "" {
		return nil
	}
	return &api.ConversationReply{Reminder: reminder, Notice: notice}
}
