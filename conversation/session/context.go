package session

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/turnback/turnback/conversation"
)

// interruptedText is the result that a call gets in what is sent when it has
// none: its turn was aborted, or its process killed.
const interruptedText = "Interrupted: this call has no result."

// Context is what the branch gives a model to read: explorations that were
// rewound are their reports, what was compacted is its summary, and calls and
// results are in order whatever the file has. It is the same for a session that
// was lived through and for one that was read from its file, and it grows at its
// end alone, but for rewinds and compactions. It may share memory with the
// session and is not to be changed.
func (s *Session) Context() []Message { return repair(s.unrepaired()) }

// placed is a message with the place on the branch that it came from.
type placed struct {
	Message
	at int
}

func (s *Session) unrepaired() []Message {
	branch := s.Branch()
	var list []placed
	for i, e := range branch {
		switch e.Type {
		case TypeMessage:
			list = append(list, placed{*e.Message, i})
		case TypeRewind:
			report(list, e.Rewind)
			for _, m := range e.Rewind.Kept {
				list = append(list, placed{m, i})
			}
		case TypeCompaction:
			list = compacted(list, branch, e.Compaction)
		}
	}
	messages := make([]Message, len(list))
	for i, m := range list {
		messages[i] = m.Message
	}
	return messages
}

// compacted is the list behind a compaction.
func compacted(list []placed, branch []*Entry, c *Compaction) []placed {
	first := len(branch)
	if i := slices.IndexFunc(branch, func(e *Entry) bool { return e.ID == c.FirstKept }); i >= 0 {
		first = i
	}
	text := c.Summary
	if c.Goal != "" {
		text += "\n\nA checkpoint is open at this point. Goal: " + c.Goal
	}
	summary := Message{Role: RoleUser, Origin: FromCompaction, Parts: []Part{Text(text)}}
	return append([]placed{{summary, 0}}, slices.DeleteFunc(list, func(m placed) bool { return m.at < first })...)
}

// report puts a frame into the result of the checkpoint that a rewind closed, in
// the place of the line that asks for the rewind.
func report(list []placed, r *Rewind) {
	frame := Text(conversation.Frame{Report: r.Report, Facts: r.Facts, Said: r.Said}.String())
	for i, m := range slices.Backward(list) {
		j := slices.IndexFunc(m.Parts, func(p Part) bool { return p.Kind == KindResult && p.CallID == r.Checkpoint })
		if j < 0 {
			continue
		}
		result := m.Parts[j]
		result.Content = slices.Clone(result.Content)
		for k, p := range result.Content {
			if strings.HasPrefix(p.Text, conversation.CreatedPrefix) {
				result.Content[k].Text = strings.TrimSuffix(p.Text, "\n"+conversation.InvestigateLine)
				break
			}
		}
		result.Content = append(result.Content, frame)
		list[i].Parts = slices.Clone(m.Parts)
		list[i].Parts[j] = result
		return
	}
}

// repair makes a list of messages one that providers take: behind each message
// with calls stand their results, in the order of the calls and none twice; a
// result that is missing says that the call was interrupted, and one without a
// call goes. Messages and texts with nothing in them go, too. Texts beside results
// become messages of the host behind them. What needs no repair is as it was.
func repair(messages []Message) []Message {
	r := repairer{slots: map[string][]*slot{}}
	for _, m := range messages {
		switch m.Role {
		case RoleAssistant:
			r.assistant(m)
		case RoleTool:
			r.tool(m)
		default:
			r.add(fitting(m))
		}
	}
	out := make([]Message, 0, len(r.out))
	for _, m := range r.out {
		if len(m.Parts) > 0 {
			out = append(out, *m)
		}
	}
	return out
}

type repairer struct {
	out   []*Message
	slots map[string][]*slot // calls by their id, those of the last message that has it
}

// slot is the place of a call's result.
type slot struct {
	results *Message
	at      int
}

func (r *repairer) add(m Message) *Message {
	r.out = append(r.out, &m)
	return &m
}

func (r *repairer) assistant(m Message) {
	m = fitting(m)
	if !slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Kind != KindOpaque }) {
		return // reasoning that led to nothing
	}
	calls := m.Calls()
	if len(calls) == 0 {
		r.add(m)
		return
	}
	m.Parts = slices.Clone(m.Parts)
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == KindCall && !isObject(p.Arguments) {
			p.Arguments = "{}" // cut off while it was streamed
		}
	}
	r.add(m)
	results := r.add(Message{Role: RoleTool})
	for _, call := range calls {
		delete(r.slots, call.CallID)
	}
	for i, call := range calls {
		results.Parts = append(results.Parts, Part{
			Kind:    KindResult,
			CallID:  call.CallID,
			IsError: true,
			Content: []Part{Text(interruptedText)},
		})
		r.slots[call.CallID] = append(r.slots[call.CallID], &slot{results: results, at: i})
	}
}

// tool puts results in their places; what stood beside them is the host's and
// stays here.
func (r *repairer) tool(m Message) {
	rest := Message{Role: RoleUser, Origin: FromHost}
	for _, p := range m.Parts {
		if p.Kind != KindResult {
			rest.Parts = append(rest.Parts, p)
			continue
		}
		if free := r.slots[p.CallID]; len(free) > 0 {
			free[0].results.Parts[free[0].at] = p
			r.slots[p.CallID] = free[1:]
		}
	}
	r.add(fitting(rest))
}

func isObject(arguments string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(arguments), &object) == nil && object != nil
}

// fitting leaves out what providers refuse: texts with nothing in them, and calls
// and results in messages of others.
func fitting(m Message) Message {
	misfit := func(p Part) bool {
		return p.Kind == KindText && strings.TrimSpace(p.Text) == "" ||
			p.Kind == KindResult || p.Kind == KindCall && m.Role != RoleAssistant
	}
	if slices.ContainsFunc(m.Parts, misfit) {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), misfit)
	}
	return m
}
