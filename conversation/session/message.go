// Package session keeps a conversation of our own agent: a file of JSON lines
// that only grows, in which entries form a tree. The leaf says which branch of it
// the conversation is; a rewind moves the leaf back and leaves the other branch
// in the file.
package session

import (
	"encoding/json"
	"strings"

	"github.com/turnback/turnback/conversation"
)

// Role says whose message it is to a provider.
type Role string

// The roles. Results of tools, and texts that belong beside them, are in
// messages of the role tool.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
)

// Origin says who wrote a message that is neither the model's nor a tool's.
type Origin string

// The origins.
const (
	FromPerson     Origin = ""           // what they typed
	FromHost       Origin = "host"       // instructions, notes, reminders
	FromCompaction Origin = "compaction" // the summary; only in what is sent
)

// Message is one message, in no provider's form.
type Message struct {
	Role   Role   `json:"role"`
	Origin Origin `json:"origin,omitempty"`
	Parts  []Part `json:"parts"`
	Model  string `json:"model,omitempty"` // PROVIDER/NAME, of the assistant's
	Stop   string `json:"stop,omitempty"`  // why the model stopped, in the provider's word
}

// Kind says what a part is.
type Kind string

// The kinds of parts, with the fields that each has.
const (
	KindText     Kind = "text"     // Text
	KindImage    Kind = "image"    // MediaType, and Data or Blob
	KindDocument Kind = "document" // MediaType, Name, and Data or Blob
	KindCall     Kind = "call"     // CallID, Name, Arguments
	KindResult   Kind = "result"   // CallID, Content, IsError, Loads, Details
	KindOpaque   Kind = "opaque"   // Provider, Raw: reasoning and whatever else is handed back as it came
)

// Part is a piece of a message.
type Part struct {
	Kind      Kind   `json:"kind"`
	Text      string `json:"text,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	Name      string `json:"name,omitempty"`
	// Data is base64 on its way in. A session keeps the bytes in a side file and
	// their hash here: see [Session.Data].
	Data string `json:"data,omitempty"`
	Blob string `json:"blob,omitempty"` // SHA-256, hexadecimal

	CallID    string `json:"call,omitempty"`
	Arguments string `json:"arguments,omitempty"` // JSON, to the byte as the model wrote it

	Content []Part   `json:"content,omitempty"` // texts, images and documents
	IsError bool     `json:"isError,omitempty"`
	Loads   []string `json:"loads,omitempty"` // tools that the model can call since this result
	// Details are for programs and never sent.
	Details json.RawMessage `json:"details,omitempty"`

	Provider string          `json:"provider,omitempty"` // who understands Raw
	Raw      json.RawMessage `json:"raw,omitempty"`      // kept to the byte, but for space between tokens
}

// Text is a part with a text.
func Text(text string) Part { return Part{Kind: KindText, Text: text} }

// UserMessage is a message of the person.
func UserMessage(text string) Message { return Message{Role: RoleUser, Parts: []Part{Text(text)}} }

// HostMessage is a message that the host adds: a reminder, a note.
func HostMessage(role Role, text string) Message {
	return Message{Role: role, Origin: FromHost, Parts: []Part{Text(text)}}
}

// Results is a message with results of tools.
func Results(parts ...Part) Message { return Message{Role: RoleTool, Parts: parts} }

// Answer is the result of a call of one of the two tools, of which
// [conversation.State] gave r or refused with err.
func Answer(callID string, r conversation.Result, err error) Part {
	p := Part{Kind: KindResult, CallID: callID}
	if err != nil {
		p.IsError = true
		p.Content = []Part{Text(err.Error())}
		return p
	}
	for _, text := range r.Texts {
		p.Content = append(p.Content, Text(text))
	}
	// The details are plain structures of texts.
	p.Details, _ = json.Marshal(r.Details)
	return p
}

// Calls are the calls of tools in a message, in order.
func (m *Message) Calls() []Part { return m.parts(KindCall) }

func (m *Message) parts(kind Kind) []Part {
	var found []Part
	for _, p := range m.Parts {
		if p.Kind == kind {
			found = append(found, p)
		}
	}
	return found
}

// JoinedText is all of the text of a message, its parts joined by line feeds.
func (m *Message) JoinedText() string { return joinTexts(m.Parts) }

func joinTexts(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if p.Kind == KindText && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
