package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Chat is a scripted server of OpenAI's Chat Completions: replies come from a
// queue, every request is kept, and a history that breaks the rules of the API is
// answered with a 400. Make it with [StartChat].
type Chat struct {
	// URL is the base address, with /v1 at its end.
	URL string

	mu       sync.Mutex
	queue    []ChatReply
	requests []ChatRequest
	calls    int
	done     chan struct{}
}

// ChatReply is one scripted reply. The first in the queue that fits a request
// answers it and is taken out.
type ChatReply struct {
	// Match, if set, must be found in the JSON of the messages after the last one
	// of the assistant.
	Match *regexp.Regexp

	Text  string
	Calls []ChatCall
	Usage map[string]int // overrides prompt_tokens and completion_tokens

	Body, Type string // in the place of a reply: a whole body, with its Content-Type
	Finish     string // overrides finish_reason

	Status  int    // an error: HTTP status
	Message string // and its words

	// Hang leaves the reply open after Text until the client goes away.
	Hang bool
	// Cut breaks the connection off after Text.
	Cut bool
	// Keep leaves the reply in the queue.
	Keep bool
}

// ChatCall is a call of a tool. Without an ID the server gives it one.
type ChatCall struct {
	ID, Name string
	Args     map[string]any
}

// ChatRequest is one request as it came in.
type ChatRequest struct {
	Body     json.RawMessage
	Messages []ChatMessage
	Tools    []string
	Problems []string
	Header   http.Header
	Key      string // of the Authorization header: "" or "set"
}

// ChatMessage is one message of a history.
type ChatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`

	Raw json.RawMessage `json:"-"`
}

// Text is a message's content when it is a plain text.
func (m ChatMessage) Text() string {
	var text string
	if json.Unmarshal(m.Content, &text) != nil {
		return ""
	}
	return text
}

// UnmarshalJSON keeps the text beside the value.
func (m *ChatMessage) UnmarshalJSON(raw []byte) error {
	type plain ChatMessage
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil {
		return err
	}
	m.Raw = slices.Clone(raw)
	return nil
}

type chatBody struct {
	Model    string        `json:"model"`
	Stream   bool          `json:"stream"`
	Messages []ChatMessage `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// StartChat runs a server on the loopback until the test ends.
func StartChat(t testing.TB, replies ...ChatReply) *Chat {
	t.Helper()
	c := &Chat{queue: replies, done: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(c.handle))
	c.URL = server.URL + "/v1"
	t.Cleanup(func() {
		close(c.done)
		server.Close()
	})
	return c
}

// Add puts replies at the end of the queue.
func (c *Chat) Add(replies ...ChatReply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, replies...)
}

// Requests returns what came in so far, oldest first.
func (c *Chat) Requests() []ChatRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Pending is how many replies no request has used, those with Keep left out.
func (c *Chat) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, r := range c.queue {
		if !r.Keep {
			n++
		}
	}
	return n
}

// Problems are the broken rules of all requests.
func (c *Chat) Problems() []string {
	var all []string
	for _, r := range c.Requests() {
		all = append(all, r.Problems...)
	}
	return all
}

func (c *Chat) handle(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	if r.URL.Path != "/v1/chat/completions" {
		chatError(w, http.StatusNotFound, "there is no "+r.URL.Path)
		return
	}
	var body chatBody
	if err := json.Unmarshal(raw, &body); err != nil {
		chatError(w, http.StatusBadRequest, err.Error())
		return
	}
	request := ChatRequest{Body: raw, Header: r.Header, Messages: body.Messages, Problems: ValidateChat(body.Messages)}
	for _, t := range body.Tools {
		request.Tools = append(request.Tools, t.Function.Name)
	}
	if r.Header.Get("Authorization") != "" {
		request.Key = "set"
	}
	c.mu.Lock()
	c.requests = append(c.requests, request)
	c.mu.Unlock()
	if len(request.Problems) > 0 {
		chatError(w, http.StatusBadRequest, strings.Join(request.Problems, "; "))
		return
	}
	reply := c.take(body)
	if reply.Status != 0 {
		chatError(w, reply.Status, reply.Message)
		return
	}
	if reply.Body != "" {
		w.Header().Set("Content-Type", reply.Type)
		_, _ = io.WriteString(w, reply.Body) // a failed write means that the client is gone
		return
	}
	c.stream(w, r, body.Model, len(raw), reply)
}

func (c *Chat) take(body chatBody) ChatReply {
	from := 0
	for i, m := range body.Messages {
		if m.Role == "assistant" {
			from = i + 1
		}
	}
	var news strings.Builder
	for _, m := range body.Messages[from:] {
		news.Write(m.Raw)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range c.queue {
		if r.Match != nil && !r.Match.MatchString(news.String()) {
			continue
		}
		if !r.Keep {
			c.queue = slices.Delete(c.queue, i, i+1)
		}
		return r
	}
	return ChatReply{Text: "ok"}
}

func chatError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A failed write means that the client is gone.
	_, _ = w.Write(encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}}))
}

// stream writes a reply in pieces.
func (c *Chat) stream(w http.ResponseWriter, r *http.Request, model string, size int, reply ChatReply) {
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta map[string]any, finish any, more map[string]any) {
		event := map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}
		for k, v := range more {
			event[k] = v
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", encode(event))
		_ = http.NewResponseController(w).Flush()
	}
	chunk(map[string]any{"role": "assistant", "content": ""}, nil, nil)
	for text := reply.Text; text != ""; {
		n := min(len(text), 16)
		chunk(map[string]any{"content": text[:n]}, nil, nil)
		text = text[n:]
	}
	switch {
	case reply.Hang:
		select {
		case <-r.Context().Done():
		case <-c.done:
		}
		return
	case reply.Cut:
		panic(http.ErrAbortHandler)
	}
	finish := "stop"
	for i, call := range reply.Calls {
		finish = "tool_calls"
		args := string(encode(call.Args))
		function := map[string]any{"name": call.Name, "arguments": ""}
		chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.callID(call), "type": "function", "function": function}}}, nil, nil)
		for _, piece := range []string{args[:len(args)/2], args[len(args)/2:]} {
			chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}}, nil, nil)
		}
	}
	if reply.Finish != "" {
		finish = reply.Finish
	}
	chunk(map[string]any{}, finish, nil)
	usage := map[string]any{"prompt_tokens": (size + 3) / 4, "completion_tokens": 20, "total_tokens": (size+3)/4 + 20}
	for k, v := range reply.Usage {
		usage[k] = v
	}
	chunk(map[string]any{}, nil, map[string]any{"choices": []any{}, "usage": usage})
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
	_ = http.NewResponseController(w).Flush()
}

func (c *Chat) callID(call ChatCall) string {
	if call.ID != "" {
		return call.ID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return fmt.Sprintf("call_fake_%06d", c.calls)
}

// ValidateChat returns the rules of Chat Completions that a history breaks.
func ValidateChat(messages []ChatMessage) []string {
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(messages) == 0 {
		problem("messages: empty")
	}
	var open []string
	seen := map[string]bool{}
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			problem("messages.%d: an assistant message with tool_calls is not followed by results of %s", i, strings.Join(open, ", "))
			open = nil
		}
		switch m.Role {
		case "tool":
			at := slices.Index(open, m.CallID)
			if at < 0 {
				problem("messages.%d: tool result %q has no call before it", i, m.CallID)
				continue
			}
			if at > 0 {
				problem("messages.%d: tool result %q is not in the order of the calls", i, m.CallID)
			}
			open = slices.Delete(open, at, at+1)
		case "assistant":
			if len(m.Calls) == 0 && m.Text() == "" {
				problem("messages.%d: an assistant message with nothing in it", i)
			}
			for _, call := range m.Calls {
				if seen[call.ID] {
					problem("messages.%d: call id %q is there twice", i, call.ID)
				}
				if !json.Valid([]byte(call.Function.Arguments)) {
					problem("messages.%d: the arguments of %q are no JSON", i, call.ID)
				}
				seen[call.ID] = true
				open = append(open, call.ID)
			}
		case "user", "system", "developer":
			if len(m.Content) == 0 || string(m.Content) == `""` {
				problem("messages.%d: empty content", i)
			}
		default:
			problem("messages.%d: unknown role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		problem("end: calls %s have no results", strings.Join(open, ", "))
	}
	return problems
}
