// Package anthropic speaks to the Anthropic Messages API.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
)

// Provider is the name in front of a model's, and on opaque blocks.
const Provider = "anthropic"

// defaultURL is the provider's own.
const defaultURL = "https://api.anthropic.com"

// Options say which model, and how to reach it.
type Options struct {
	Label   string // the name of the endpoint in front of the model's; empty: Provider
	Name    string // of the model
	BaseURL string // empty: the provider's own
	Key     string
	KeyVar  string // the variable that the key came from, for errors
	URLVar  string

	// Data gives the base64 data of an image or document.
	Data func(session.Part) (string, error)
}

// Model is a model of the provider.
type Model struct {
	o      Options
	client sdk.Client
}

var _ provider.Model = (*Model)(nil)

// New makes a model. It asks nothing of anybody yet.
func New(o Options) *Model {
	o.BaseURL = cmp.Or(o.BaseURL, defaultURL)
	// Nothing is taken from the environment behind the caller's back.
	return &Model{o: o, client: sdk.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(o.BaseURL), option.WithAPIKey(o.Key),
	)}
}

// Name implements provider.Model.
func (m *Model) Name() string { return cmp.Or(m.o.Label, Provider) + "/" + m.o.Name }

// ReminderRole implements provider.Model: a system message in the midst of a list
// is not taken.
func (m *Model) ReminderRole() session.Role { return session.RoleUser }

// Size implements provider.Model.
func (m *Model) Size(messages []session.Message) (int, error) {
	encoded, err := encodeMessages(messages, m.o.Data)
	return sizeOf(encoded), err
}

// Answer implements provider.Model.
func (m *Model) Answer(ctx context.Context, r provider.Request, said func(string)) (provider.Reply, error) {
	if m.o.Key == "" {
		return provider.Reply{}, &provider.Error{
			Kind: provider.KindNoKey, Text: "there is no key for " + m.o.BaseURL, Hint: "set " + m.o.KeyVar,
		}
	}
	raw, err := m.encode(r)
	if err != nil {
		return provider.Reply{}, err
	}
	stream := m.client.Messages.NewStreaming(ctx, param.Override[sdk.MessageNewParams](raw))
	defer stream.Close()
	var got sdk.Message
	done := map[int64]bool{}
	for stream.Next() {
		event := stream.Current()
		if err := got.Accumulate(event); err != nil {
			return provider.Reply{}, err
		}
		switch event.Type {
		case "content_block_delta":
			if event.Delta.Type == "text_delta" {
				said(event.Delta.Text)
			}
		case "content_block_stop":
			done[event.Index] = true
		}
	}
	reply := m.reply(got, done)
	reply.Bytes = len(raw)
	if err := stream.Err(); err != nil {
		return reply, m.failed(ctx, err)
	}
	if reply.Message.Stop == "" {
		return reply, provider.CutOff(m.o.BaseURL)
	}
	return reply, nil
}

// reply is what had come whole.
func (m *Model) reply(got sdk.Message, done map[int64]bool) provider.Reply {
	msg := session.Message{Role: session.RoleAssistant, Model: m.Name(), Stop: string(got.StopReason)}
	for i, block := range got.Content {
		switch block.Type {
		case "text":
			if block.Text != "" {
				msg.Parts = append(msg.Parts, session.Text(block.Text))
			}
		case "tool_use":
			if !done[int64(i)] {
				continue
			}
			msg.Parts = append(msg.Parts, session.Part{
				Kind: session.KindCall, CallID: block.ID, Name: block.Name, Arguments: cmp.Or(string(block.Input), "{}"),
			})
		default:
			if done[int64(i)] {
				msg.Parts = append(msg.Parts, session.Part{Kind: session.KindOpaque, Provider: Provider, Raw: json.RawMessage(block.RawJSON())})
			}
		}
	}
	u := got.Usage
	return provider.Reply{
		Message:  msg,
		CutShort: got.StopReason == sdk.StopReasonMaxTokens,
		Usage: provider.Usage{
			Input:  u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens,
			Cached: u.CacheReadInputTokens, Output: u.OutputTokens,
		},
	}
}

func (m *Model) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	place := provider.Place{Model: m.o.Name, URL: m.o.BaseURL, KeyVar: m.o.KeyVar, URLVar: m.o.URLVar}
	if known, ok := errors.AsType[*sdk.Error](err); ok {
		return place.Failed(err, known.StatusCode, cmp.Or(known.Message, plain(known.RawJSON())))
	}
	return place.Failed(err, 0, "")
}

// plain is a body that is no error in the provider's form, if it is a text.
func plain(raw string) string {
	if strings.HasPrefix(strings.TrimSpace(raw), "{") {
		return raw
	}
	first, _, _ := strings.Cut(raw, "\n")
	return first
}

// maxTokens is how long an answer may grow. Older models take no more.
func maxTokens(model string) int {
	switch {
	case strings.HasPrefix(model, "claude-3-5"):
		return 8192
	case strings.HasPrefix(model, "claude-3-7"):
		return 32000
	case strings.HasPrefix(model, "claude-3"):
		return 4096
	}
	return 32000
}
