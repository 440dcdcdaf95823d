package session

import (
	"errors"
	"slices"
	"strings"

	"github.com/turnback/turnback/conversation"
)

// errNothingDue says that no rewind was granted, or that it was taken already.
var errNothingDue = errors.New("no rewind is due")

// Rewind takes the rewind that is due: the leaf moves to the boundary of the open
// checkpoint, and an entry there tells what the left branch came to. It is one
// line of the file, so there is no half of it. The left branch stays, and
// [Session.MoveLeaf] to the entry's FromID goes back to it.
func (s *Session) Rewind() (*Entry, error) {
	due, open := s.Due(), s.State().Open
	if due == nil || open == nil || open.Boundary == nil {
		return nil, errNothingDue
	}
	branch := s.Branch()
	boundary := slices.IndexFunc(branch, func(e *Entry) bool { return e.ID == open.Boundary.EntryID })
	left := newSpan(branch[boundary+1:], due.CallID)
	return s.add(Entry{
		Type:     TypeRewind,
		ParentID: open.Boundary.EntryID,
		Rewind: &Rewind{
			FromID:     s.leaf,
			RewindID:   left.rewind,
			CallID:     due.CallID,
			Checkpoint: due.Checkpoint,
			Goal:       open.Goal,
			Report:     due.Text,
			Facts:      left.facts,
			Said:       left.said,
			StartedAt:  stamp(open.StartedAt),
			RewoundAt:  stamp(s.now()),
			Kept:       left.kept,
		},
	})
}

// span goes over what lies between a boundary and the rewind's batch, and behind
// that, and finds what stays.
type span struct {
	rewind string // entry of the message with the rewind
	facts  string // second block of the rewind's result
	said   []string
	kept   []Message

	lastSaid string
	loading  map[string]bool // calls of the last message that loaded tools
	whole    bool            // messages stay as they are
}

func newSpan(entries []*Entry, rewindCall string) *span {
	at := lastCall(entries, rewindCall)
	s := &span{}
	for i, e := range entries {
		switch {
		case e.Type == TypeRewind:
			s.kept = append(s.kept, e.Rewind.Kept...)
		case e.Type != TypeMessage:
		case i == at:
			s.rewindMessage(e, entries[i+1:], rewindCall)
		case i > at:
			s.behind(*e.Message, rewindCall)
		default:
			s.explored(entries, i)
		}
	}
	return s
}

// lastCall is the last message with this call.
func lastCall(entries []*Entry, callID string) int {
	for i, e := range slices.Backward(entries) {
		if e.Type == TypeMessage && slices.ContainsFunc(e.Message.Calls(), func(c Part) bool { return c.CallID == callID }) {
			return i
		}
	}
	return len(entries)
}

// explored takes a message that goes, but for what was not the model's.
func (s *span) explored(entries []*Entry, i int) {
	m := *entries[i].Message
	switch m.Role {
	case RoleAssistant:
		s.hear(m)
		s.loading = loadingCalls(m, entries[i+1:])
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool {
			return p.Kind == KindText || p.Kind == KindCall && !s.loading[p.CallID]
		})
		if len(s.loading) > 0 {
			s.kept = append(s.kept, m)
		}
	case RoleTool:
		s.tool(m, s.loading)
	default:
		s.keepTexts(m)
	}
}

// loadingCalls are the calls of a message whose results loaded tools.
func loadingCalls(m Message, behind []*Entry) map[string]bool {
	loading := map[string]bool{}
	for _, result := range resultsBehind(m, behind) {
		if len(result.Loads) > 0 {
			loading[result.CallID] = true
		}
	}
	return loading
}

// resultsBehind are the results of a message's calls, as they came.
func resultsBehind(m Message, behind []*Entry) []Part {
	var results []Part
	for _, e := range behind {
		if e.Type != TypeMessage {
			continue
		}
		if e.Message.Role == RoleAssistant {
			break
		}
		for _, result := range e.Message.parts(KindResult) {
			if slices.ContainsFunc(m.Calls(), func(c Part) bool { return c.CallID == result.CallID }) {
				results = append(results, result)
			}
		}
	}
	return results
}

// tool keeps the results of some calls, and what stands beside the results.
func (s *span) tool(m Message, of map[string]bool) {
	results, rest := m, m
	results.Parts, rest.Parts = nil, nil
	for _, p := range m.Parts {
		switch {
		case p.Kind != KindResult:
			rest.Parts = append(rest.Parts, p)
		case of[p.CallID]:
			results.Parts = append(results.Parts, p)
		}
	}
	if len(results.Parts) > 0 {
		s.kept = append(s.kept, results)
	}
	rest.Role, rest.Origin = RoleUser, FromHost
	s.keepTexts(rest)
}

// keepTexts keeps a message that is neither the model's nor a tool's, but for
// the guard's own texts.
func (s *span) keepTexts(m Message) {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool {
		return p.Kind == KindText && conversation.IsReminder(p.Text)
	})
	if len(m.Parts) == 0 {
		return
	}
	if m.Role == RoleUser && m.Origin == FromPerson && conversation.IsPersonsPrompt(m.JoinedText()) {
		s.say()
	}
	s.kept = append(s.kept, m)
}

// hear takes the last text of a message of the model.
func (s *span) hear(m Message) {
	for _, p := range m.Parts {
		if p.Kind == KindText && strings.TrimSpace(p.Text) != "" {
			s.lastSaid = p.Text
		}
	}
}

// say repeats what the model said last to the person, once.
func (s *span) say() {
	if s.lastSaid != "" {
		s.said = append(s.said, s.lastSaid)
	}
	s.lastSaid = ""
}

// rewindMessage takes the message with the rewind: it goes when that is its only
// call, else it stays as it is.
func (s *span) rewindMessage(e *Entry, behind []*Entry, call string) {
	s.rewind = e.ID
	s.whole = len(e.Message.Calls()) > 1
	for _, result := range resultsBehind(*e.Message, behind) {
		if result.CallID == call && len(result.Content) > 1 {
			s.facts = joinTexts(result.Content[1:])
		}
	}
	if !s.whole {
		s.hear(*e.Message)
	}
	s.say()
	if s.whole {
		s.kept = append(s.kept, *e.Message)
	}
}

// behind takes a message that followed the rewind's: all of it stays but the
// rewind's result, when its call has gone.
func (s *span) behind(m Message, rewindCall string) {
	switch {
	case s.whole || m.Role != RoleTool:
		s.kept = append(s.kept, m)
	default:
		others := map[string]bool{}
		for _, result := range m.parts(KindResult) {
			others[result.CallID] = result.CallID != rewindCall
		}
		s.tool(m, others)
	}
}
