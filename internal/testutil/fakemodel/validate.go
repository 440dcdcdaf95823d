package fakemodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxCacheMarks is how many blocks of a request may carry cache_control.
const maxCacheMarks = 4

// Body is what the server reads of a message request.
type Body struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	System   Contents          `json:"system"`
	Tools    []json.RawMessage `json:"tools"`
	Messages Messages          `json:"messages"`
}

// Messages is a history, with the JSON it was read from.
type Messages struct {
	List []Message
	raw  json.RawMessage
}

// UnmarshalJSON keeps the text beside the value.
func (m *Messages) UnmarshalJSON(text []byte) error {
	m.raw = slices.Clone(text)
	return json.Unmarshal(text, &m.List)
}

// Message is one message of a history.
type Message struct {
	Role    string   `json:"role"`
	Content Contents `json:"content"`
}

// Contents is a list of blocks; a plain string reads as one text block.
type Contents []ContentBlock

// UnmarshalJSON reads both forms.
func (c *Contents) UnmarshalJSON(text []byte) error {
	var plain string
	if json.Unmarshal(text, &plain) == nil {
		*c = Contents{{Type: "text", Text: plain}}
		return nil
	}
	return json.Unmarshal(text, (*[]ContentBlock)(c))
}

// ContentBlock is what the rules need of a block.
type ContentBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	ID           string          `json:"id"`          // tool_use
	ToolUseID    string          `json:"tool_use_id"` // tool_result
	Signature    string          `json:"signature"`   // thinking
	CacheControl json.RawMessage `json:"cache_control"`
}

// news is the JSON of the messages after the assistant's last one.
func (b Body) news() []byte {
	var all []json.RawMessage
	if json.Unmarshal(b.Messages.raw, &all) != nil {
		return nil
	}
	from := 0
	for i, m := range b.Messages.List {
		if m.Role == "assistant" {
			from = i + 1
		}
	}
	return encode(all[from:])
}

// Validate returns the rules of the Messages API that a request's history
// breaks, by the place of the message; nothing when it would be accepted. The
// rules are those that cutting or collapsing a history can break.
func Validate(b Body) []string {
	messages := b.Messages.List
	if len(messages) == 0 {
		return []string{"messages: empty"}
	}
	h := history{seen: map[string]bool{}}
	if messages[0].Role != "user" {
		h.problem("messages.0: first role is not user")
	}
	for i, m := range messages {
		h.contents(i, m)
		switch m.Role {
		case "system": // between messages: stands outside the alternation
		case "user":
			h.user(i, m.Content)
		case "assistant":
			h.assistant(i, m.Content)
		default:
			h.problem("messages.%d: unknown role %q", i, m.Role)
		}
	}
	if len(h.open) > 0 {
		h.problem("end: tool_use %s without tool_result", strings.Join(h.open, ", "))
	}
	if marks := h.cacheMarks(b); marks > maxCacheMarks {
		h.problem("cache_control: %d blocks, at most %d", marks, maxCacheMarks)
	}
	return h.problems
}

// history is the state of a walk over messages.
type history struct {
	open     []string        // tool_use ids of the assistant message before
	seen     map[string]bool // every tool_use id so far
	marks    int             // blocks of messages with cache_control
	problems []string
}

func (h *history) problem(format string, args ...any) {
	h.problems = append(h.problems, fmt.Sprintf(format, args...))
}

func (h *history) contents(i int, m Message) {
	if len(m.Content) == 0 && m.Role != "system" {
		h.problem("messages.%d: empty content", i)
	}
	for _, block := range m.Content {
		if marked(block.CacheControl) {
			h.marks++
		}
		if block.Type == "text" && block.Text == "" {
			h.problem("messages.%d: empty text block", i)
		}
	}
}

func (h *history) user(i int, blocks Contents) {
	var results []string
	other, late := false, false
	for _, block := range blocks {
		if block.Type != "tool_result" {
			other = true
			continue
		}
		late = late || other
		results = append(results, block.ToolUseID)
		if !slices.Contains(h.open, block.ToolUseID) {
			h.problem("messages.%d: tool_result %s without tool_use in the previous message", i, block.ToolUseID)
		}
	}
	if late && len(h.open) > 0 {
		h.problem("messages.%d: tool_result must come first", i)
	}
	for _, id := range h.open {
		if !slices.Contains(results, id) {
			h.problem("messages.%d: tool_use %s without tool_result", i, id)
		}
	}
	h.open = nil
}

func (h *history) assistant(i int, blocks Contents) {
	if len(h.open) > 0 {
		h.problem("messages.%d: tool_use %s without tool_result immediately after", i, strings.Join(h.open, ", "))
	}
	h.open = nil
	for _, block := range blocks {
		switch {
		case block.Type == "thinking" && block.Signature == "":
			h.problem("messages.%d: thinking without signature", i)
		case block.Type == "tool_use":
			if h.seen[block.ID] {
				h.problem("messages.%d: duplicate tool_use id %s", i, block.ID)
			}
			h.seen[block.ID] = true
			h.open = append(h.open, block.ID)
		}
	}
}

func (h *history) cacheMarks(b Body) int {
	marks := h.marks
	for _, block := range b.System {
		if marked(block.CacheControl) {
			marks++
		}
	}
	for _, tool := range b.Tools {
		var t struct {
			CacheControl json.RawMessage `json:"cache_control"`
		}
		if json.Unmarshal(tool, &t) == nil && marked(t.CacheControl) {
			marks++
		}
	}
	return marks
}

func marked(cacheControl json.RawMessage) bool {
	return len(cacheControl) > 0 && string(cacheControl) != "null"
}

// Describe lists requests for a failure message: a line each, with the start of
// what was new in it.
func Describe(requests []Request) string {
	if len(requests) == 0 {
		return "  none\n"
	}
	var text strings.Builder
	for _, r := range requests {
		var body Body
		news := ""
		if json.Unmarshal(r.Body, &body) == nil {
			news = string(body.news())
		}
		const most = 300
		if len(news) > most {
			news = news[len(news)-most:]
		}
		fmt.Fprintf(&text, "  %s %s %s %v ...%s\n", r.Kind, r.Method, r.Path, r.Problems, news)
	}
	return text.String()
}
