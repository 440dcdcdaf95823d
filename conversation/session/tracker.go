package session

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
)

// tracker finds the state of the checkpoints from the entries of a branch, one
// after the other.
type tracker struct {
	state    *conversation.State
	taken    map[string]bool // entries whose rewind was taken, here or on another branch
	messages int
	batch    *batch
}

// batch is a message's calls and their results.
type batch struct {
	entry   string // of the message
	waiting []Part // calls without a result
	end     conversation.Boundary
}

func (t *tracker) feed(e *Entry) {
	switch e.Type {
	case TypeMessage:
		t.messages++
		t.message(e)
	case TypeRewind:
		t.endBatch()
		t.state.Rewound(conversation.Report{CallID: e.Rewind.CallID, Checkpoint: e.Rewind.Checkpoint, Text: e.Rewind.Report})
		t.messages += len(e.Rewind.Kept)
	case TypeCompaction:
		t.state.Compacted(true)
	case TypeCustom:
		t.custom(e)
	}
}

func (t *tracker) message(e *Entry) {
	m := e.Message
	switch m.Role {
	case RoleAssistant:
		t.endBatch()
		if calls := m.Calls(); len(calls) > 0 {
			t.batch = &batch{entry: e.ID, waiting: calls, end: t.here(e)}
		}
	case RoleTool:
		t.results(e)
	default:
		text := m.JoinedText()
		if conversation.IsReminder(text) {
			t.state.Reminded()
		} else if m.Role == RoleUser && m.Origin == FromPerson {
			t.state.Prompted(text)
		}
	}
}

func (t *tracker) here(e *Entry) conversation.Boundary {
	return conversation.Boundary{EntryID: e.ID, Messages: t.messages}
}

func (t *tracker) results(e *Entry) {
	for _, result := range e.Message.parts(KindResult) {
		if t.batch == nil {
			return // of a call that is not there, or was given up
		}
		i := slices.IndexFunc(t.batch.waiting, func(call Part) bool { return call.CallID == result.CallID })
		if i < 0 {
			continue
		}
		t.succeeded(t.batch.waiting[i], result, e.at())
		t.batch.waiting = slices.Delete(slices.Clone(t.batch.waiting), i, i+1)
		t.batch.end = t.here(e)
		if len(t.batch.waiting) == 0 {
			t.endBatch()
		}
	}
}

// endBatch ends the batch, whether or not all of its results have come.
func (t *tracker) endBatch() {
	if t.batch == nil {
		return
	}
	due := t.state.BatchEnded(t.batch.end)
	if due != nil && t.taken[t.batch.entry] {
		t.state.Rewound(*due)
	}
	t.batch = nil
}

func (t *tracker) succeeded(call, result Part, at time.Time) {
	switch tool, text := ownTool(call, result); tool {
	case conversation.ToolCheckpoint:
		if started := parseTime(field(result.Details, "startedAt")); !started.IsZero() {
			at = started
		}
		t.state.Opened(call.CallID, text, at)
	case conversation.ToolRewind:
		t.state.Reported(call.CallID, text)
	}
}

// ownTool is the tool that a call has successfully called, and its goal or
// report; empty for any other call.
func ownTool(call, result Part) (tool conversation.Tool, text string) {
	tool, ok := conversation.ParseToolName(conversation.OwnAgent, "", call.Name)
	if !ok || result.IsError || len(result.Content) == 0 {
		return "", ""
	}
	prefix, name := conversation.CreatedPrefix, "goal"
	if tool == conversation.ToolRewind {
		prefix, name = conversation.RewindPrefix, "report"
	}
	if !strings.HasPrefix(result.Content[0].Text, prefix) {
		return "", ""
	}
	if text = field(result.Details, name); text == "" {
		text = field([]byte(call.Arguments), name)
	}
	return tool, strings.TrimSpace(text)
}

// field is a text in a JSON object; empty when there is none.
func field(object []byte, name string) string {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(object, &fields) != nil || json.Unmarshal(fields[name], &text) != nil {
		return ""
	}
	return text
}

// callData is what a custom entry about a checkpoint says.
func (e *Entry) callData() (data callData, ok bool) {
	err := json.Unmarshal(e.Data, &data)
	return data, err == nil
}

func (t *tracker) custom(e *Entry) {
	data, ok := e.callData()
	if !ok {
		return
	}
	switch e.Custom {
	case CustomCleared:
		t.state.Cleared(data.ID)
	case CustomSaved:
		t.state.Saved(data.ID, data.Number)
	}
}
