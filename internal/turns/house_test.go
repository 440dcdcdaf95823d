package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore keeps checkpoints in memory. What is on its disk is one word.
type fakeStore struct {
	mu       sync.Mutex
	busy     bool
	overlap  bool // two calls ran at the same time
	disk     string
	newest   string // tree of the newest checkpoint by any pane
	last     map[string]checkpoint.Checkpoint
	begins   []checkpoint.BeginRequest
	saves    []checkpoint.SaveRequest
	late     []bool // what each save request said when it was written
	notes    []checkpoint.NotSaved
	calls    []string             // begin and save requests in order, as words
	hold     chan struct{}        // when set, each call takes an element before it goes on
	left     []checkpoint.LeftOut // what changed beside the tree
	slow     time.Duration        // how long each call takes
	together int                  // what an unchanged save says
	fail     map[string]error     // by "begin", "save", "note", "highest"
	highest  map[string]int       // by pane
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		disk: "tree0", newest: "tree0", last: map[string]checkpoint.Checkpoint{}, fail: map[string]error{}, highest: map[string]int{},
	}
}

func (s *fakeStore) enter(ctx context.Context, call string) error {
	s.mu.Lock()
	s.overlap = s.overlap || s.busy
	s.busy = true
	s.calls = append(s.calls, call)
	hold, slow := s.hold, s.slow
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	}()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
		}
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func (s *fakeStore) Begin(ctx context.Context, r checkpoint.BeginRequest) (checkpoint.BeginResult, error) {
	if err := s.enter(ctx, fmt.Sprintf("begin %s %d", r.Pane.Window, r.Turn)); err != nil {
		return checkpoint.BeginResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begins = append(s.begins, r)
	if err := s.fail["begin"]; err != nil {
		return checkpoint.BeginResult{}, err
	}
	result := checkpoint.BeginResult{Base: checkpoint.Base{Tree: s.disk, Name: "base of " + s.disk}}
	if r.SaveStart && s.disk != s.newest {
		c := s.add(checkpoint.KindStart, r.Pane, r.Turn, "", "edits")
		result.Start = &c
	}
	return result, nil
}

func (s *fakeStore) Save(ctx context.Context, r checkpoint.SaveRequest) (checkpoint.SaveResult, error) {
	if err := s.enter(ctx, fmt.Sprintf("save %s %d %s", r.Pane.Window, r.Turn, r.State)); err != nil {
		return checkpoint.SaveResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves = append(s.saves, r)
	s.late = append(s.late, r.LetGo != nil && !r.LetGo().IsZero())
	if err := s.fail["save"]; err != nil {
		return checkpoint.SaveResult{}, err
	}
	last := s.last[r.Pane.ID]
	same := last.Kind == r.Kind && last.Turn == r.Turn && last.Tree == s.disk
	if same || r.Base != nil && r.Base.Tree == s.disk {
		return checkpoint.SaveResult{Tree: s.disk, NotCovered: s.left, Together: s.together}, nil
	}
	c := s.add(r.Kind, r.Pane, r.Turn, r.State, r.Label)
	return checkpoint.SaveResult{Checkpoint: &c, Tree: s.disk}, nil
}

func (s *fakeStore) add(kind checkpoint.Kind, pane checkpoint.Pane, turn int, state, label string) checkpoint.Checkpoint {
	c := checkpoint.Checkpoint{
		N: s.last[pane.ID].N + 1, Tree: s.disk, Kind: kind, Pane: pane, Turn: turn, State: state, Label: label,
	}
	s.last[pane.ID], s.newest = c, s.disk
	return c
}

func (s *fakeStore) NoteNotSaved(_ context.Context, _ checkpoint.Pane, n checkpoint.NotSaved) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fail["note"]; err != nil {
		return err
	}
	s.notes = append(s.notes, n)
	return nil
}

func (s *fakeStore) HighestTurn(_ context.Context, pane string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.highest[pane], s.fail["highest"]
}

func (s *fakeStore) edit(tree string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk = tree
}

func (s *fakeStore) failing(call string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[call] = err
}

// set changes how the store behaves.
func (s *fakeStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// saved are the save requests so far.
func (s *fakeStore) saved() []checkpoint.SaveRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.saves)
}

// noted are the turns that were noted as not saved.
func (s *fakeStore) noted() []checkpoint.NotSaved {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// lastBegin is the newest begin request.
func (s *fakeStore) lastBegin() checkpoint.BeginRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begins[len(s.begins)-1]
}

// takes makes each call from now on take this long.
func (s *fakeStore) takes(d time.Duration) {
	s.set(func() { s.slow = d })
}

func (s *fakeStore) did() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, ", ")
}

// house is a Tracker with everything around it: repositories, processes,
// transcripts.
type house struct {
	t     *testing.T
	dir   string
	state string

	mu          *sync.Mutex // shared by the daemons of one house
	self        registry.Process
	roots       map[string]WorktreeInfo // by root
	findErr     error
	finds       int
	stores      map[string]*fakeStore // by root
	openErr     error
	living      map[int]bool
	interrupted map[string]bool // by transcript
	settings    Settings
	events      []api.Event
	problems    []error

	tracker *Tracker
}

// newHouse has one repository "api" and a daemon that follows nothing yet.
func newHouse(t *testing.T) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{
		t: t, mu: &sync.Mutex{}, dir: dir, state: filepath.Join(dir, "state", "state.json"), self: registry.Process{PID: 1, Started: "boot:1"},
		roots: map[string]WorktreeInfo{}, stores: map[string]*fakeStore{}, living: map[int]bool{},
		interrupted: map[string]bool{}, settings: Settings{Enabled: true, AtTurnStart: true},
	}
	h.repo("api")
	h.start()
	return h
}

// repo makes a repository with this name and returns its root.
func (h *house) repo(name string) string {
	root := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Join(root, ".git"), 0o700); err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.roots[root] = WorktreeInfo{Root: root, CommonDir: filepath.Join(root, ".git"), GitDir: filepath.Join(root, ".git"), Branch: "main"}
	h.stores[root] = newFakeStore()
	return root
}

// start starts a daemon that takes up what the one before left.
func (h *house) start() *Tracker {
	h.t.Helper()
	h.tracker = New(h.options())
	if err := h.tracker.Recover(h.t.Context()); err != nil {
		h.t.Errorf("recover: %v", err)
	}
	h.t.Cleanup(h.stop)
	return h.tracker
}

func (h *house) options() Options {
	return Options{
		Registry: registry.New(h.self), StateFile: h.state,
		Open:        h.open,
		Find:        h.find,
		Alive:       h.alive,
		Transcripts: h,
		Settings: func() Settings {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.settings
		},
		Now: time.Now,
		Emit: func(e api.Event) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, e)
		},
		Problem: func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.problems = append(h.problems, err)
		},
	}
}

// stop stops the daemon.
func (h *house) stop() {
	if h.tracker == nil {
		return
	}
	if err := h.tracker.Close(context.Background()); err != nil {
		h.t.Errorf("close: %v", err)
	}
	h.tracker = nil
}

// kill ends the daemon without a word: what it has in memory is lost.
func (h *house) kill() {
	h.tracker.giveUp()
	h.tracker.workers.Wait()
	h.tracker = nil
}

func (h *house) open(_ context.Context, root string) (Store, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.openErr != nil {
		return nil, h.openErr
	}
	return h.stores[root], nil
}

func (h *house) find(_ context.Context, dir string) (WorktreeInfo, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.finds++
	if h.findErr != nil {
		return WorktreeInfo{}, h.findErr
	}
	best := WorktreeInfo{}
	for root, info := range h.roots {
		if (dir == root || strings.HasPrefix(dir, root+"/")) && len(root) > len(best.Root) {
			best = info
		}
	}
	if best.Root == "" {
		return best, api.Errorf(api.CodeNotRepo, "not a git work tree: %s", dir)
	}
	return best, nil
}

func (h *house) alive(pid int, _ string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.living[pid]
}

// Place implements Transcripts.
func (h *house) Place(agent, path, before string) string {
	return strings.Join([]string{"now", agent, path, before}, " ")
}

// EndsInInterrupt implements Transcripts.
func (h *house) EndsInInterrupt(_, path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.interrupted[path]
}

// set changes the surroundings.
func (h *house) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *house) root() string { return filepath.Join(h.dir, "api") }

func (h *house) store() *fakeStore {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stores[filepath.Join(h.dir, "api")]
}

// agent is an agent in a terminal.
type agent struct {
	h       *house
	dir     string
	keys    []string
	session string
	pid     int
	script  string // path of its transcript
}

// claude is the agent in terminal number n, with its process alive.
func (h *house) claude(n int) *agent {
	h.set(func() { h.living[100+n] = true })
	script := filepath.Join(h.dir, fmt.Sprintf("t%d.jsonl", n))
	return &agent{h: h, dir: h.root(), keys: []string{fmt.Sprintf("tmux:s,%%%d", n)}, session: fmt.Sprintf("s%d", n), pid: 100 + n, script: script}
}

// sends reports an event of the agent.
func (a *agent) sends(kind api.ReportKind, change ...func(*api.AgentReport)) api.SetAgentStateResult {
	a.h.t.Helper()
	r := api.AgentReport{
		Place: api.Place{Dir: a.dir, TerminalKeys: a.keys}, Agent: "claude", Event: string(kind), Kind: kind,
		SessionID: a.session, AgentPID: a.pid, AgentStarted: fmt.Sprintf("boot:%d", a.pid), Transcript: a.script,
	}
	for _, c := range change {
		c(&r)
	}
	result, err := a.h.tracker.Report(a.h.t.Context(), r)
	if err != nil {
		a.h.t.Errorf("%s: %v", kind, err)
	}
	return result
}

func (a *agent) prompts(id, text string) api.SetAgentStateResult {
	a.h.t.Helper()
	return a.sends(api.ReportPrompt, func(r *api.AgentReport) { r.PromptID, r.Prompt = id, text })
}

func (a *agent) stops() api.SetAgentStateResult {
	a.h.t.Helper()
	return a.sends(api.ReportStop)
}

// writes appends to the agent's transcript.
func (a *agent) writes(line string) {
	a.h.t.Helper()
	f, err := os.OpenFile(a.script, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		a.h.t.Fatal(err)
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		a.h.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		a.h.t.Fatal(err)
	}
}

// window is the window with this name, as list-windows tells it.
func (h *house) window(name string) api.WindowInfo {
	h.t.Helper()
	list, err := h.tracker.Windows(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, w := range list.Windows {
		if w.Name == name {
			return w
		}
	}
	h.t.Fatalf("there is no window %s among %+v", name, list.Windows)
	return api.WindowInfo{}
}

// happened is the events in words, those of type state left out.
func (h *house) happened() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var words []string
	for _, e := range h.events {
		switch e.Type {
		case "state":
		case "turn_ended":
			words = append(words, fmt.Sprintf("%s %d %s", e.Type, e.Turn, e.State))
		default:
			words = append(words, fmt.Sprintf("%s %d", e.Type, e.Turn))
		}
	}
	return strings.Join(words, ", ")
}

func (h *house) noProblems() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.problems) > 0 {
		h.t.Errorf("problems: %v", errors.Join(h.problems...))
	}
}

// records reads what other processes see of the repository's windows.
func (h *house) records() []registry.Window {
	h.t.Helper()
	windows, err := registry.ReadRecords(filepath.Join(h.root(), ".git"))
	if err != nil {
		h.t.Error(err)
	}
	return windows
}

// onDisk is everything that is kept of the windows, as text.
func (h *house) onDisk() string {
	h.t.Helper()
	state, err := os.ReadFile(h.state)
	if err != nil {
		h.t.Fatal(err)
	}
	records, err := json.Marshal(h.records())
	if err != nil {
		h.t.Fatal(err)
	}
	return string(state) + string(records)
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func names(windows []registry.Window) string {
	var out []string
	for _, w := range windows {
		out = append(out, w.Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
