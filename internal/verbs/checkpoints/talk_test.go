package checkpoints

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/back"
	"github.com/turnback/turnback/internal/conversations/both"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// oneWindow is the only window that there is.
type oneWindow struct{ registry.Window }

func (w oneWindow) Resolve(context.Context, api.Place, bool) (registry.Window, error) {
	return w.Window, nil
}

func (w oneWindow) Ensure(context.Context, api.Place, string) (registry.Window, error) {
	return w.Window, nil
}
func (oneWindow) Tell(context.Context, string, string) error              { return nil }
func (oneWindow) Busy(context.Context, string) ([]registry.Window, error) { return nil, nil }

// failing is a conversation that cannot be put back when its time comes.
type failing struct{ closed *int }

var errNoRoom = errors.New("no room for the transcript")

func (failing) Mark() back.Mark                     { return back.Mark{} }
func (failing) Take() (api.ConversationBack, error) { return api.ConversationBack{}, errNoRoom }
func (f failing) Close() error                      { *f.closed++; return nil }

// asked is the one way that there is, and the place that it was asked for.
type asked struct {
	back.Ways
	back.Way
	place *back.Place
}

func (a asked) Prepare(p back.Place) (back.Way, error) {
	*a.place = p
	return a.Way, nil
}

// TestBothHalvesOrNone has the conversation fail when the files are back already.
func TestBothHalvesOrNone(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "0\n"})
	store, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: r.Root, Env: r.Env()})
	if err != nil {
		t.Fatal(err)
	}
	w := registry.Window{ID: "aaaaaaaa", Session: "api", Name: "claude", Worktree: store.Worktree(), CommonDir: store.CommonDir()}
	pane := found{window: w}.pane()
	for i, text := range []string{"1\n", "2\n"} {
		r.Write("a", text)
		if i == 0 {
			r.Write("b", "only here\n")
		} else {
			r.Remove("b")
		}
		_, err := store.Save(t.Context(), checkpoint.SaveRequest{
			Pane: pane, Turn: i + 1, Kind: checkpoint.KindTurn, State: "done", Agent: "claude", AgentSession: "5f2c", Transcript: "here",
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	before, closed := r.Tree(), 0
	var place back.Place
	c := &checkpoints{Deps{
		Panes: oneWindow{w}, Open: func(context.Context, string) (*checkpoint.Store, error) { return store, nil },
		Back: asked{Way: failing{&closed}, place: &place}, Halves: both.Shelf{Dir: t.TempDir(), Now: time.Now},
	}}
	quiet := func(api.Progress) {}
	_, err = c.restore(t.Context(), api.RestoreCheckpointParams{N: 1, Conversation: true}, quiet)
	if !errors.Is(err, errNoRoom) && (err == nil || !strings.Contains(err.Error(), errNoRoom.Error())) {
		t.Errorf("restore: %v", err)
	}
	if want := (back.Place{N: 1, Agent: "claude", Session: "5f2c", At: "here"}); place != want {
		t.Errorf("asked for %+v, want %+v", place, want)
	}
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		t.Errorf("the files are not as they were:\n%s", diff)
	}
	if closed != 1 {
		t.Errorf("the conversation was let go %d times", closed)
	}
	if _, err := c.restore(t.Context(), api.RestoreCheckpointParams{N: 1}, quiet); err != nil {
		t.Errorf("the files alone: %v", err)
	}
}
