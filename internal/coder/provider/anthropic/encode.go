package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
)

// The parts of a request, as the Messages API spells them.
type (
	message struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	mediaBlock struct {
		Type   string `json:"type"` // image, document
		Source source `json:"source"`
		Title  string `json:"title,omitempty"`
	}
	useBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	resultBlock struct {
		Type    string            `json:"type"`
		ID      string            `json:"tool_use_id"`
		Content []json.RawMessage `json:"content,omitempty"`
		IsError bool              `json:"is_error,omitempty"`
	}
)

// encodeMessages writes messages one by one. Neighbours of one role become one
// message, the results of tools first in it as they are in the list.
func encodeMessages(list []session.Message, data func(session.Part) (string, error)) ([]json.RawMessage, error) {
	var merged []message
	for _, m := range list {
		role := "user"
		if m.Role == session.RoleAssistant {
			role = "assistant"
		}
		blocks, err := encodeParts(m.Parts, data)
		if err != nil {
			return nil, err
		}
		if len(blocks) == 0 {
			continue
		}
		if last := len(merged) - 1; last >= 0 && merged[last].Role == role {
			merged[last].Content = append(merged[last].Content, blocks...)
			continue
		}
		merged = append(merged, message{Role: role, Content: blocks})
	}
	out := make([]json.RawMessage, 0, len(merged))
	for _, m := range merged {
		raw, err := provider.JSON(m)
		if err != nil {
			return nil, fmt.Errorf("encode message: %w", err)
		}
		out = append(out, raw)
	}
	return out, nil
}

func encodeParts(parts []session.Part, data func(session.Part) (string, error)) ([]json.RawMessage, error) {
	var blocks []json.RawMessage
	for _, p := range parts {
		block, err := encodePart(p, data)
		if err != nil {
			return nil, err
		}
		if block == nil {
			continue
		}
		raw, err := provider.JSON(block)
		if err != nil {
			return nil, fmt.Errorf("encode block: %w", err)
		}
		blocks = append(blocks, raw)
	}
	return blocks, nil
}

func encodePart(p session.Part, data func(session.Part) (string, error)) (any, error) {
	switch p.Kind {
	case session.KindText:
		if p.Text == "" {
			return nil, nil
		}
		return textBlock{"text", p.Text}, nil
	case session.KindImage, session.KindDocument:
		encoded, err := data(p)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", p.Kind, err)
		}
		return mediaBlock{string(p.Kind), source{"base64", p.MediaType, encoded}, p.Name}, nil
	case session.KindCall:
		return useBlock{"tool_use", p.CallID, p.Name, json.RawMessage(p.Arguments)}, nil
	case session.KindResult:
		content, err := encodeParts(p.Content, data)
		if err != nil {
			return nil, err
		}
		return resultBlock{"tool_result", p.CallID, content, p.IsError}, nil
	case session.KindOpaque:
		if p.Provider == Provider {
			return p.Raw, nil
		}
	}
	return nil, nil // of another provider
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type cacheMark struct {
	Type string `json:"type"`
}

type body struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	System    string            `json:"system,omitempty"`
	Tools     []tool            `json:"tools,omitempty"`
	Messages  []json.RawMessage `json:"messages"`
	// The mark at the top has the provider keep the longest prefix by itself.
	CacheControl cacheMark `json:"cache_control"`
}

func (m *Model) encode(r provider.Request) (json.RawMessage, error) {
	messages, err := encodeMessages(r.Messages, m.o.Data)
	if err != nil {
		return nil, err
	}
	b := body{Model: m.o.Name, MaxTokens: maxTokens(m.o.Name), System: r.System, Messages: messages, CacheControl: cacheMark{"ephemeral"}}
	for _, t := range r.Tools {
		b.Tools = append(b.Tools, tool{t.Name, t.Description, t.Schema})
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
