package checkpoints

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// TestOpenTurnsComeFromTheRecords has a window mid-turn with a save due of the turn
// before, one at rest, and one of another work tree.
func TestOpenTurnsComeFromTheRecords(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	store, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: r.Root, Env: r.Env()})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	window := func(id string, change func(*registry.Window)) {
		w := registry.Window{ID: id, Session: "api", Name: id, Worktree: store.Worktree(), CommonDir: store.CommonDir()}
		change(&w)
		if err := registry.WriteRecord(w); err != nil {
			t.Fatal(err)
		}
	}
	base := &registry.Base{Tree: "t", At: at}
	window("aaaaaaaa", func(w *registry.Window) {
		w.Turn, w.TurnOpen, w.Base, w.Named, w.With = 3, true, base, []string{"x"}, []registry.TurnID{{Pane: "bbbbbbbb", Turn: 1}}
		w.Due = []registry.Due{{Turn: 2, Named: []string{"y"}}, {Turn: 3, Start: true}, {Turn: 1, Missed: "killed"}, {Turn: 3}}
	})
	window("bbbbbbbb", func(w *registry.Window) { w.Turn = 1 })
	window("cccccccc", func(w *registry.Window) { w.Turn, w.TurnOpen, w.Worktree = 1, true, "/elsewhere" })
	got, err := openTurns(store)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pane := checkpoint.Pane{ID: "aaaaaaaa", Window: "aaaaaaaa", Session: "api"}
	want := []checkpoint.OpenTurn{
		{Pane: pane, Turn: 3, Base: &checkpoint.Base{Tree: "t", At: at}, With: []checkpoint.TurnID{{Pane: "bbbbbbbb", Turn: 1}}, Named: []string{"x"}},
		{Pane: pane, Turn: 2, Named: []string{"y"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("open turns (-want +got):\n%s", diff)
	}
}
