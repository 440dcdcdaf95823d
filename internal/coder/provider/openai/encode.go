package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
)

// The parts of a request, as Chat Completions spells them.
type (
	message struct {
		Role       string `json:"role"`
		Content    any    `json:"content,omitempty"` // a string, or parts
		ToolCalls  []call `json:"tool_calls,omitempty"`
		ToolCallID string `json:"tool_call_id,omitempty"`
	}
	call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	part struct {
		Type     string    `json:"type"`
		Text     string    `json:"text,omitempty"`
		ImageURL *imageURL `json:"image_url,omitempty"`
		File     *file     `json:"file,omitempty"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
	file struct {
		Name string `json:"filename,omitempty"`
		Data string `json:"file_data"`
	}
	tool struct {
		Type     string       `json:"type"`
		Function functionSpec `json:"function"`
	}
	functionSpec struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	body struct {
		Model         string            `json:"model"`
		Messages      []json.RawMessage `json:"messages"`
		Tools         []tool            `json:"tools,omitempty"`
		StreamOptions streamOptions     `json:"stream_options"`
	}
)

func (m *Model) encode(r provider.Request) (json.RawMessage, error) {
	messages, err := m.encodeMessages(r.Messages)
	if err != nil {
		return nil, err
	}
	if r.System != "" {
		first, err := provider.JSON(message{Role: m.systemRole(), Content: r.System})
		if err != nil {
			return nil, fmt.Errorf("encode system prompt: %w", err)
		}
		messages = append([]json.RawMessage{first}, messages...)
	}
	b := body{Model: m.o.Name, Messages: messages, StreamOptions: streamOptions{IncludeUsage: true}}
	for _, t := range r.Tools {
		b.Tools = append(b.Tools, tool{"function", functionSpec{t.Name, t.Description, t.Schema}})
	}
	return provider.JSON(b)
}

func sizeOf(messages []json.RawMessage) int {
	size := 0
	for _, m := range messages {
		size += len(m) + 1
	}
	return size
}

func (m *Model) encodeMessages(list []session.Message) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, one := range list {
		var messages []message
		var err error
		switch one.Role {
		case session.RoleAssistant:
			messages = []message{assistant(one)}
		case session.RoleTool:
			messages = results(one)
		default:
			messages, err = m.others(one)
		}
		if err != nil {
			return nil, err
		}
		for _, encoded := range messages {
			raw, err := provider.JSON(encoded)
			if err != nil {
				return nil, fmt.Errorf("encode message: %w", err)
			}
			out = append(out, raw)
		}
	}
	return out, nil
}

func assistant(m session.Message) message {
	out := message{Role: "assistant"}
	if text := m.JoinedText(); text != "" {
		out.Content = text
	}
	for _, c := range m.Calls() {
		out.ToolCalls = append(out.ToolCalls, call{c.CallID, "function", function{c.Name, c.Arguments}})
	}
	return out
}

// results gives a message for each result. A result is a text here, and what
// stands beside the results goes with the one before it: a message of the user
// behind a result is not taken everywhere.
func results(m session.Message) []message {
	var out []message
	var beside []string
	for _, p := range m.Parts {
		text := ""
		switch p.Kind {
		case session.KindResult:
			out = append(out, message{Role: "tool", ToolCallID: p.CallID, Content: words(p.Content)})
			continue
		case session.KindText:
			text = p.Text
		default:
			text = stand(p)
		}
		if last := len(out) - 1; last >= 0 {
			out[last].Content = out[last].Content.(string) + "\n" + text
			continue
		}
		beside = append(beside, text)
	}
	if len(beside) > 0 {
		if len(out) == 0 {
			return []message{{Role: "user", Content: strings.Join(beside, "\n")}}
		}
		out[len(out)-1].Content = out[len(out)-1].Content.(string) + "\n" + strings.Join(beside, "\n")
	}
	return out
}

func words(parts []session.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Kind == session.KindText {
			texts = append(texts, p.Text)
			continue
		}
		texts = append(texts, stand(p))
	}
	return strings.Join(texts, "\n")
}

// stand stands for what a result cannot hold.
func stand(p session.Part) string {
	return fmt.Sprintf("[%s %s: it is not shown to you, since this endpoint takes none in the result of a tool]", p.Kind, p.MediaType)
}

// others are messages of the person and of the host.
func (m *Model) others(one session.Message) ([]message, error) {
	role := "user"
	if one.Role == session.RoleDeveloper || one.Role == session.RoleSystem {
		role = string(m.ReminderRole())
	}
	text, plain := "", true
	var parts []part
	for _, p := range one.Parts {
		switch p.Kind {
		case session.KindText:
			text = join(text, p.Text)
			parts = append(parts, part{Type: "text", Text: p.Text})
		case session.KindImage, session.KindDocument:
			plain = false
			data, err := m.o.Data(p)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", p.Kind, err)
			}
			parts = append(parts, media(p, data))
		}
	}
	switch {
	case len(parts) == 0:
		return nil, nil
	case plain:
		return []message{{Role: role, Content: text}}, nil
	}
	return []message{{Role: role, Content: parts}}, nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func media(p session.Part, data string) part {
	url := "data:" + p.MediaType + ";base64," + data
	if p.Kind == session.KindImage {
		return part{Type: "image_url", ImageURL: &imageURL{url}}
	}
	return part{Type: "file", File: &file{p.Name, url}}
}
