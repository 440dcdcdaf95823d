package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Responses is a scripted server of OpenAI's Responses API. It streams, as its agents ask for. Make it with
// [StartResponses].
type Responses struct {
	// URL is the base address, with /v1 at its end.
	URL string

	mu       sync.Mutex
	queue    []ResponsesReply
	requests []ResponsesRequest
	upgrades int
	ids      int
}

// ResponsesReply is one scripted reply.
type ResponsesReply struct {
	// Sub is for a request of a subagent, as Codex's headers tell; others are not.
	Sub bool

	Text  string
	Calls []ResponsesCall

	// Status is an HTTP status to fail with; 0: the reply is given.
	Status int

	// Input is the count of input tokens that usage tells; 0: worked out from the
	// size.
	Input int
}

// ResponsesCall is a call of a function, in the namespace of an MCP server if it
// is one's.
type ResponsesCall struct {
	Namespace, Name string
	Arguments       map[string]any
}

// ResponsesRequest is one request as it came in.
type ResponsesRequest struct {
	Path     string
	Header   http.Header // keys are redacted
	Body     json.RawMessage
	Problems []string // from ValidateResponses
	Sub      bool     // of a subagent of Codex's
}

// responsesItem is what the rules need of an item of the input.
type responsesItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
}

// StartResponses runs a server on the loopback until the test ends. Without a
// reply in the queue the model says "ok".
func StartResponses(t testing.TB, replies ...ResponsesReply) *Responses {
	t.Helper()
	s := &Responses{queue: replies}
	web := httptest.NewServer(http.HandlerFunc(s.handle))
	t.Cleanup(web.Close)
	s.URL = web.URL + "/v1"
	return s
}

// Add puts replies at the end of the queue.
func (s *Responses) Add(replies ...ResponsesReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Requests returns what came in so far, oldest first.
func (s *Responses) Requests() []ResponsesRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ResponsesRequest(nil), s.requests...)
}

// Upgrades counts the requests for another protocol, WebSocket say; none is
// granted.
func (s *Responses) Upgrades() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.upgrades
}

// Pending counts the replies that no request has used.
func (s *Responses) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// Problems returns every broken rule of every request.
func (s *Responses) Problems() []string {
	var all []string
	for _, r := range s.Requests() {
		all = append(all, r.Problems...)
	}
	return all
}

func (s *Responses) handle(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	if r.Header.Get("Upgrade") != "" {
		s.mu.Lock()
		s.upgrades++
		s.mu.Unlock()
	}
	if r.URL.Path != "/v1/responses" || r.Method != http.MethodPost {
		responsesError(w, http.StatusNotFound, "there is no "+r.URL.Path)
		return
	}
	var body struct {
		Model string          `json:"model"`
		Input []responsesItem `json:"input"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		responsesError(w, http.StatusBadRequest, err.Error())
		return
	}
	request := ResponsesRequest{
		Path: r.URL.Path, Header: redacted(r.Header), Body: raw, Problems: ValidateResponses(raw),
		Sub: strings.Contains(r.Header.Get("X-Codex-Turn-Metadata"), `"subagent"`),
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	reply := ResponsesReply{Text: "ok"}
	at := slices.IndexFunc(s.queue, func(r ResponsesReply) bool { return r.Sub == request.Sub })
	if at >= 0 && len(request.Problems) == 0 {
		reply = s.queue[at]
		s.queue = slices.Delete(s.queue, at, at+1)
	}
	s.mu.Unlock()
	if len(request.Problems) > 0 {
		responsesError(w, http.StatusBadRequest, strings.Join(request.Problems, "; "))
		return
	}
	if reply.Status != 0 {
		responsesError(w, reply.Status, "a failure that was scripted")
		return
	}
	if reply.Input == 0 {
		reply.Input = tokens(raw)
	}
	s.stream(w, body.Model, reply)
}

func responsesError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(map[string]any{"error": map[string]any{"message": "fake model: " + message, "type": "invalid_request_error", "param": nil, "code": nil}}))
}

// ValidateResponses returns the rules of the Responses API that a request's input
// breaks: a call has one output behind it, and an output its call before it.
func ValidateResponses(body []byte) []string {
	var b struct {
		Input []responsesItem `json:"input"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return []string{"input: " + err.Error()}
	}
	if len(b.Input) == 0 {
		return []string{"input: empty"}
	}
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	answered := map[string]bool{} // by call id; false: called
	for i, item := range b.Input {
		done, called := answered[item.CallID]
		switch {
		case strings.HasSuffix(item.Type, "_call_output"):
			if !called {
				problem("input.%d: output %s without its call", i, item.CallID)
			}
			if done {
				problem("input.%d: a second output of %s", i, item.CallID)
			}
			answered[item.CallID] = true
		case item.CallID != "" && strings.HasSuffix(item.Type, "_call"):
			if called {
				problem("input.%d: call id %s twice", i, item.CallID)
			}
			answered[item.CallID] = false
		}
	}
	for id, done := range answered {
		if !done {
			problem("input: call %s without an output", id)
		}
	}
	return problems
}

// items are what a reply says, as the API spells it.
func (s *Responses) items(reply ResponsesReply) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := func(prefix string) string { s.ids++; return fmt.Sprintf("%s_fake_%06d", prefix, s.ids) }
	var items []map[string]any
	if reply.Text != "" {
		items = append(items, map[string]any{
			"type": "message", "id": id("msg"), "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": reply.Text, "annotations": []any{}}},
		})
	}
	for _, call := range reply.Calls {
		item := map[string]any{
			"type": "function_call", "id": id("fc"), "call_id": id("call"), "name": call.Name, "status": "completed",
			"arguments": string(encode(call.Arguments)),
		}
		if call.Namespace != "" {
			item["namespace"] = call.Namespace
		}
		items = append(items, item)
	}
	return items
}

func (s *Responses) stream(w http.ResponseWriter, model string, reply ResponsesReply) {
	items := s.items(reply)
	response := map[string]any{
		"id": "resp_fake", "object": "response", "model": model, "status": "completed", "output": items,
		"usage": map[string]any{
			"input_tokens": reply.Input, "input_tokens_details": map[string]int{"cached_tokens": 0},
			"output_tokens": 10, "output_tokens_details": map[string]int{"reasoning_tokens": 0}, "total_tokens": reply.Input + 10,
		},
	}
	w.Header().Set("Content-Type", "text/event-stream")
	number := 0
	event := func(name string, data map[string]any) {
		data["type"], data["sequence_number"] = name, number
		number++
		// A failed write means that the client is gone; it will not miss the rest.
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, encode(data))
		_ = http.NewResponseController(w).Flush()
	}
	event("response.created", map[string]any{"response": map[string]any{"id": "resp_fake", "object": "response", "model": model, "status": "in_progress", "output": []any{}, "usage": nil}})
	for i, item := range items {
		event("response.output_item.added", map[string]any{"output_index": i, "item": item})
		event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	event("response.completed", map[string]any{"response": response})
}
