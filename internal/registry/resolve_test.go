package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
)

func places() []Window {
	return []Window{
		{ID: "00d333ce", Session: "api", Name: "build", Worktree: "/src/api", Keys: tmux3, LastActive: minute(1)},
		{ID: "00d3aaaa", Session: "api", Name: "claude", Worktree: "/src/api", LastActive: minute(3)},
		{ID: "11111111", Session: "web", Name: "claude", Worktree: "/src/web", Keys: tmux4, LastActive: minute(9)},
		{ID: "22222222", Session: "web", Name: "test", Worktree: "/src/web/inner", LastActive: minute(5)},
		{ID: "33333333", Session: "web", Name: "old", Worktree: "/src/web", Gone: true, LastActive: minute(2)},
		{ID: "44444444", Session: "web", Name: "old", Worktree: "/src/web", Gone: true, LastActive: minute(1)},
	}
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name  string
		place api.Place
		tree  string
		write bool
		want  string // id, or the code of the error
	}{
		{name: "the caller's own pane", place: api.Place{PaneID: "11111111", Dir: "/src/api"}, write: true, want: "11111111"},
		{name: "an unknown pane id is no pane", place: api.Place{PaneID: "99999999", Dir: "/src/api"}, write: true, want: "00d3aaaa"},
		{name: "the pane of this terminal", place: api.Place{TerminalKeys: tmux3, Dir: "/src/web"}, write: true, want: "00d333ce"},
		{name: "the newest pane whose work tree holds the directory", place: api.Place{Dir: "/src/api/deep/er"}, write: true, want: "00d3aaaa"},
		{name: "the deepest work tree", place: api.Place{Dir: "/src/web/inner/x"}, write: true, want: "22222222"},
		{name: "a path is held by components", place: api.Place{Dir: "/src/api2"}, write: true, want: "window_not_found"},
		{name: "a folder whose name begins with dots", place: api.Place{Dir: "/src/api/..x"}, write: true, want: "00d3aaaa"},
		{name: "a work tree that is known and has no pane", place: api.Place{Dir: "/src/api/nested"}, tree: "/src/api/nested", write: true, want: "window_not_found"},
		{name: "a read falls back to the newest pane", place: api.Place{Dir: "/elsewhere"}, want: "11111111"},
		{name: "a write does not", place: api.Place{Dir: "/elsewhere"}, write: true, want: "window_not_found"},
		{name: "a write from nowhere", place: api.Place{}, write: true, want: "window_not_found"},
		{name: "a name that is unique among all sessions", place: api.Place{Window: "build", Dir: "/src/web"}, write: true, want: "00d333ce"},
		{name: "a name that is not", place: api.Place{Window: "claude", Dir: "/elsewhere"}, want: "ambiguous_window"},
		{name: "a name that one window of this work tree has", place: api.Place{Window: "claude", Dir: "/src/api"}, write: true, want: "00d3aaaa"},
		{name: "a name in a session", place: api.Place{Session: "web", Window: "claude", Dir: "/src/api"}, write: true, want: "11111111"},
		{name: "a name of another session", place: api.Place{Session: "web", Window: "build"}, want: "window_not_found"},
		{name: "an unknown name", place: api.Place{Window: "biuld"}, want: "window_not_found"},
		{name: "an unknown session", place: api.Place{Session: "apy"}, want: "session_not_found"},
		{name: "a full id", place: api.Place{Window: "22222222"}, write: true, want: "22222222"},
		{name: "a unique beginning of an id", place: api.Place{Window: "1111"}, write: true, want: "11111111"},
		{name: "a beginning that two ids have", place: api.Place{Window: "00d3"}, want: "ambiguous_window"},
		{name: "a beginning that is too short", place: api.Place{Window: "111"}, want: "window_not_found"},
		{name: "of windows that have gone the newest", place: api.Place{Window: "old"}, write: true, want: "33333333"},
		{name: "a session, from its work tree", place: api.Place{Session: "web", Dir: "/src/web"}, write: true, want: "11111111"},
		{name: "a session of several windows, from elsewhere, to read", place: api.Place{Session: "api", Dir: "/elsewhere"}, want: "00d3aaaa"},
		{name: "a session of several windows, from elsewhere, to write", place: api.Place{Session: "api", Dir: "/elsewhere"}, write: true, want: "ambiguous_window"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := places()
			w, err := ResolveIn(before, tt.place, tt.tree, tt.write)
			got := w.ID
			if err != nil {
				got = string(api.AsError(err).Code)
			}
			if got != tt.want {
				t.Errorf("got %s (%v), want %s", got, err, tt.want)
			}
			if !slices.EqualFunc(before, places(), func(a, b Window) bool { return a.ID == b.ID }) {
				t.Error("the list of windows was changed")
			}
		})
	}
}

func TestResolveASessionWithOneWindow(t *testing.T) {
	w, err := Resolve(places()[:1], api.Place{Session: "api", Dir: "/elsewhere"}, true)
	if err != nil || w.ID != "00d333ce" {
		t.Errorf("got %s, %v", w.ID, err)
	}
}

func TestResolveNames(t *testing.T) {
	tests := []struct {
		name      string
		windows   []Window
		place     api.Place
		message   string
		mean      string
		available string
		detail    string
	}{
		{
			"an unknown window", places(),
			api.Place{Window: "biuld"},
			"there is no window biuld", "build", "build claude test old", "",
		},
		{
			"an unknown session", places(),
			api.Place{Session: "wep"},
			"there is no session wep", "web", "api web", "",
		},
		{
			"several of a name", places(),
			api.Place{Window: "claude"},
			"2 windows are named claude", "", "web/claude 11111111 api/claude 00d3aaaa", "name one with -s and -w, or with -w and its id",
		},
		{
			"a write from elsewhere", places()[:2],
			api.Place{Dir: "/elsewhere"},
			"no pane belongs to this terminal or directory", "", "api/claude 00d3aaaa api/build 00d333ce", "name the pane with -w",
		},
		{
			"nothing known", nil,
			api.Place{Dir: "/src/api"},
			"no pane is known yet", "", "", "a pane is known once its agent has reported",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Resolve(tt.windows, tt.place, true)
			if err == nil {
				t.Fatal("no error")
			}
			e := api.AsError(err)
			if e.Message != tt.message {
				t.Errorf("message %q, want %q", e.Message, tt.message)
			}
			if e.Hint.DidYouMean != tt.mean || strings.Join(e.Hint.Available, " ") != tt.available || e.Hint.Detail != tt.detail {
				t.Errorf("hint %+v", e.Hint)
			}
		})
	}
}
