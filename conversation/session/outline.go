package session

import (
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
)

// Mark is a checkpoint of the conversation, on whatever branch.
type Mark struct {
	CallID    string
	EntryID   string // entry with its result
	Goal      string
	StartedAt time.Time
	Number    int // work-tree checkpoint; 0: none
	End       MarkEnd
	EndedAt   time.Time // zero while it is open, and when it was replaced
	Report    string    // of a rewind
}

// MarkEnd says what became of a checkpoint.
type MarkEnd string

// The ends.
const (
	MarkOpen     MarkEnd = "open"     // on the branch that goes on
	MarkRewound  MarkEnd = "rewound"  // closed by a report
	MarkCleared  MarkEnd = "cleared"  // by an abort, or by the person
	MarkReplaced MarkEnd = "replaced" // never closed: another came, or the branch was left
)

// Marks are all checkpoints of all branches, oldest first.
func (s *Session) Marks() []Mark {
	var marks []Mark
	calls := map[string]Part{}
	newest := func(call string) *Mark {
		for i, m := range slices.Backward(marks) {
			if m.CallID == call {
				return &marks[i]
			}
		}
		return new(Mark) // of nothing that is there
	}
	for _, e := range s.entries {
		switch e.Type {
		case TypeMessage:
			for _, call := range e.Message.Calls() {
				calls[call.CallID] = call
			}
			for _, result := range e.Message.parts(KindResult) {
				if m, is := openedBy(calls[result.CallID], result, e); is {
					marks = append(marks, m)
				}
			}
		case TypeRewind:
			m := newest(e.Rewind.Checkpoint)
			m.End, m.EndedAt, m.Report = MarkRewound, parseTime(e.Rewind.RewoundAt), e.Rewind.Report
		case TypeCustom:
			data, ok := e.callData()
			switch m := newest(data.ID); {
			case !ok:
			case e.Custom == CustomCleared && m.End == "":
				m.End, m.EndedAt = MarkCleared, e.at()
			case e.Custom == CustomSaved:
				m.Number = data.Number
			}
		}
	}
	open := s.State().Open
	for i := range marks {
		if marks[i].End == "" {
			marks[i].End = MarkReplaced
		}
	}
	if open != nil {
		m := newest(open.CallID)
		m.End, m.EndedAt, m.Report = MarkOpen, time.Time{}, "" // it may have been rewound on another branch
	}
	return marks
}

// openedBy is the checkpoint that a result in an entry opened, if it did.
func openedBy(call, result Part, e *Entry) (Mark, bool) {
	tool, goal := ownTool(call, result)
	if tool != conversation.ToolCheckpoint {
		return Mark{}, false
	}
	m := Mark{CallID: call.CallID, EntryID: e.ID, Goal: goal, StartedAt: e.at()}
	if started := parseTime(field(result.Details, "startedAt")); !started.IsZero() {
		m.StartedAt = started
	}
	return m, true
}

// Node is a place in the tree of a session that a person would look for.
type Node struct {
	ID     string // its entry
	Parent string // the node that it comes after; empty: the first
	Kind   NodeKind
	Text   string // the prompt, the goal, the report, the summary
	Time   time.Time
	On     bool // on the branch that goes on
}

// NodeKind says what a node is.
type NodeKind string

// The kinds of nodes.
const (
	NodePrompt     NodeKind = "prompt"
	NodeCheckpoint NodeKind = "checkpoint"
	NodeRewind     NodeKind = "rewind"     // where a report took the place of a branch that was left
	NodeCleared    NodeKind = "cleared"    // a checkpoint was closed without a report
	NodeCompaction NodeKind = "compaction" // a summary took the place of what came before
	NodeEnd        NodeKind = "end"        // a branch ends: the one that goes on, or one that was left
)

// Outline is the tree of a session as far as a person looks at it, in the order
// of the file. A branch that was left ends in a node NodeEnd, by whose entry it
// can be gone back to.
func (s *Session) Outline() []Node {
	o := outline{on: map[string]bool{}, near: map[string]string{"": ""}, marks: map[string]string{}}
	for _, e := range s.Branch() {
		o.on[e.ID] = true
	}
	for _, m := range s.Marks() {
		o.marks[m.EntryID] = m.Goal
	}
	parents := map[string]bool{}
	for _, e := range s.entries {
		if e.Type != TypeLeaf {
			parents[e.ParentID] = true
		}
	}
	for _, e := range s.entries {
		if e.Type == TypeLeaf {
			continue
		}
		o.add(e)
		if e.ID == s.leaf || !parents[e.ID] {
			end := Node{ID: e.ID, Parent: o.near[e.ID], Kind: NodeEnd, Time: e.at(), On: e.ID == s.leaf}
			o.nodes = append(o.nodes, end)
		}
	}
	return o.nodes
}

type outline struct {
	nodes []Node
	on    map[string]bool   // entries of the branch that goes on
	near  map[string]string // by entry: the newest node at it or before it
	marks map[string]string // by entry: the goal of the checkpoint that it opened
}

func (o *outline) add(e *Entry) {
	before := o.near[e.ParentID]
	o.near[e.ID] = before
	kind, text := o.about(e)
	if kind == "" {
		return
	}
	o.near[e.ID] = e.ID
	o.nodes = append(o.nodes, Node{ID: e.ID, Parent: before, Kind: kind, Text: text, Time: e.at(), On: o.on[e.ID]})
}

// about says which node an entry is; none when it is only part of one.
func (o *outline) about(e *Entry) (NodeKind, string) {
	goal, marked := o.marks[e.ID]
	switch {
	case marked:
		return NodeCheckpoint, goal
	case e.Type == TypeRewind:
		return NodeRewind, e.Rewind.Report
	case e.Type == TypeCompaction:
		return NodeCompaction, e.Compaction.Summary
	case e.Type == TypeCustom && e.Custom == CustomCleared:
		return NodeCleared, ""
	case e.Type == TypeMessage && e.Message.Role == RoleUser && e.Message.Origin == FromPerson:
		if text := e.Message.JoinedText(); conversation.IsPersonsPrompt(text) {
			return NodePrompt, strings.TrimSpace(text)
		}
	}
	return "", ""
}
