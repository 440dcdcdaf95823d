// Package fakemodel is a scripted server of the Anthropic Messages API, enough
// to drive a real agent in a test, without a network and without an account.
//
// Replies come from a queue of entries: the first entry that fits a request
// answers it and is taken out. Every request is kept in memory, its keys
// redacted, and its history is held against the rules of the API (see
// [Validate]); a history that breaks them is answered with a 400, as the
// provider would.
package fakemodel

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"
)

// Kind says who sent a request.
type Kind string

// The kinds of request.
const (
	Main  Kind = "main"  // the agent's main loop
	Sub   Kind = "sub"   // a subagent: the CLI says so in a header
	Aux   Kind = "aux"   // a request without tools: titles, summaries
	Count Kind = "count" // count_tokens
	Other Kind = "other" // anything that is not /v1/messages
)

// agentHeader is on requests of subagents only.
const agentHeader = "X-Claude-Code-Agent-Id"

// Entry is one scripted reply.
type Entry struct {
	// Kind limits the entry to requests of one kind. Empty: Main and Sub.
	Kind Kind

	// Match, if set, must be found in the JSON of the messages after the last
	// one of the assistant (what is new in this request).
	Match *regexp.Regexp

	// Content is what the model says.
	Content []Block

	// StopReason is worked out from Content when empty: tool_use or end_turn.
	StopReason string

	// Usage overrides single numbers of the usage object.
	Usage map[string]int

	// Error, if set, is the reply instead of Content.
	Error *APIError

	// Delay passes before the first byte, ChunkDelay between pieces of a text
	// (eight runes each).
	Delay, ChunkDelay time.Duration

	// Gate, if set, holds the reply back until it is closed, the client goes
	// away or the server closes.
	Gate <-chan struct{}

	// Hang leaves a streamed reply open after Content until the client goes
	// away or the server closes: a model that an interrupt has to stop.
	Hang bool

	// Keep leaves the entry in the queue after use. An error needs it when
	// the client tries again.
	Keep bool
}

// APIError is an error reply.
type APIError struct {
	Status  int    // HTTP status
	Type    string // invalid_request_error, overloaded_error, ...
	Message string
}

// Request is one request as it came in.
type Request struct {
	At       time.Time
	Method   string
	Path     string
	Header   http.Header // keys are redacted
	Kind     Kind
	Body     json.RawMessage // nil when it was not JSON
	Problems []string        // from Validate; nil when it was not a message request
	Gone     bool            // the client left before the reply was complete
}

// Server answers as a provider would. Make it with [Start].
type Server struct {
	// URL is the base address, without a slash at the end.
	URL string

	http *httptest.Server
	done chan struct{} // closed by Close: ends replies that hang

	mu       sync.Mutex
	queue    []Entry
	requests []*Request
	ids      int
	changed  chan struct{} // closed and replaced when requests changes
}

// Start runs a server on the loopback until the test ends.
func Start(t testing.TB, entries ...Entry) *Server {
	t.Helper()
	s := &Server{queue: entries, done: make(chan struct{}), changed: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.handle))
	s.URL = s.http.URL
	t.Cleanup(func() {
		close(s.done)
		s.http.Close() // waits for the handlers
	})
	return s
}

// Add puts entries at the end of the queue.
func (s *Server) Add(entries ...Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, entries...)
}

// Clear empties the queue.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = nil
}

// Pending returns the entries that no request has used, those with Keep left
// out.
func (s *Server) Pending() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pending []Entry
	for _, e := range s.queue {
		if !e.Keep {
			pending = append(pending, e)
		}
	}
	return pending
}

// Requests returns what came in so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot()
}

func (s *Server) snapshot() []Request {
	requests := make([]Request, len(s.requests))
	for i, r := range s.requests {
		requests[i] = *r
	}
	return requests
}

// WaitFor returns the requests as soon as ok holds for them, and ends the test
// when that takes longer than limit. ok is called again after each change.
func (s *Server) WaitFor(t testing.TB, limit time.Duration, what string, ok func([]Request) bool) []Request {
	t.Helper()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		requests, changed := s.snapshot(), s.changed
		s.mu.Unlock()
		if ok(requests) {
			return requests
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("model server: waited %v for %s; requests so far:\n%s", limit, what, Describe(requests))
		}
	}
}

// Problems returns every broken rule of every request, for the end of a test.
func (s *Server) Problems() []string {
	var all []string
	for _, r := range s.Requests() {
		all = append(all, r.Problems...)
	}
	return all
}

// update changes the log under the lock and wakes those who wait.
func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	request := &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Header: redacted(r.Header), Kind: Other}
	if json.Valid(raw) {
		request.Body = raw
	}
	var body Body
	if r.URL.Path == "/v1/messages" && r.Method == http.MethodPost {
		if err := json.Unmarshal(raw, &body); err != nil {
			s.update(func() { s.requests = append(s.requests, request) })
			s.fail(w, APIError{http.StatusBadRequest, "invalid_request_error", "fake model: " + err.Error()})
			return
		}
		request.Kind, request.Problems = kindOf(body, r.Header), Validate(body)
	} else if r.URL.Path == "/v1/messages/count_tokens" {
		request.Kind = Count
	}
	s.update(func() { s.requests = append(s.requests, request) })

	switch {
	case request.Kind == Count:
		s.json(w, http.StatusOK, map[string]int{"input_tokens": tokens(raw)})
	case request.Kind != Other:
		if !s.answer(w, r, body, request) {
			s.update(func() { request.Gone = true })
		}
	case r.URL.Path == "/v1/models":
		s.json(w, http.StatusOK, map[string]any{"data": []any{}, "has_more": false, "first_id": nil, "last_id": nil})
	case r.Method == http.MethodHead || r.URL.Path == "/":
		s.json(w, http.StatusOK, struct{}{})
	default:
		s.fail(w, APIError{http.StatusNotFound, "not_found_error", "fake model: there is no " + r.URL.Path})
	}
}

func kindOf(body Body, header http.Header) Kind {
	switch {
	case header.Get(agentHeader) != "":
		return Sub
	case len(body.Tools) > 0:
		return Main
	}
	return Aux
}

// take finds the entry for a request. Without one the model has little to say.
func (s *Server) take(body Body, kind Kind) Entry {
	news := body.news()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range s.queue {
		if !e.fits(kind, news) {
			continue
		}
		if !e.Keep {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
		}
		return e
	}
	if kind == Aux {
		return Entry{Content: Say(`{"title":"fake title"}`)}
	}
	return Entry{Content: Say("ok")}
}

func (e Entry) fits(kind Kind, news []byte) bool {
	if e.Kind == "" && kind == Aux || e.Kind != "" && e.Kind != kind {
		return false
	}
	return e.Match == nil || e.Match.Match(news)
}

func redacted(header http.Header) http.Header {
	kept := header.Clone()
	for _, name := range []string{"X-Api-Key", "Authorization", "Cookie"} {
		if kept.Get(name) != "" {
			kept.Set(name, "<redacted>")
		}
	}
	return kept
}
