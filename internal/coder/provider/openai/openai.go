// Package openai speaks Chat Completions, to OpenAI and to every endpoint that is
// compatible with it.
package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
)

// Provider is the name in front of a model's.
const Provider = "openai"

const defaultURL = "https://api.openai.com/v1"

// noKey is sent where a key is not needed: servers at home ask for none.
const noKey = "none"

// Options say which model, and how to reach it.
type Options struct {
	Label   string // the name of the endpoint in front of the model's; empty: Provider
	Name    string // of the model
	BaseURL string // with the version at its end; empty: the provider's own
	Key     string
	KeyVar  string // the variable that the key came from, for errors
	URLVar  string

	// Data gives the base64 data of an image or document.
	Data func(session.Part) (string, error)
}

// Model is a model behind an endpoint.
type Model struct {
	o    Options
	chat sdk.ChatCompletionService
}

var _ provider.Model = (*Model)(nil)

// New makes a model. It asks nothing of anybody yet.
func New(o Options) *Model {
	o.BaseURL = cmp.Or(o.BaseURL, defaultURL)
	// The client as a whole would take headers, keys and addresses from the
	// environment behind the caller's back.
	return &Model{o: o, chat: sdk.NewChatCompletionService(
		option.WithHTTPClient(provider.Client()), option.WithBaseURL(o.BaseURL), option.WithAPIKey(cmp.Or(o.Key, noKey)),
	)}
}

// Name implements provider.Model.
func (m *Model) Name() string { return cmp.Or(m.o.Label, Provider) + "/" + m.o.Name }

// own says whether the endpoint is OpenAI's own. Only there is the role of the
// developer known for sure.
func (m *Model) own() bool {
	u, err := url.Parse(m.o.BaseURL)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.com"))
}

func (m *Model) systemRole() string {
	if m.own() {
		return "developer"
	}
	return "system"
}

// Ready implements provider.Model.
func (m *Model) Ready() error {
	if m.o.Key == "" && m.own() {
		return m.place().NoKey()
	}
	return nil
}

// ReminderRole implements provider.Model.
func (m *Model) ReminderRole() session.Role {
	if m.own() {
		return session.RoleDeveloper
	}
	return session.RoleUser
}

// Size implements provider.Model.
func (m *Model) Size(messages []session.Message) (int, error) {
	encoded, err := m.encodeMessages(messages)
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
	stream := m.chat.NewStreaming(ctx, param.Override[sdk.ChatCompletionNewParams](raw), option.WithResponseInto(&response))
	defer stream.Close()
	var got answer
	for stream.Next() {
		got.events++
		got.take(stream.Current(), said)
	}
	err = stream.Err()
	reply := got.reply(m.Name(), err == nil && got.stop != "")
	reply.Bytes = len(raw)
	switch {
	case err != nil:
		return reply, m.failed(ctx, err)
	case got.events == 0 && response != nil:
		return reply, m.place().Stranger(response.Header.Get("Content-Type"))
	case got.stop == "":
		return reply, m.place().CutOff()
	}
	return reply, nil
}

func (m *Model) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if known, ok := errors.AsType[*sdk.Error](err); ok {
		return m.place().Failed(err, known.StatusCode, known.Message)
	}
	if sent, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return m.place().Failed(err, http.StatusOK, sent.Message)
	}
	return m.place().Failed(err, 0, "")
}

// place is where the model is reached.
func (m *Model) place() provider.Place {
	return provider.Place{Model: m.o.Name, URL: m.o.BaseURL, Key: m.o.Key, KeyVar: m.o.KeyVar, URLVar: m.o.URLVar}
}

// answer gathers the pieces of one.
type answer struct {
	events   int
	declined bool
	text     strings.Builder
	calls    []*piece
	stop     string
	usage    provider.Usage
}

// piece is a call as far as it has come.
type piece struct {
	index    int64
	id, name string
	args     strings.Builder
}

func (a *answer) take(chunk sdk.ChatCompletionChunk, said func(string)) {
	if u := chunk.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		a.usage = provider.Usage{Input: u.PromptTokens, Cached: u.PromptTokensDetails.CachedTokens, Output: u.CompletionTokens}
	}
	if len(chunk.Choices) == 0 {
		return
	}
	choice := chunk.Choices[0]
	a.declined = a.declined || choice.Delta.Refusal != ""
	if text := choice.Delta.Content + choice.Delta.Refusal; text != "" {
		a.text.WriteString(text)
		said(text)
	}
	for _, c := range choice.Delta.ToolCalls {
		p := a.call(c.Index, c.ID)
		p.id, p.name = cmp.Or(p.id, c.ID), cmp.Or(p.name, c.Function.Name)
		p.args.WriteString(c.Function.Arguments)
	}
	a.stop = cmp.Or(string(choice.FinishReason), a.stop)
}

// call is the one that a piece belongs to. Some servers give every call the index
// 0, and tell the next one by its id alone.
func (a *answer) call(index int64, id string) *piece {
	for i := len(a.calls) - 1; i >= 0; i-- {
		p := a.calls[i]
		if p.index == index && (id == "" || p.id == "" || p.id == id) {
			return p
		}
	}
	a.calls = append(a.calls, &piece{index: index})
	return a.calls[len(a.calls)-1]
}

// reply is what had come; without whole, calls may be cut off and are left out.
func (a *answer) reply(model string, whole bool) provider.Reply {
	m := session.Message{Role: session.RoleAssistant, Model: model, Stop: a.stop}
	if a.text.Len() > 0 {
		m.Parts = append(m.Parts, session.Text(a.text.String()))
	}
	for i := range a.calls {
		c := a.calls[i]
		if !whole || c.name == "" {
			continue
		}
		id := cmp.Or(c.id, "call_"+strconv.Itoa(i))
		m.Parts = append(m.Parts, session.Part{Kind: session.KindCall, CallID: id, Name: c.name, Arguments: cmp.Or(c.args.String(), "{}")})
	}
	return provider.Reply{Message: m, Usage: a.usage, CutShort: a.stop == "length", Declined: a.declined || a.stop == "content_filter"}
}
