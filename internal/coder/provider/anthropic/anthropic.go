// Package anthropic speaks to the Anthropic Messages API.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
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
		option.WithoutEnvironmentDefaults(), option.WithHTTPClient(provider.Client()), option.WithBaseURL(o.BaseURL), option.WithAPIKey(o.Key),
	)}
}

// Name implements provider.Model.
func (m *Model) Name() string { return cmp.Or(m.o.Label, Provider) + "/" + m.o.Name }

// Ready implements provider.Model.
func (m *Model) Ready() error {
	if m.o.Key == "" {
		return m.place().NoKey()
	}
	return nil
}

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
	if err := m.Ready(); err != nil {
		return provider.Reply{}, err
	}
	raw, err := m.encode(r)
	if err != nil {
		return provider.Reply{}, err
	}
	var response *http.Response
	stream := m.client.Messages.NewStreaming(ctx, param.Override[sdk.MessageNewParams](raw), option.WithResponseInto(&response))
	defer stream.Close()
	var got sdk.Message
	done, events := map[int64]bool{}, 0
	for stream.Next() {
		event := stream.Current()
		events++
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
	switch {
	case events == 0 && response != nil:
		return reply, m.place().Stranger(response.Header.Get("Content-Type"))
	case reply.Message.Stop == "":
		return reply, m.place().CutOff()
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
		Declined: got.StopReason == sdk.StopReasonRefusal,
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
	if known, ok := errors.AsType[*sdk.Error](err); ok {
		return m.place().Failed(err, known.StatusCode, cmp.Or(known.Message, plain(known.RawJSON())))
	}
	return m.place().Failed(err, 0, "")
}

// place is where the model is reached.
func (m *Model) place() provider.Place {
	return provider.Place{Model: m.o.Name, URL: m.o.BaseURL, Key: m.o.Key, KeyVar: m.o.KeyVar, URLVar: m.o.URLVar}
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
