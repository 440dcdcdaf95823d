package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/connect"
	"github.com/turnback/turnback/internal/verbs"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// house is one user's environment, with folders and a socket of its own.
type house struct {
	t   *testing.T
	dir string
	env []string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir, err := os.MkdirTemp("", "tb") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	env := []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "PATH=/usr/bin:/bin"}
	return &house{t: t, dir: dir, env: env}
}

// options are those of a command that may start this test's own daemon.
func (h *house) options() connect.Options {
	h.t.Helper()
	program, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	return connect.Options{Environ: h.env, UID: os.Getuid(), Executable: program, StartWait: patience}
}

func (h *house) caller(o connect.Options) connect.Caller {
	h.t.Helper()
	c, err := connect.Connect(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *house) socket() api.Socket {
	return api.Socket{Path: filepath.Join(h.dir, "turnback", api.SocketName), Own: true, UID: os.Getuid()}
}

type echoParams struct {
	Text string `json:"text"`
}

type echoResult struct {
	Text string `json:"text"`
	At   string `json:"at"`
}

// local is a table with one verb, as the verbs about checkpoints are.
func local(context.Context) (*verbs.Table, error) {
	return verbs.NewTable(echoVerb("here"))
}

func echoVerb(at string) verbs.Verb {
	return verbs.Verb{
		Name: "echo", Grant: verbs.GrantRead, Summary: "Give the text back.",
		Params: func() any { return &echoParams{} },
		Run: func(_ context.Context, c verbs.Call) (any, error) {
			text := c.Params.(*echoParams).Text
			if text == "" {
				return nil, api.Errorf(api.CodeNotReady, "no text").WithHint(api.Hint{Command: "more"})
			}
			c.Progress(api.Progress{What: "echoing", Done: 1})
			return echoResult{Text: text, At: at}, nil
		},
	}
}

func noDaemon(t *testing.T, err error) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeNoDaemon {
		t.Fatalf("error %v, want no_daemon", err)
	}
	if e.Hint == nil {
		t.Errorf("%q comes without a hint", e.Message)
	}
	return e
}

func TestNoDaemonByEnvironment(t *testing.T) {
	h := newHouse(t)
	h.env = append(h.env, "TURNBACK_NO_DAEMON=1")
	o := h.options()
	o.Local = local
	c := h.caller(o)
	var got echoResult
	var notes []api.Progress
	err := c.Call(t.Context(), "echo", echoParams{Text: "hello"}, &got, func(p api.Progress) { notes = append(notes, p) })
	if err != nil || got != (echoResult{"hello", "here"}) || len(notes) != 1 {
		t.Errorf("result %+v, notes %v, error %v", got, notes, err)
	}
	e := noDaemon(t, c.Call(t.Context(), "set-agent-state", nil, nil, nil))
	if !strings.Contains(e.Message, "TURNBACK_NO_DAEMON") || e.Hint.Param != "TURNBACK_NO_DAEMON" {
		t.Errorf("error %q, hint %+v", e.Message, e.Hint)
	}
	if err := connect.Start(t.Context(), o); err == nil {
		t.Error("Start started a daemon")
	}
	if _, err := os.Stat(h.socket().Dir()); err == nil {
		t.Error("a folder for the socket was made")
	}
}

func TestLocalCallsAreAsStrictAsRemoteOnes(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	o.NoStart, o.Local = true, local
	c := h.caller(o)
	err := c.Call(t.Context(), "echo", map[string]string{"txet": "x"}, nil, nil)
	if e := api.AsError(err); err == nil || e.Code != api.CodeInvalidParams || e.Hint.DidYouMean != "text" {
		t.Errorf("error %v", err)
	}
	err = c.Call(t.Context(), "echo", echoParams{}, nil, nil)
	if e := api.AsError(err); err == nil || e.Code != api.CodeNotReady || e.Hint.Command != "more" {
		t.Errorf("error %v", err)
	}
	var raw json.RawMessage
	if err := c.Call(t.Context(), "echo", echoParams{Text: "x"}, &raw, nil); err != nil || string(raw) != `{"text":"x","at":"here"}` {
		t.Errorf("raw result %s, error %v", raw, err)
	}
}

func TestLocalTableIsMadeOnceAndOnlyWhenNeeded(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	o.NoStart = true
	made := 0
	broken := errors.New("no git")
	o.Local = func(ctx context.Context) (*verbs.Table, error) {
		made++
		if made == 1 {
			return nil, broken
		}
		return local(ctx)
	}
	c := h.caller(o)
	if made != 0 {
		t.Error("made before any call")
	}
	err := c.Call(t.Context(), "echo", echoParams{Text: "x"}, nil, nil)
	if e := api.AsError(err); err == nil || e.Message != "no git" {
		t.Errorf("error %v, want the table's", err)
	}
	for range 2 {
		if err := c.Call(t.Context(), "echo", echoParams{Text: "x"}, nil, nil); err != nil {
			t.Error(err)
		}
	}
	if made != 2 {
		t.Errorf("made %d times, want once after the failure", made)
	}
}

func TestNoStartStartsNone(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	o.NoStart = true
	e := noDaemon(t, h.caller(o).Call(t.Context(), "status", nil, nil, nil))
	if e.Message != "no daemon is running" || e.Hint.Command != "turnback daemon start" {
		t.Errorf("error %q, hint %+v", e.Message, e.Hint)
	}
	if _, err := connect.Stop(t.Context(), o); noDaemon(t, err).Message != "no daemon is running" {
		t.Errorf("Stop: %v", err)
	}
	noDaemon(t, connect.Events(t.Context(), o, func(api.Event) error { return nil }))
	if _, err := os.Stat(h.socket().Dir()); err == nil {
		t.Error("a folder for the socket was made")
	}
}

// A socket that cannot be trusted or has no possible path: nothing is started,
// and what needs no daemon runs here.
func TestUnusableSocket(t *testing.T) {
	open := newHouse(t)
	if err := os.MkdirAll(open.socket().Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open.socket().Dir(), 0o777); err != nil {
		t.Fatal(err)
	}
	long := newHouse(t)
	long.env = append(long.env, "TURNBACK_SOCKET=/"+strings.Repeat("x", 200))
	relative := newHouse(t)
	relative.env = append(relative.env, "TURNBACK_SOCKET=s.sock")
	cases := []struct {
		house *house
		want  string
	}{{open, "is open to other users"}, {long, "the socket's path has 201 bytes"}, {relative, "TURNBACK_SOCKET is not an absolute path"}}
	for _, c := range cases {
		o := c.house.options()
		o.Local = local
		caller := c.house.caller(o)
		if e := noDaemon(t, caller.Call(t.Context(), "status", nil, nil, nil)); !strings.Contains(e.Message, c.want) {
			t.Errorf("error %q, want %q", e.Message, c.want)
		}
		if err := caller.Call(t.Context(), "echo", echoParams{Text: "x"}, nil, nil); err != nil {
			t.Errorf("%s: the local verb: %v", c.want, err)
		}
		if e := noDaemon(t, connect.Events(t.Context(), o, func(api.Event) error { return nil })); !strings.Contains(e.Message, c.want) {
			t.Errorf("Events: %q, want %q", e.Message, c.want)
		}
	}
}
