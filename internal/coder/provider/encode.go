package provider

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/turnback/turnback/conversation/session"
)

// JSON encodes a value for a request: texts as they are, no line feed at the end.
func JSON(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// WithoutOpaque leaves reasoning and other opaque blocks out of every message but
// the last of the assistant's: a provider has refused them.
func WithoutOpaque(messages []session.Message) []session.Message {
	out := slices.Clone(messages)
	for i, m := range out {
		if m.Role != session.RoleAssistant {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(m.Parts), func(p session.Part) bool { return p.Kind == session.KindOpaque })
		if len(kept) > 0 {
			out[i].Parts = kept
		}
	}
	return out
}
