package registry

import (
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/agentstate"
)

var (
	tmux3 = []string{"tmux:/tmp/tmux-0/default,%3", "tty:/dev/pts/3@boot:100"}
	tmux4 = []string{"tmux:/tmp/tmux-0/default,%4", "tty:/dev/pts/4@boot:200"}
)

const tree = "/home/u/src/api"

func minute(n int) time.Time { return time.Date(2026, 11, 29, 14, n, 0, 0, time.UTC) }

func nobody(Process) bool { return false }

func everybody(Process) bool { return true }

func seen(keys []string, session string, pid int) Sighting {
	s := Sighting{Worktree: tree, CommonDir: tree + "/.git", Keys: keys, Agent: "claude", AgentSession: session}
	if pid != 0 {
		s.Process = Process{PID: pid, Started: "boot:1"}
	}
	return s
}

// with returns a registry with a window for each sighting, as a tracker makes
// them.
func with(t *testing.T, sightings ...Sighting) (*Registry, []Window) {
	t.Helper()
	r := New(Process{PID: 1, Started: "boot:0"})
	var made []Window
	for i, s := range sightings {
		w := r.Make(s, s.Key(), "api", s.Agent)
		w.LastActive = minute(i)
		made = append(made, r.Put(w))
	}
	return r, made
}

func TestFind(t *testing.T) {
	tests := []struct {
		name  string
		have  []Sighting
		seen  Sighting
		alive func(Process) bool
		want  int // index of have; -1: none
	}{
		{"the same terminal", []Sighting{seen(tmux3, "s1", 0)}, seen(tmux3, "s1", 0), nobody, 0},
		{"a new session in the same terminal", []Sighting{seen(tmux3, "s1", 7)}, seen(tmux3, "s2", 7), everybody, 0},
		{"another terminal", []Sighting{seen(tmux3, "s1", 0)}, seen(tmux4, "s2", 0), nobody, -1},
		{"another work tree", []Sighting{{Worktree: "/other", Keys: tmux3, Agent: "claude"}}, seen(tmux3, "s1", 0), nobody, -1},
		{"a session that moved", []Sighting{seen(tmux3, "s1", 7)}, seen(tmux4, "s1", 8), nobody, 0},
		{
			"a session that moved to a terminal with a window of its own",
			[]Sighting{seen(tmux3, "s1", 7), seen(tmux4, "s2", 8)},
			seen(tmux4, "s1", 9), nobody, 0,
		},
		{
			"one session in two terminals at once: the terminal decides",
			[]Sighting{seen(tmux3, "s1", 7), seen(tmux4, "s1", 8)},
			seen(tmux4, "s1", 8), everybody, 1,
		},
		{
			"a session that also runs elsewhere, in a terminal without a window",
			[]Sighting{seen(tmux3, "s1", 7)},
			seen(tmux4, "s1", 8), everybody, -1,
		},
		{"the same process without a terminal, after its session was cleared", []Sighting{seen(nil, "s1", 7)}, seen(nil, "s2", 7), everybody, 0},
		{"a session without a terminal", []Sighting{seen(nil, "s1", 7)}, seen(nil, "s1", 8), nobody, 0},
		{"another session without a terminal", []Sighting{seen(nil, "s1", 7)}, seen(nil, "s2", 8), nobody, -1},
		{"a hook that does not see the multiplexer", []Sighting{seen(tmux3, "", 0)}, seen(tmux3[1:], "", 0), nobody, 0},
		{"a window that was made without the multiplexer", []Sighting{seen(tmux3[1:], "", 0)}, seen(tmux3, "", 0), nobody, 0},
		{
			"panes of a multiplexer inherit the outer terminal's key",
			[]Sighting{seen([]string{"tmux:a,%1", "wezterm:7", "tty:1"}, "", 0)},
			seen([]string{"tmux:a,%2", "wezterm:7", "tty:2"}, "", 0), nobody, -1,
		},
		{
			"a terminal is not the multiplexer's pane inside it",
			[]Sighting{seen([]string{"wezterm:7", "tty:1"}, "", 0)},
			seen([]string{"tmux:a,%2", "wezterm:7", "tty:2"}, "", 0), nobody, -1,
		},
		{"a terminal device that is used again", []Sighting{seen([]string{"tty:/dev/pts/3@b:1"}, "", 0)}, seen([]string{"tty:/dev/pts/3@b:2"}, "", 0), nobody, -1},
		{"nothing but the work tree", []Sighting{{Worktree: tree}}, Sighting{Worktree: tree}, nobody, 0},
		{"nothing known, but a terminal's window there", []Sighting{seen(tmux3, "s1", 7)}, Sighting{Worktree: tree}, nobody, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, made := with(t, tt.have...)
			got, ok := r.Find(tt.seen, tt.alive)
			if ok != (tt.want >= 0) {
				t.Fatalf("found = %v (%+v)", ok, got)
			}
			if ok && got.ID != made[tt.want].ID {
				t.Errorf("found window %s, want %s", got.Name, made[tt.want].Name)
			}
		})
	}
}

func TestPutTakesTheTerminalFromTheWindowBefore(t *testing.T) {
	r, made := with(t, seen(tmux3, "s1", 7), seen(tmux4, "s2", 8))
	moved := made[0]
	moved.Keys = tmux4
	r.Put(moved)
	if w, ok := r.Find(seen(tmux4, "s3", 0), nobody); !ok || w.ID != moved.ID {
		t.Errorf("the terminal is known as %q's", w.Name)
	}
}

func TestWhoOwnsAWindow(t *testing.T) {
	r, made := with(t, seen(tmux3, "s1", 7))
	theirs := made[0]
	theirs.Owner = Process{PID: 2}
	if !r.Owned(made[0]) || r.Owned(theirs) || !r.Owned(r.Put(theirs)) {
		t.Error("a window is owned by whoever put it last, and by nobody else")
	}
}

func TestOpenTurnFollowsASessionIntoAnotherWorkTree(t *testing.T) {
	r, made := with(t, seen(tmux3, "s1", 7))
	if _, ok := r.OpenTurn("claude", "s1"); ok {
		t.Error("found a window without an open turn")
	}
	w := made[0]
	w.Machine = agentstate.Machine{Turn: 1, TurnOpen: true}
	r.Put(w)
	if got, ok := r.OpenTurn("claude", "s1"); !ok || got.ID != w.ID {
		t.Errorf("found %+v, %v", got, ok)
	}
	if _, ok := r.OpenTurn("codex", "s1"); ok {
		t.Error("found another agent's turn")
	}
}

func TestNames(t *testing.T) {
	r, made := with(t, seen(tmux3, "s1", 0), seen(tmux4, "s2", 0), seen(nil, "s3", 0))
	var names []string
	for _, w := range made {
		names = append(names, w.Name)
	}
	if got := strings.Join(names, " "); got != "claude claude-2 claude-3" {
		t.Errorf("names: %s", got)
	}
	gone := made[1]
	gone.Gone = true
	r.Put(gone)
	if w := r.Make(seen(nil, "s4", 0), "session:claude:s4", "api", "claude"); w.Name != "claude-2" {
		t.Errorf("the name of a window that has gone is not given again, but %s", w.Name)
	}
}

func TestSessionName(t *testing.T) {
	tests := []struct {
		root, common, branch string
		linked               bool
		want                 string
	}{
		{"/src/api", "/src/api/.git", "main", false, "api"},
		{"/wt/api/feat-retry", "/src/api/.git", "feat/retry", true, "api-feat-retry"},
		{"/wt/x", "/srv/api.git", "fix", true, "api-fix"},
		{"/wt/x", "/src/api/.git", "", true, "x"},
	}
	for _, tt := range tests {
		if got := SessionName(tt.root, tt.common, tt.branch, tt.linked); got != tt.want {
			t.Errorf("SessionName(%s, %s, %s) = %s, want %s", tt.root, tt.common, tt.branch, got, tt.want)
		}
	}
}

func TestIDsAreTheSameEverywhere(t *testing.T) {
	never := func(string) bool { return false }
	id := MakeID(tmux3[0], tree, never)
	if len(id) != 8 || id != MakeID(tmux3[0], tree, never) {
		t.Errorf("id %q", id)
	}
	if id == MakeID(tmux4[0], tree, never) || id == MakeID(tmux3[0], "/other", never) {
		t.Error("another terminal or work tree has the same id")
	}
	longer := MakeID(tmux3[0], tree, func(got string) bool { return got == id })
	if len(longer) != 9 || !strings.HasPrefix(longer, id) {
		t.Errorf("on a clash the id is %q", longer)
	}
	if got := MakeID("session:claude:s1", tree, never); got != MakeID(SessionKey("claude", "s1"), tree, never) {
		t.Errorf("the session's key makes %s", got)
	}
}

func TestMakeTakesMoreDigitsOnAClash(t *testing.T) {
	r, made := with(t, seen(tmux3, "s1", 0))
	squatter := made[0]
	r.Remove(squatter.ID)
	squatter.Key = "tmux:other"
	r.Put(squatter)
	if w := r.Make(seen(tmux3, "s1", 0), tmux3[0], "api", "claude"); w.ID == squatter.ID || len(w.ID) != 9 {
		t.Errorf("made %s beside %s", w.ID, squatter.ID)
	}
}

func TestExpire(t *testing.T) {
	r, made := with(t, seen(tmux3, "s1", 0), seen(tmux4, "s2", 0), seen(nil, "s3", 0))
	open := made[0]
	open.TurnOpen = true
	r.Put(open)
	expired := r.Expire(minute(2))
	if len(expired) != 1 || expired[0].ID != made[1].ID || len(r.Windows()) != 2 {
		t.Errorf("expired %+v", expired)
	}
}

func TestMidTurn(t *testing.T) {
	w := Window{AgentPID: 7, Machine: agentstate.Machine{State: agentstate.Unknown, TurnOpen: true}}
	if !w.MidTurn(everybody) || w.MidTurn(nobody) {
		t.Error("unknown with an open turn is mid-turn exactly while the agent lives")
	}
	w.TurnOpen = false
	if w.MidTurn(everybody) {
		t.Error("unknown without an open turn is not mid-turn")
	}
	w.TurnOpen, w.AgentPID = true, 0
	if w.MidTurn(everybody) {
		t.Error("unknown without a known agent process is not mid-turn")
	}
	for state, want := range map[agentstate.State]bool{
		agentstate.Working: true, agentstate.NeedsInput: true,
		agentstate.Done: false, agentstate.Idle: false, agentstate.Errored: false, agentstate.None: false, "": false,
	} {
		if got := (Window{Machine: agentstate.Machine{State: state}}).MidTurn(nobody); got != want {
			t.Errorf("%q: mid-turn = %v", state, got)
		}
	}
}

func TestSameProcess(t *testing.T) {
	p := Process{PID: 7, Started: "boot:1"}
	for _, q := range []Process{p, {PID: 7}} {
		if !p.Same(q) || !q.Same(p) {
			t.Errorf("%+v and %+v are not one process", p, q)
		}
	}
	for _, q := range []Process{{PID: 7, Started: "boot:2"}, {PID: 8, Started: "boot:1"}, {PID: 8}, {}} {
		if p.Same(q) || q.Same(p) {
			t.Errorf("%+v and %+v are one process", p, q)
		}
	}
	if (Process{}).Same(Process{}) {
		t.Error("two processes that are not known are one")
	}
}
