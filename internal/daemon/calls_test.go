package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/verbs"
)

// raw sends a request as curl would and returns status, headers and body.
func (s *server) raw(method, path, body string) (int, http.Header, string) {
	s.t.Helper()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return s.options.Socket.Dial(ctx)
		},
		DisableKeepAlives: true,
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

func TestHTTPAnswers(t *testing.T) {
	s := newServer(t)
	s.extra = []verbs.Verb{
		{Name: "refuse", Grant: verbs.GrantWrite, Summary: "Refuse.", Run: func(context.Context, verbs.Call) (any, error) {
			return nil, api.Errorf(api.CodeNotReady, "busy")
		}},
		{Name: "panic", Grant: verbs.GrantRead, Summary: "Panic.", Run: func(context.Context, verbs.Call) (any, error) {
			panic("secret prompt")
		}},
		{Name: "unprintable", Grant: verbs.GrantRead, Summary: "Give what JSON cannot.", Run: func(context.Context, verbs.Call) (any, error) {
			return func() {}, nil
		}},
	}
	s.start()
	cases := []struct {
		name, method, path, body string
		status                   int
		want                     string // the body, or its start before "..."
	}{
		{"result", "POST", "/v1/get-agent-state", `{"window":"w"}`, 200, `{"state":"working","source":"report","since":"0001-01-01T00:00:00Z","turn":2,"agent":""}` + "\n"},
		{"no body", "POST", "/v1/list-windows", ``, 200, `{"windows":null}` + "\n"},
		{"unknown verb", "POST", "/v1/undoo", `{}`, 404, `{"error":{"code":"unknown_verb","message":"there is no verb \"undoo\"","hint":{"command":"turnback list-verbs"}}}` + "\n"},
		{"near verb", "POST", "/v1/list-window", `{}`, 404, `{"error":{"code":"unknown_verb","message":"there is no verb \"list-window\"","hint":{"command":"turnback list-verbs","did_you_mean":"list-windows"}}}` + "\n"},
		{"unknown parameter", "POST", "/v1/set-agent-state", `{"state":"done","promt":"x"}`, 400, `{"error":{"code":"invalid_params","message":"unknown parameter \"promt\"","hint":{"param":"promt",...`},
		{"no JSON", "POST", "/v1/set-agent-state", `state=done`, 400, `{"error":{"code":"invalid_params",...`},
		{"refused", "POST", "/v1/refuse", `{}`, 409, `{"error":{"code":"not_ready","message":"busy"}}` + "\n"},
		{"panic", "POST", "/v1/panic", `{}`, 500, `{"error":{"code":"internal","message":"the verb panic failed inside the daemon; its log has more"}}` + "\n"},
		{"unprintable", "POST", "/v1/unprintable", `{}`, 500, `{"error":{"code":"internal",...`},
		{"wrong method", "GET", "/v1/undo", ``, 400, `{"error":{"code":"invalid_params","message":"this is asked with POST"}}` + "\n"},
		{"wrong method for events", "POST", "/v1/events", `{}`, 400, `{"error":{"code":"invalid_params","message":"this is asked with GET"}}` + "\n"},
		{"elsewhere", "GET", "/", ``, 404, `{"error":{"code":"unknown_verb","message":"there is nothing at /",...`},
		{"below a verb", "POST", "/v1/undo/x", `{}`, 404, `{"error":{"code":"unknown_verb","message":"there is nothing at /v1/undo/x",...`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, header, body := s.raw(c.method, c.path, c.body)
			start, open := strings.CutSuffix(c.want, "...")
			if status != c.status || body != c.want && (!open || !strings.HasPrefix(body, start)) {
				t.Errorf("%d %s, want %d %s", status, body, c.status, c.want)
			}
			if kind := header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("content type %q", kind)
			}
			if !json.Valid([]byte(body)) {
				t.Errorf("not one JSON value: %q", body)
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	s := newServer(t).start()
	for size, want := range map[int]string{
		api.MaxBody:     "the parameters are not JSON", // read as a whole, and refused at the first byte
		api.MaxBody + 1: "the parameters have more than 16777216 bytes",
	} {
		status, _, body := s.raw("POST", "/v1/set-agent-state", strings.Repeat("x", size))
		if status != 400 || !contains(body, want) {
			t.Errorf("%d bytes: %d %.200s, want %q", size, status, body, want)
		}
	}
}

func TestEveryVerbHasTheGrantOfTheContract(t *testing.T) {
	s := newServer(t).start()
	var list api.ListVerbsResult
	if err := s.client.Call(t.Context(), "list-verbs", nil, &list, nil); err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(list.Verbs))
	for _, v := range list.Verbs {
		got = append(got, v.Name+":"+v.Grant)
	}
	want := []string{
		"agent-report:", "get-agent-state:read", "list-verbs:read", "list-windows:read",
		"set-agent-state:", "status:read", "stop-daemon:admin",
	}
	sort.Strings(want)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("verbs %q, want %q", got, want)
	}
}

func TestProgressArrivesBeforeTheResult(t *testing.T) {
	s := newServer(t)
	seen := make(chan struct{})
	s.extra = []verbs.Verb{{Name: "work", Grant: verbs.GrantWrite, Summary: "Work.", Run: func(_ context.Context, c verbs.Call) (any, error) {
		c.Progress(api.Progress{What: "writing files", Done: 1, Total: 2})
		<-seen // the caller has the note while the verb still runs
		return api.StopDaemonResult{PID: 9}, nil
	}}}
	s.start()
	var result api.StopDaemonResult
	var notes []api.Progress
	err := s.client.Call(t.Context(), "work", nil, &result, func(p api.Progress) {
		notes = append(notes, p)
		close(seen)
	})
	if err != nil || result.PID != 9 {
		t.Fatalf("result %+v, error %v", result, err)
	}
	if want := (api.Progress{What: "writing files", Done: 1, Total: 2}); len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %+v", notes)
	}
}

// A caller that does not read its notes of progress does not slow the verb.
func TestProgressNeverHoldsAVerbUp(t *testing.T) {
	s := newServer(t)
	finished := make(chan struct{})
	s.extra = []verbs.Verb{{Name: "work", Grant: verbs.GrantWrite, Summary: "Work.", Run: func(_ context.Context, c verbs.Call) (any, error) {
		defer close(finished)
		what := strings.Repeat("x", 1<<20) // more than a socket's buffers take
		for i := range int64(10_000) {
			c.Progress(api.Progress{What: what, Done: i})
		}
		return nil, nil
	}}}
	s.start()
	conn, err := s.options.Socket.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "POST /v1/work HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-finished:
	case <-time.After(patience):
		t.Error("the verb waits for its caller")
	}
}

// A call that changes something is carried to its end though its caller left; a
// call that only reads ends with its caller.
func TestCallWhoseCallerLeaves(t *testing.T) {
	for _, c := range []struct {
		grant   string
		carried bool
	}{{verbs.GrantRead, false}, {verbs.GrantWrite, true}, {verbs.GrantOwn, true}} {
		t.Run("grant "+c.grant, func(t *testing.T) {
			s := newServer(t)
			b := newBlock()
			after := make(chan error, 1)
			s.extra = []verbs.Verb{b.verb("work", c.grant, func(ctx context.Context) { after <- ctx.Err() })}
			s.start()
			ctx, leave := context.WithCancel(t.Context())
			called := make(chan error, 1)
			go func() { called <- s.client.Call(ctx, "work", nil, nil, nil) }()
			<-b.began
			leave()
			if err := <-called; !errors.Is(err, context.Canceled) {
				t.Errorf("the caller got %v", err)
			}
			if !c.carried {
				if err := <-after; !errors.Is(err, context.Canceled) {
					t.Errorf("the call goes on: %v", err)
				}
				return
			}
			select {
			case <-after:
				t.Error("the call was ended")
			case <-time.After(50 * time.Millisecond): // nothing must happen
			}
			close(b.release)
			if err := <-after; err != nil {
				t.Errorf("the call was ended: %v", err)
			}
		})
	}
}

// The log tells what was called and how it ended, but nothing that an agent or
// person wrote.
func TestLogHoldsNoTextOfAnAgent(t *testing.T) {
	s := newServer(t)
	s.options.Environ = []string{"SECRET_TOKEN=hunter2"}
	s.tracker.setState = func(_ context.Context, p api.SetAgentStateParams) (api.SetAgentStateResult, error) {
		return api.SetAgentStateResult{}, api.Errorf(api.CodeWindowNotFound, "no window for %s", p.Prompt)
	}
	s.start()
	params := api.SetAgentStateParams{State: "working", Prompt: "the hidden prompt", Message: "the hidden message"}
	if err := s.client.Call(t.Context(), "set-agent-state", params, nil, nil); err == nil {
		t.Fatal("no error")
	}
	if status, _, _ := s.raw("POST", "/v1/set-agent-state", `{"the hidden name":1}`); status != 400 {
		t.Fatalf("status %d", status)
	}
	s.end()
	s.wait(nil)
	log := readFile(t, daemon.LogPath(s.options.StateDir))
	if contains(log, "hidden") || contains(log, "hunter2") {
		t.Errorf("the log holds what it must not: %s", log)
	}
	for _, want := range []string{`"msg":"started"`, `"verb":"set-agent-state"`, `"code":"window_not_found"`, `"msg":"stopped"`} {
		if !contains(log, want) {
			t.Errorf("the log does not hold %s: %s", want, log)
		}
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestFilesAreForTheOwnerAlone(t *testing.T) {
	s := newServer(t).start()
	for path, want := range map[string]os.FileMode{
		s.options.Socket.Dir():             0o700,
		s.options.Socket.Path:              0o600,
		s.options.Socket.LockPath():        0o600,
		s.options.StateDir:                 0o700,
		daemon.LogPath(s.options.StateDir): 0o600,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}
