package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/verbs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// fakeTracker stands for package turns.
type fakeTracker struct {
	mu       sync.Mutex
	calls    []string
	windows  []api.WindowInfo
	setState func(context.Context, api.SetAgentStateParams) (api.SetAgentStateResult, error)
	onClose  func(context.Context) error
}

func (f *fakeTracker) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fakeTracker) noted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.calls...)
}

func (f *fakeTracker) Report(_ context.Context, r api.AgentReport) (api.SetAgentStateResult, error) {
	f.note("report %s %s", r.Agent, r.Kind)
	return api.SetAgentStateResult{State: "working", Applied: true}, nil
}

func (f *fakeTracker) SetState(ctx context.Context, p api.SetAgentStateParams) (api.SetAgentStateResult, error) {
	f.note("set %s", p.State)
	if f.setState != nil {
		return f.setState(ctx, p)
	}
	return api.SetAgentStateResult{State: p.State, Applied: true, Turn: 1, Pane: "00d333ce"}, nil
}

func (f *fakeTracker) GetState(_ context.Context, p api.GetAgentStateParams) (api.GetAgentStateResult, error) {
	if p.Window == "none" {
		return api.GetAgentStateResult{}, api.Errorf(api.CodeWindowNotFound, "no window none")
	}
	return api.GetAgentStateResult{State: "working", Source: "report", Turn: 2}, nil
}

func (f *fakeTracker) Windows(context.Context) (api.ListWindowsResult, error) {
	return api.ListWindowsResult{Windows: f.windows}, nil
}

func (f *fakeTracker) Close(ctx context.Context) error {
	f.note("close")
	if f.onClose != nil {
		return f.onClose(ctx)
	}
	return nil
}

// server is a daemon under test.
type server struct {
	t       *testing.T
	options daemon.Options
	daemon  *daemon.Server
	client  *api.Client
	tracker *fakeTracker
	publish func(api.Event)
	extra   []verbs.Verb
	end     context.CancelFunc
	done    chan error
}

// newServer prepares a daemon with its own folders; start runs it.
func newServer(t *testing.T) *server {
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
	s := &server{t: t, tracker: &fakeTracker{}}
	s.options = daemon.Options{
		Version:    "1.2.3",
		Socket:     api.Socket{Path: filepath.Join(dir, "run", "s"), Own: true, UID: os.Getuid()},
		StateDir:   filepath.Join(dir, "state"),
		ConfigPath: filepath.Join(dir, "config.toml"),
		Now:        time.Now,
		StopWithin: patience,
		Tick:       5 * time.Millisecond,
		LockWait:   patience,
	}
	s.options.Build = func(_ context.Context, services daemon.Services) (daemon.Rooms, error) {
		s.publish = services.Publish
		return daemon.Rooms{
			Tracker: s.tracker, Checkpoints: s.extra, StateFile: filepath.Join(services.StateDir, "state.json"),
			Git:    func() api.GitInfo { return api.GitInfo{Path: "/usr/bin/git", Version: "2.39.5"} },
			Saving: func() int { return 4 },
		}, nil
	}
	s.client = api.NewClient(s.options.Socket)
	return s
}

// start runs the daemon and waits until it answers.
func (s *server) start() *server {
	s.t.Helper()
	var err error
	if s.daemon, err = daemon.New(s.options); err != nil {
		s.t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	s.end, s.done = end, make(chan error, 1)
	go func() { s.done <- s.daemon.Run(ctx) }()
	s.t.Cleanup(func() {
		end()
		if s.done != nil {
			s.wait(nil)
		}
	})
	s.until("the daemon answers", func() bool {
		return s.client.Call(context.Background(), "status", nil, nil, nil) == nil
	})
	return s
}

// wait waits for the end of Run and checks its error.
func (s *server) wait(want error) {
	s.t.Helper()
	select {
	case err := <-s.done:
		s.done = nil
		if !errors.Is(err, want) {
			s.t.Errorf("Run: %v, want %v", err, want)
		}
	case <-time.After(2 * patience):
		s.t.Fatal("the daemon does not end")
	}
}

func (s *server) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *server) status() api.StatusResult {
	s.t.Helper()
	var r api.StatusResult
	if err := s.client.Call(s.t.Context(), "status", api.StatusParams{Version: "1.2.3"}, &r, nil); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// block is a verb that tells when it runs and waits to be released.
type block struct {
	began   chan struct{}
	release chan struct{}
}

func newBlock() *block { return &block{began: make(chan struct{}, 8), release: make(chan struct{})} }

func (b *block) verb(name, grant string, after func(context.Context)) verbs.Verb {
	return verbs.Verb{Name: name, Grant: grant, Summary: "Wait.", Run: func(ctx context.Context, _ verbs.Call) (any, error) {
		b.began <- struct{}{}
		select {
		case <-b.release:
		case <-ctx.Done():
		}
		if after != nil {
			after(ctx)
		}
		return struct{}{}, ctx.Err()
	}}
}

func TestRunServesTheRooms(t *testing.T) {
	s := newServer(t).start()
	var set api.SetAgentStateResult
	if err := s.client.Call(t.Context(), "set-agent-state", api.SetAgentStateParams{State: "done"}, &set, nil); err != nil {
		t.Fatal(err)
	}
	if want := (api.SetAgentStateResult{State: "done", Applied: true, Turn: 1, Pane: "00d333ce"}); set != want {
		t.Errorf("set-agent-state: %+v, want %+v", set, want)
	}
	report := api.AgentReport{Agent: "claude", Event: "Stop", Kind: api.ReportStop}
	if err := s.client.Call(t.Context(), "agent-report", report, nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.tracker.noted()); got != "[set done report claude stop]" {
		t.Errorf("the tracker got %s", got)
	}
	err := s.client.Call(t.Context(), "get-agent-state", map[string]string{"window": "none"}, nil, nil)
	if e := api.AsError(err); err == nil || e.Code != api.CodeWindowNotFound {
		t.Errorf("get-agent-state: %v", err)
	}
}

func TestStatus(t *testing.T) {
	s := newServer(t)
	s.tracker.windows = []api.WindowInfo{{ID: "a", TurnOpen: true}, {ID: "b"}, {ID: "c", TurnOpen: true}}
	s.start()
	got := s.status()
	if got.Started.IsZero() || time.Since(got.Started) > time.Minute {
		t.Errorf("started %v", got.Started)
	}
	got.Started = time.Time{}
	want := api.StatusResult{
		Version: "1.2.3", PID: os.Getpid(), Socket: s.options.Socket.Path,
		Git:    api.GitInfo{Path: "/usr/bin/git", Version: "2.39.5"},
		Config: s.options.ConfigPath, Windows: 3, OpenTurns: 2, Saving: 4,
		LogFile: filepath.Join(s.options.StateDir, "daemon.log"), StateFile: filepath.Join(s.options.StateDir, "state.json"),
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("status:\n got %+v\nwant %+v", got, want)
	}
}

func TestStatusWarns(t *testing.T) {
	s := newServer(t).start()
	writeFile(t, s.options.ConfigPath, "git = \"/opt/git\"\n")
	if err := os.RemoveAll(s.options.StateDir); err != nil {
		t.Fatal(err)
	}
	var got api.StatusResult
	if err := s.client.Call(t.Context(), "status", api.StatusParams{Version: "2.0.0"}, &got, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"the daemon is version 1.2.3, this program 2.0.0: run turnback daemon stop, the next command starts the new one",
		"the config names /opt/git as git, the daemon uses /usr/bin/git until it is restarted",
	}
	if fmt.Sprint(got.Warnings) != fmt.Sprint(want) {
		t.Errorf("warnings %q, want %q", got.Warnings, want)
	}
}

func TestStartWithoutAWritableLog(t *testing.T) {
	s := newServer(t)
	if err := os.MkdirAll(daemon.LogPath(s.options.StateDir), 0o700); err != nil { // a folder in its place
		t.Fatal(err)
	}
	s.start()
	if got := s.status().Warnings; len(got) != 1 || got[0][:26] != "the log cannot be written:" {
		t.Errorf("warnings %q", got)
	}
}

func TestConfigIsLive(t *testing.T) {
	s := newServer(t).start()
	events := s.subscribe()
	writeFile(t, s.options.ConfigPath, "[agents.checkpoints]\nkeep = \"x\"\n")
	if e := events.next(); e.Type != "config_broken" || e.Reason == "" || e.At.IsZero() {
		t.Errorf("event %+v, want config_broken", e)
	}
	if got := s.status().ConfigError; got == "" {
		t.Error("status tells of no config error")
	}
	writeFile(t, s.options.ConfigPath, "[agents.checkpoints]\nkeep = 7\n")
	if e := events.next(); e.Type != "config_reloaded" {
		t.Errorf("event %+v, want config_reloaded", e)
	}
	if got := s.status().ConfigError; got != "" {
		t.Errorf("config error %q", got)
	}
}

func TestNewRefuses(t *testing.T) {
	change := func(f func(*daemon.Options)) daemon.Options {
		o := newServer(t).options
		f(&o)
		return o
	}
	cases := map[string]daemon.Options{
		"no clock":             change(func(o *daemon.Options) { o.Now = nil }),
		"relative socket":      change(func(o *daemon.Options) { o.Socket.Path = "s" }),
		"relative state place": change(func(o *daemon.Options) { o.StateDir = "state" }),
	}
	for name, o := range cases {
		if _, err := daemon.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRunTellsWhyItCannotBuild(t *testing.T) {
	s := newServer(t)
	boom := errors.New("boom")
	s.options.Build = func(context.Context, daemon.Services) (daemon.Rooms, error) { return daemon.Rooms{}, boom }
	d, err := daemon.New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); !errors.Is(err, boom) {
		t.Errorf("Run: %v, want boom", err)
	}
	// The lock is free again.
	s.options.Build = newServer(t).options.Build
	s.start()
}

func TestServicesAreWhole(t *testing.T) {
	s := newServer(t)
	build := s.options.Build
	var log *slog.Logger
	s.options.Build = func(ctx context.Context, services daemon.Services) (daemon.Rooms, error) {
		if services.Config().Agents.Checkpoints.Keep != 50 || services.Now == nil || services.StateDir != s.options.StateDir {
			t.Errorf("services %+v", services)
		}
		log = services.Log
		return build(ctx, services)
	}
	s.start()
	log.Info("from a room")
	if got := readFile(t, daemon.LogPath(s.options.StateDir)); !contains(got, `"msg":"from a room"`) {
		t.Errorf("the log holds %s", got)
	}
}
