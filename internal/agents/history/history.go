// Package history is what the adapters tell of the conversation that an agent's
// own files hold: the calls of our two tools, and what else matters to them.
package history

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
)

// History is one conversation, along the branch that goes on.
type History struct {
	Steps []Step // oldest first
	// Newest is when the model wrote the last that is in it; zero: nothing yet.
	Newest time.Time
}

// Step is a batch of tool calls that one message of the model made, or a
// compaction.
type Step struct {
	Calls     []Call // of our tools, in call order, those without a result too
	Done      bool   // every call of the batch, of whatever tool, has its result
	Compacted bool   // what came before was summarised
}

// Call is a call of one of our tools.
type Call struct {
	ID   string
	Tool conversation.Tool
	Text string // the goal or the report
	Done bool   // it has a result
	OK   bool   // it has one, and that is no refusal
	At   time.Time
}

// Call finds a call by its id.
func (h History) Call(id string) (Call, bool) {
	for _, s := range h.Steps {
		for _, c := range s.Calls {
			if c.ID == id {
				return c, true
			}
		}
	}
	return Call{}, false
}

// State is what the history tells of its checkpoints. A compaction takes the
// open one with it: another agent's history is not ours to carry it across.
func (h History) State() conversation.State {
	s, _ := h.run()
	return s
}

// Spans counts the spans that a rewind has closed.
func (h History) Spans() int {
	_, closed := h.run()
	return closed
}

func (h History) run() (s conversation.State, closed int) {
	for _, step := range h.Steps {
		if step.Compacted {
			s.Compacted(false)
		}
		for _, c := range step.Calls {
			switch {
			case !c.OK:
			case c.Tool == conversation.ToolCheckpoint:
				s.Opened(c.ID, strings.TrimSpace(c.Text), c.At)
			default:
				s.Reported(c.ID, strings.TrimSpace(c.Text))
			}
		}
		if !step.Done {
			continue
		}
		if due := s.BatchEnded(conversation.Boundary{}); due != nil {
			s.Rewound(*due)
			closed++
		}
	}
	return s, closed
}

// Result says whether the texts of a tool's result are a success of tool. An
// agent may have given the model the details in place of the texts.
func Result(tool conversation.Tool, texts []string) bool {
	if len(texts) == 0 {
		return false
	}
	first := strings.TrimSpace(texts[0])
	prefix, fields := conversation.CreatedPrefix, []string{"goal", "startedAt"}
	if tool == conversation.ToolRewind {
		prefix, fields = conversation.RewindPrefix, []string{"report", "rewound"}
	}
	if strings.HasPrefix(first, prefix) {
		return true
	}
	var details map[string]json.RawMessage
	if !strings.HasPrefix(first, "{") || json.Unmarshal([]byte(first), &details) != nil || len(details) != len(fields) {
		return false
	}
	for _, f := range fields {
		if _, ok := details[f]; !ok {
			return false
		}
	}
	return true
}

// Texts are those of what a tool gave, as agents write it down: one text, or blocks
// that have some.
func Texts(content json.RawMessage) []string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{text}
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.Text)
	}
	return texts
}
