package api_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/api"
)

func itoa(n int) string { return strconv.Itoa(n) }

// shortDir is a private folder whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// leftOver makes a socket that nobody listens at.
func leftOver(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// serve answers at a socket with handle, and returns a client of it.
func serve(t *testing.T, handle http.HandlerFunc) *api.Client {
	t.Helper()
	s := api.Socket{Path: filepath.Join(shortDir(t), "s"), UID: os.Getuid()}
	l, err := net.Listen("unix", s.Path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handle}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return api.NewClient(s)
}

func reply(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestCallSendsAndDecodes(t *testing.T) {
	var method, path, body, accept string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		method, path, body, accept = r.Method, r.URL.Path, string(data), r.Header.Get("Accept")
		_, _ = io.WriteString(w, `{"state":"done","applied":true,"turn":3,"pane":"0a"}`)
	})
	var got api.SetAgentStateResult
	err := c.Call(t.Context(), "set-agent-state", api.SetAgentStateParams{State: "done"}, &got, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.SetAgentStateResult{State: "done", Applied: true, Turn: 3, Pane: "0a"}, got); diff != "" {
		t.Error(diff)
	}
	if method != "POST" || path != "/v1/set-agent-state" || body != `{"state":"done"}` || accept != api.NDJSON {
		t.Errorf("asked %s %s %s, Accept %q", method, path, body, accept)
	}
}

func TestCallWithoutParamsSendsAnObject(t *testing.T) {
	var body string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body = string(data)
		_, _ = io.WriteString(w, `{}`)
	})
	if err := c.Call(t.Context(), "status", nil, nil, nil); err != nil || body != "{}" {
		t.Errorf("sent %q, error %v", body, err)
	}
}

func TestCallGivesTheErrorAsItCame(t *testing.T) {
	c := serve(t, reply(409, "application/json",
		`{"error":{"code":"not_ready","message":"claude works in this tree","hint":{"command":"x --force","available":["00d3"]}}}`))
	err := c.Call(t.Context(), "undo", nil, nil, nil)
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	want := &api.Error{Code: "not_ready", Message: "claude works in this tree", Hint: &api.Hint{Command: "x --force", Available: []string{"00d3"}}}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
}

func TestCallReadsProgress(t *testing.T) {
	c := serve(t, reply(200, api.NDJSON,
		`{"progress":{"what":"writing files","done":1,"total":2}}`+"\n"+`{"progress":{"what":"writing files","done":2,"total":2}}`+"\n"+`{"result":{"pid":7}}`+"\n"))
	var seen []api.Progress
	var got api.StopDaemonResult
	if err := c.Call(t.Context(), "restore-checkpoint", nil, &got, func(p api.Progress) { seen = append(seen, p) }); err != nil {
		t.Fatal(err)
	}
	want := []api.Progress{{What: "writing files", Done: 1, Total: 2}, {What: "writing files", Done: 2, Total: 2}}
	if diff := cmp.Diff(want, seen); diff != "" || got.PID != 7 {
		t.Errorf("result %+v, progress %s", got, diff)
	}
}

func TestCallWithProgressThatFails(t *testing.T) {
	c := serve(t, reply(200, api.NDJSON, `{"progress":{"what":"x","done":1}}`+"\n"+`{"error":{"code":"disk_full","message":"no room"}}`+"\n"))
	err := c.Call(t.Context(), "restore-checkpoint", nil, nil, func(api.Progress) {})
	if e := api.AsError(err); err == nil || e.Code != api.CodeDiskFull {
		t.Errorf("error %v, want disk_full", err)
	}
}

// A daemon that dies in the middle of a call: the caller must not take it for
// one that was never there, since the call may have been carried out.
func TestCallOfADaemonThatDies(t *testing.T) {
	cases := map[string]http.HandlerFunc{
		"before the reply":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"in the reply":          abortAfter("application/json", `{"pid":`),
		"between the lines":     abortAfter(api.NDJSON, `{"progress":{"what":"x","done":1}}`+"\n"),
		"in a line":             abortAfter(api.NDJSON, `{"progress":{"what`),
		"lines without an end":  reply(200, api.NDJSON, `{"progress":{"what":"x","done":1}}`+"\n"),
		"lines without content": reply(200, api.NDJSON, ""),
	}
	for name, handle := range cases {
		t.Run(name, func(t *testing.T) {
			err := serve(t, handle).Call(t.Context(), "undo", nil, &api.RestoreResult{}, func(api.Progress) {})
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.CodeNoDaemon || errors.Is(err, api.ErrNotListening) {
				t.Fatalf("error %v, want no_daemon", err)
			}
			if e.Hint == nil || !strings.Contains(e.Hint.Detail, "not known") {
				t.Errorf("hint %+v does not tell that the outcome is not known", e.Hint)
			}
		})
	}
}

func abortAfter(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestCallOfADaemonThatIsStopping(t *testing.T) {
	c := serve(t, reply(503, "application/json", `{"error":{"code":"no_daemon","message":"the daemon is stopping"}}`))
	if err := c.Call(t.Context(), "undo", nil, nil, nil); !errors.Is(err, api.ErrNotListening) {
		t.Errorf("error %v, want ErrNotListening", err)
	}
}

func TestCallOfSomethingElse(t *testing.T) {
	c := serve(t, reply(418, "text/plain", "teapot"))
	if e := api.AsError(c.Call(t.Context(), "undo", nil, nil, nil)); e == nil || e.Code != api.CodeInternal {
		t.Errorf("error %v, want internal", e)
	}
	c = serve(t, reply(200, "text/plain", "teapot"))
	if e := api.AsError(c.Call(t.Context(), "undo", nil, &api.RestoreResult{}, nil)); e == nil || e.Code != api.CodeInternal {
		t.Errorf("error %v, want internal", e)
	}
}

func TestCallWhereNobodyListens(t *testing.T) {
	s := api.Socket{Path: filepath.Join(shortDir(t), "s"), UID: os.Getuid()}
	if err := api.NewClient(s).Call(t.Context(), "status", nil, nil, nil); !errors.Is(err, api.ErrNotListening) {
		t.Errorf("error %v, want ErrNotListening", err)
	}
}

func TestCallOfASocketThatIsNotTrusted(t *testing.T) {
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s := api.Socket{Path: filepath.Join(dir, "s"), UID: os.Getuid()}
	err := api.NewClient(s).Call(t.Context(), "status", nil, nil, nil)
	if e := api.AsError(err); !errors.Is(err, api.ErrUnreachable) || e.Code != api.CodeNoDaemon {
		t.Errorf("error %v, want ErrUnreachable", err)
	}
}

func TestCallThatIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	c := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Call(ctx, "status", nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestCallRefusesParametersThatAreTooLarge(t *testing.T) {
	c := serve(t, reply(200, "application/json", "{}"))
	err := c.Call(t.Context(), "agent-report", api.AgentReport{Prompt: strings.Repeat("x", api.MaxBody)}, nil, nil)
	if e := api.AsError(err); err == nil || e.Code != api.CodeInvalidParams {
		t.Errorf("error %v, want invalid_params", err)
	}
}

func TestEvents(t *testing.T) {
	c := serve(t, reply(200, "text/event-stream",
		": hello\n\nevent: state\ndata: {\"type\":\"state\",\"state\":\"done\",\"at\":\"2026-01-02T03:04:05Z\"}\n\n"+
			"event: dropped\ndata: {\"type\":\"dropped\",\"count\":3,\"at\":\"2026-01-02T03:04:05Z\"}\n\n"))
	var got []string
	err := c.Events(t.Context(), func(e api.Event) error {
		got = append(got, e.Type+" "+e.State+" "+itoa(e.Count))
		return nil
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want io.EOF at the daemon's end", err)
	}
	if diff := cmp.Diff([]string{"state done 0", "dropped  3"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventsEndWithTheReader(t *testing.T) {
	c := serve(t, reply(200, "text/event-stream", "data: {\"type\":\"state\"}\n\ndata: {\"type\":\"state\"}\n\n"))
	enough := errors.New("enough")
	n := 0
	err := c.Events(t.Context(), func(api.Event) error { n++; return enough })
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("error %v after %d events", err, n)
	}
}

func TestEventsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	stream, err := c.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	cancel()
	if _, err := stream.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestEventsThatAreRefused(t *testing.T) {
	c := serve(t, reply(403, "application/json", `{"error":{"code":"forbidden","message":"no"}}`))
	_, err := c.Subscribe(t.Context())
	if e := api.AsError(err); err == nil || e.Code != api.CodeForbidden {
		t.Errorf("error %v, want forbidden", err)
	}
}
