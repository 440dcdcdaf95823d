package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/verbs"
)

const (
	bodyWithin      = 30 * time.Second       // how long a caller may take to send its parameters
	replyWithin     = 30 * time.Second       // how long a caller may take to read the reply
	lastWordsWithin = time.Second            // how long a reader may take for the last events
	progressGap     = 100 * time.Millisecond // between two notes of progress
	aliveEvery      = 3 * time.Second        // between two signs of life of a call that runs
)

// handler answers requests. life ends when running calls are to end.
func (s *Server) handler(life context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/events", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			s.fail(w, wrongMethod(w, http.MethodGet))
			return
		}
		s.serveEvents(w, r)
	})
	mux.HandleFunc("/v1/{verb}", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			s.fail(w, wrongMethod(w, http.MethodPost))
			return
		}
		s.serveVerb(life, w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		e := api.Errorf(api.CodeUnknownVerb, "there is nothing at %s", r.URL.Path)
		s.fail(w, e.WithHint(api.Hint{Detail: "POST /v1/<verb>, or GET /v1/events"}))
	})
	return mux
}

func wrongMethod(w http.ResponseWriter, want string) *api.Error {
	w.Header().Set("Allow", want)
	return api.Errorf(api.CodeInvalidParams, "this is asked with %s", want)
}

func (s *Server) serveVerb(life context.Context, w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("verb")
	verb, err := s.table.Lookup(name)
	if err != nil {
		s.fail(w, api.AsError(err))
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		s.fail(w, api.AsError(err))
		return
	}
	if !s.enter(&s.calls, s.stop) {
		s.fail(w, stopping())
		return
	}
	ctx, cancel := callContext(life, r.Context(), verb)
	defer cancel()
	begun := s.o.Now()
	var reply replier = &plainReply{w: w}
	if strings.Contains(r.Header.Get("Accept"), api.NDJSON) {
		reply = newLineReply(w)
	}
	result, err := s.run(ctx, name, body, reply.progress)
	s.calls.Done()
	s.logCall(verb, s.o.Now().Sub(begun), err)
	reply.finish(result, api.AsError(err))
}

// enter counts a call that is about to run, or a stream; false: over has ended,
// and nothing begins any more.
func (s *Server) enter(count *sync.WaitGroup, over context.Context) bool {
	s.gate.Lock()
	defer s.gate.Unlock()
	if over.Err() != nil {
		return false
	}
	count.Add(1)
	return true
}

// stopping is the answer to a call that was not run. Its HTTP status, 503, lets
// a caller take it for a daemon that was not there.
func stopping() *api.Error {
	return api.Errorf(api.CodeNoDaemon, "the daemon is stopping").WithHint(api.Hint{Detail: "nothing was done; try again"})
}

// callContext is the context of a call. One that only reads ends with its
// caller; one that changes something is carried to its end, whoever left.
func callContext(life, caller context.Context, verb verbs.Verb) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(life)
	if verb.Grant != verbs.GrantRead {
		return ctx, cancel
	}
	unhook := context.AfterFunc(caller, cancel)
	return ctx, func() { unhook(); cancel() }
}

// run runs a verb; a panic in it is an error of this call alone.
func (s *Server) run(ctx context.Context, name string, body []byte, progress func(api.Progress)) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "verb", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, err = nil, api.Errorf(api.CodeInternal, "the verb %s failed inside the daemon; its log has more", name)
		}
	}()
	return s.table.Run(ctx, name, body, progress)
}

// logCall notes a call: never its parameters, and the message only of failures
// that are not about the parameters, so that no agent's text gets into the log.
func (s *Server) logCall(verb verbs.Verb, took time.Duration, err error) {
	attrs := []any{"verb", verb.Name, "ms", took.Milliseconds()}
	if err == nil {
		s.log.Info("call", attrs...)
		return
	}
	e := api.AsError(err)
	attrs = append(attrs, "code", string(e.Code))
	switch e.Code {
	case api.CodeInternal, api.CodeGitFailed, api.CodeTimeout, api.CodeDiskFull, api.CodeSandboxed, api.CodeDamaged:
		s.log.Warn("call failed", append(attrs, "error", e.Message)...)
	default:
		s.log.Info("call refused", attrs...)
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(bodyWithin)); err != nil {
		return nil, fmt.Errorf("read the parameters: %w", err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, api.Errorf(api.CodeInvalidParams, "the parameters have more than %d bytes", api.MaxBody)
	}
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidParams, "read the parameters: %v", err)
	}
	// Without this the deadline would end the call itself when it passes.
	if err := rc.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("read the parameters: %w", err)
	}
	return body, nil
}

// fail answers with an error alone.
func (s *Server) fail(w http.ResponseWriter, e *api.Error) { (&plainReply{w: w}).finish(nil, e) }

// replier writes the answer to a call.
type replier interface {
	progress(p api.Progress)
	finish(result any, err *api.Error) // err is nil, or the answer
}

// plainReply is one JSON value, with the HTTP status of its error.
type plainReply struct{ w http.ResponseWriter }

func (r *plainReply) progress(api.Progress) {}

func (r *plainReply) finish(result any, failure *api.Error) {
	status, value := http.StatusOK, result
	if failure != nil {
		status, value = httpStatus(failure.Code), any(api.Failure{Error: failure})
	}
	body, err := json.Marshal(value)
	if err != nil {
		status = http.StatusInternalServerError
		body = []byte(`{"error":{"code":"internal","message":"the result cannot be encoded"}}`)
	}
	r.w.Header().Set("Content-Type", "application/json")
	limitReply(r.w)
	r.w.WriteHeader(status)
	_, _ = r.w.Write(append(body, '\n')) // a caller that left needs no answer
}

// limitReply bounds the time for writing, so that a caller that reads nothing
// cannot keep a call for ever. A connection that takes no deadline is gone.
func limitReply(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyWithin))
}

func httpStatus(code api.Code) int {
	switch {
	case code == api.CodeInvalidParams:
		return http.StatusBadRequest
	case code == api.CodeForbidden:
		return http.StatusForbidden
	case code == api.CodeNoDaemon:
		return http.StatusServiceUnavailable
	case code == api.CodeUnknownVerb:
		return http.StatusNotFound
	case code.ExitStatus() == 4:
		return http.StatusConflict
	case code == api.CodeInternal, code == api.CodeGitFailed:
		return http.StatusInternalServerError
	default:
		return http.StatusUnprocessableEntity
	}
}

// lineReply is a JSON value a line. Progress is written by a goroutine of its
// own, the newest only: a caller that reads slowly does not slow the verb.
type lineReply struct {
	w      http.ResponseWriter
	newest chan api.Progress
	quit   chan struct{}
	writer sync.WaitGroup
}

func newLineReply(w http.ResponseWriter) *lineReply {
	w.Header().Set("Content-Type", api.NDJSON)
	r := &lineReply{w: w, newest: make(chan api.Progress, 1), quit: make(chan struct{})}
	r.writer.Go(r.write)
	return r
}

func (r *lineReply) write() {
	gap := time.NewTicker(progressGap)
	defer gap.Stop()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		select {
		case <-r.quit:
			return
		case p := <-r.newest:
			r.line(api.Line{Progress: &p})
		case <-alive.C:
			r.line(api.Line{Alive: true})
		}
		select {
		case <-r.quit:
			return
		case <-gap.C:
		}
	}
}

func (r *lineReply) progress(p api.Progress) {
	select {
	case <-r.newest:
	default:
	}
	select {
	case r.newest <- p:
	default:
	}
}

func (r *lineReply) finish(result any, failure *api.Error) {
	close(r.quit)
	limitReply(r.w)
	r.writer.Wait()
	switch {
	case failure != nil:
		result = nil
	case result == nil:
		result = json.RawMessage("null")
	}
	r.line(api.Line{Result: result, Error: failure})
}

func (r *lineReply) line(l api.Line) {
	body, err := json.Marshal(l)
	if err != nil {
		body = []byte(`{"error":{"code":"internal","message":"the result cannot be encoded"}}`)
	}
	_, _ = r.w.Write(append(body, '\n')) // a caller that left needs no answer
	_ = http.NewResponseController(r.w).Flush()
}

// serveEvents streams events until the caller leaves or the daemon has stopped.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	if !s.enter(&s.streams, s.quiet) {
		s.fail(w, stopping())
		return
	}
	defer s.streams.Done()
	in := s.bus.subscribe()
	defer s.bus.unsubscribe(in)
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if rc.Flush() != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.quiet.Done():
			s.writeEvents(w, rc, in.take())
			return
		case <-in.wake:
			if !s.writeEvents(w, rc, in.take()) {
				return
			}
		}
	}
}

func (s *Server) writeEvents(w http.ResponseWriter, rc *http.ResponseController, events []api.Event) bool {
	for _, e := range events {
		body, err := json.Marshal(e)
		if err != nil {
			s.log.Error("event cannot be encoded", "type", e.Type, "error", err.Error())
			return false
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Type, body); err != nil {
			return false
		}
	}
	return rc.Flush() == nil
}
