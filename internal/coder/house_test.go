package coder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/coder"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// house is a directory with an agent in it, a scripted model and a daemon that
// notes what it is told.
type house struct {
	t      *testing.T
	dir    string
	data   string
	model  *fakemodel.Chat
	daemon *daemon
	config config.Config
	env    map[string]string
}

func newHouse(t *testing.T, replies ...fakemodel.ChatReply) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	model := fakemodel.StartChat(t, replies...)
	return &house{
		t: t, dir: dir, data: filepath.Join(t.TempDir(), "conversations"), model: model, daemon: &daemon{}, config: config.Default(),
		env: map[string]string{"OPENAI_BASE_URL": model.URL, "PATH": os.Getenv("PATH"), "HOME": dir},
	}
}

func (h *house) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	// Older than what is read at once could be.
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) read(name string) string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// outcome is what a run came to.
type outcome struct {
	out, about string
	err        error
}

// does has the agent do a task, headless, with everything allowed.
func (h *house) does(ctx context.Context, f coder.Flags) outcome {
	h.t.Helper()
	f.Headless = true
	if f.Model == "" {
		f.Model = "openai/test-model"
	}
	var out, about bytes.Buffer
	err := coder.Run(ctx, h.options(f, &out, &about))
	return outcome{out.String(), about.String(), err}
}

func (h *house) options(f coder.Flags, out, about *bytes.Buffer) coder.Options {
	environ := make([]string, 0, len(h.env))
	for name, value := range h.env {
		environ = append(environ, name+"="+value)
	}
	return coder.Options{
		Flags: f, Config: h.config, Out: out, Err: about, Environ: environ, Getenv: func(name string) string { return h.env[name] },
		Dir: h.dir, DataDir: h.data, Shell: "/bin/sh", Now: time.Now, Caller: h.daemon, PID: os.Getpid(),
		Worktree: func(context.Context, string) (string, func(context.Context) ([]string, error)) { return h.dir, nil },
	}
}

// works is does for a task that has to end well and use up the script.
func (h *house) works(f coder.Flags) outcome {
	h.t.Helper()
	f.Yes = true
	got := h.does(h.t.Context(), f)
	if got.err != nil {
		h.t.Fatalf("the agent ended with %v\nit said: %s%s", got.err, got.out, got.about)
	}
	h.sound()
	return got
}

// sound says what is wrong with the requests so far.
func (h *house) sound() {
	h.t.Helper()
	for _, problem := range h.model.Problems() {
		h.t.Error("a request breaks a rule: " + problem)
	}
	if n := h.model.Pending(); n > 0 {
		h.t.Errorf("%d scripted replies were not asked for", n)
	}
}

// last is the newest request.
func (h *house) last() fakemodel.ChatRequest {
	h.t.Helper()
	requests := h.model.Requests()
	if len(requests) == 0 {
		h.t.Fatal("the model was not asked")
	}
	return requests[len(requests)-1]
}

// session is the only session, to be looked at.
func (h *house) session() *session.Session {
	h.t.Helper()
	l := session.Library{Dir: h.data, Now: time.Now}
	infos, err := l.List("")
	if err != nil || len(infos) != 1 {
		h.t.Fatalf("sessions: %v, %v", infos, err)
	}
	s, err := l.Read(infos[0].ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// shape is a history in short: a line for each message, without the system's.
func shape(r fakemodel.ChatRequest) string {
	var lines []string
	for _, m := range r.Messages {
		switch {
		case m.Role == "system":
			continue
		case len(m.Calls) > 0:
			var names []string
			for _, c := range m.Calls {
				names = append(names, c.Function.Name)
			}
			lines = append(lines, strings.TrimSpace(m.Text()+" "+strings.Join(names, "+")))
		default:
			first, _, _ := strings.Cut(m.Text(), "\n")
			lines = append(lines, m.Role+": "+first)
		}
	}
	return strings.Join(lines, "\n")
}

// says is a reply of a text.
func says(text string) fakemodel.ChatReply { return fakemodel.ChatReply{Text: text} }

// calls is a reply of calls: NAME, ARGUMENT, VALUE, ... for each, parted by "".
func calls(words ...string) fakemodel.ChatReply {
	var r fakemodel.ChatReply
	for len(words) > 0 {
		call := fakemodel.ChatCall{Name: words[0], Args: map[string]any{}}
		words = words[1:]
		for len(words) > 0 && words[0] != "" {
			call.Args[words[0]] = words[1]
			words = words[2:]
		}
		if len(words) > 0 {
			words = words[1:]
		}
		r.Calls = append(r.Calls, call)
	}
	return r
}

// daemon notes the reports, and saves and restores in name.
type daemon struct {
	mu      sync.Mutex
	kinds   []string
	reports []api.AgentReport
	verbs   []string
	refuse  error // of restore-checkpoint
	none    bool  // there is no daemon
}

func (d *daemon) Call(_ context.Context, verb string, params, result any, _ func(api.Progress)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.none {
		return api.Errorf(api.CodeNoDaemon, "no daemon is running")
	}
	d.verbs = append(d.verbs, verb)
	switch verb {
	case "agent-report":
		r := params.(api.AgentReport)
		d.kinds, d.reports = append(d.kinds, string(r.Kind)), append(d.reports, r)
	case "save-checkpoint":
		return reply(result, api.SaveCheckpointResult{Checkpoint: api.Checkpoint{N: 7}})
	case "checkpoint-diff":
		return reply(result, api.CheckpointDiffResult{Files: []api.FileDiff{{Path: "a.go"}, {Path: "b.go"}}})
	case "restore-checkpoint":
		return d.refuse
	}
	return nil
}

func reply(result, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

// rest is how the turns ended.
func (d *daemon) rest() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var kinds []string
	for _, k := range d.kinds {
		switch api.ReportKind(k) {
		case api.ReportPrompt, api.ReportStop, api.ReportAborted, api.ReportFailed, api.ReportSessionStart, api.ReportSessionEnd:
			kinds = append(kinds, k)
		}
	}
	return strings.Join(kinds, " ")
}

func number(t *testing.T, raw json.RawMessage, name string) int {
	t.Helper()
	var fields map[string]float64
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	return int(fields[name])
}

// holds opens a session, as another agent would.
func (h *house) holds(id string) *session.Session {
	h.t.Helper()
	l := session.Library{Dir: h.data, Now: time.Now}
	s, err := l.Open(id)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}
