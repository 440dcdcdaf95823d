package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// neighbour is another pane in the same work tree, followed by another process.
func (r *room) neighbour() *room {
	return &room{
		Repo: r.Repo, t: r.t, store: open(r.t, r.Repo, nil),
		pane: checkpoint.Pane{ID: "bbbbbbbb", Window: "test", Session: "api"},
	}
}

// beginAmid begins a turn while the other pane's is open: no start is saved then.
func (r *room) beginAmid() {
	r.t.Helper()
	r.turn++
	res, err := r.store.Begin(r.t.Context(), checkpoint.BeginRequest{Pane: r.pane, Turn: r.turn})
	if err != nil {
		r.t.Fatalf("begin turn %d: %v", r.turn, err)
	}
	r.base = res.Base
}

// finish ends the open turn, during which the other's turns were open; named are
// the files that its tools named.
func (r *room) finish(other *room, turns []int, named ...string) *checkpoint.Checkpoint {
	r.t.Helper()
	req := checkpoint.SaveRequest{Kind: checkpoint.KindTurn, Pane: r.pane, Turn: r.turn, State: "done", Base: &r.base, Named: named}
	for _, n := range turns {
		req.With = append(req.With, checkpoint.TurnID{Pane: other.pane.ID, Turn: n})
	}
	res, err := r.store.Save(r.t.Context(), req)
	if err != nil {
		r.t.Fatalf("end turn %d: %v", r.turn, err)
	}
	return res.Checkpoint
}

func (r *room) try(change func(*checkpoint.RestoreRequest)) (checkpoint.RestoreResult, error) {
	req := r.request(1)
	change(&req)
	return r.store.Restore(r.t.Context(), req)
}

func wantPaths(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	got = slices.Sorted(slices.Values(got))
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func (r *room) holds(want map[string]string) {
	r.t.Helper()
	for name, text := range want {
		data, err := os.ReadFile(filepath.Join(r.Root, name))
		if got := string(data); err != nil && text != "" || got != text {
			r.t.Errorf("%s holds %q (%v), want %q", name, got, err, text)
		}
	}
}

func TestFilesThatAnotherPaneChangedStopARestore(t *testing.T) {
	mine := newRoom(t, map[string]string{"a": "0\n", "b": "0\n", "c": "0\n"})
	theirs := mine.neighbour()
	mine.take("one", func() { mine.Write("a", "1\n") })
	mine.take("two", func() { mine.Write("a", "2\n") })
	theirs.take("other", func() { mine.Write("b", "theirs\n"); mine.Write("new", "theirs\n") })
	mine.Write("c", "a person's\n")
	before := mine.Tree()

	_, err := mine.try(func(r *checkpoint.RestoreRequest) {})
	e := wantCode(t, err, checkpoint.OthersChanged)
	wantPaths(t, "paths", e.Paths, "b", "new")
	for _, word := range []string{`"b"`, "test of api", "pane bbbbbbbb"} {
		if !strings.Contains(e.Message, word) {
			t.Errorf("the message does not name %s: %s", word, e.Message)
		}
	}
	if diff := cmp.Diff([]string{"--mine", "--all-panes"}, e.Flags); diff != "" {
		t.Errorf("flags: %s", diff)
	}
	if diff := cmp.Diff(before, mine.Tree()); diff != "" {
		t.Errorf("a refusal changed files:\n%s", diff)
	}
	if _, err := mine.try(func(r *checkpoint.RestoreRequest) { r.DryRun = true }); !checkpoint.HasCode(err, checkpoint.OthersChanged) {
		t.Errorf("a dry run: %v", err)
	}
	if res, err := mine.try(func(r *checkpoint.RestoreRequest) { r.Paths = []string{"a"}; r.DryRun = true }); err != nil || len(res.Written) != 1 {
		t.Errorf("a path that nobody else changed: %+v, %v", res, err)
	}
	_, err = mine.try(func(r *checkpoint.RestoreRequest) { r.Mine, r.AllPanes = true, true })
	wantCode(t, err, checkpoint.InvalidParams)

	res, err := mine.try(func(r *checkpoint.RestoreRequest) { r.Mine = true })
	if err != nil {
		t.Fatal(err)
	}
	wantPaths(t, "written", res.Written, "a")
	wantPaths(t, "removed and skipped", append(res.Removed, res.Skipped...))
	mine.holds(map[string]string{"a": "1\n", "b": "theirs\n", "new": "theirs\n", "c": "a person's\n"})

	if _, err = mine.try(func(r *checkpoint.RestoreRequest) { r.AllPanes = true }); err != nil {
		t.Fatal(err)
	}
	mine.holds(map[string]string{"a": "1\n", "b": "0\n", "new": "", "c": "0\n"})
}

// TestTurnsThatOverlap has this pane work all the time, and the other in the
// middle of it.
func TestTurnsThatOverlap(t *testing.T) {
	mine := newRoom(t, map[string]string{"early": "0\n", "named": "0\n", "theirs": "0\n", "shared": "0\n", "late": "0\n"})
	theirs := mine.neighbour()
	mine.take("first", func() { mine.Write("x", "1\n") })
	mine.begin()
	mine.Write("early", "1\n")
	theirs.beginAmid()
	for _, name := range []string{"named", "theirs", "shared"} {
		mine.Write(name, "1\n")
	}
	theirs.finish(mine, []int{2}, "theirs")
	mine.Write("late", "1\n")
	mine.finish(theirs, []int{1}, "named")

	_, err := mine.try(func(r *checkpoint.RestoreRequest) {})
	e := wantCode(t, err, checkpoint.OthersChanged)
	wantPaths(t, "of others or shared", e.Paths, "shared", "theirs")
	res, err := mine.try(func(r *checkpoint.RestoreRequest) { r.Mine, r.DryRun = true, true })
	if err != nil {
		t.Fatal(err)
	}
	wantPaths(t, "written", res.Written, "early", "late", "named")
	wantPaths(t, "skipped", res.Skipped, "shared")

	// The other pane sees the same from its side.
	c := theirs.list()[0]
	if res, err := theirs.try(func(r *checkpoint.RestoreRequest) { r.N, r.Mine = c.N, true }); err != nil || len(res.Written)+len(res.Skipped) != 0 {
		t.Errorf("nothing changed since: %+v, %v", res, err)
	}
	_, err = theirs.store.Undo(t.Context(), theirs.request(0))
	wantPaths(t, "edited since", wantCode(t, err, checkpoint.EditedSince).Paths, "late")
	undo := theirs.request(0)
	undo.KeepEdits = true
	_, err = theirs.store.Undo(t.Context(), undo)
	wantPaths(t, "of the turn, not of the pane", wantCode(t, err, checkpoint.OthersChanged).Paths, "named", "shared")
	undo.Mine = true
	if res, err = theirs.store.Undo(t.Context(), undo); err != nil {
		t.Fatal(err)
	}
	wantPaths(t, "taken back", res.Written, "theirs")
	wantPaths(t, "left alone", res.Skipped, "shared")
	redo, err := theirs.store.Redo(t.Context(), theirs.request(0))
	if err != nil {
		t.Fatal(err)
	}
	wantPaths(t, "put forward", redo.Written, "theirs")
	mine.holds(map[string]string{"early": "1\n", "named": "1\n", "theirs": "1\n", "shared": "1\n", "late": "1\n"})
}

func TestAFileThatBothPanesChangedStopsMine(t *testing.T) {
	mine := newRoom(t, map[string]string{"a": "0\n", "b": "0\n"})
	theirs := mine.neighbour()
	mine.take("first", func() { mine.Write("x", "1\n") })
	mine.take("mine", func() { mine.Write("a", "1\n"); mine.Write("b", "1\n") })
	theirs.take("theirs", func() { mine.Write("a", "2\n") })
	_, err := mine.try(func(r *checkpoint.RestoreRequest) { r.Mine = true })
	e := wantCode(t, err, checkpoint.OthersChanged)
	wantPaths(t, "both", e.Paths, "a")
	wantPaths(t, "flags", e.Flags, "--all-panes")
	if _, err := mine.try(func(r *checkpoint.RestoreRequest) { r.Mine, r.Paths = true, []string{"b"} }); err != nil {
		t.Fatal(err)
	}
	mine.holds(map[string]string{"a": "2\n", "b": "0\n"})
}

// TestTurnsThatGoOn tells the restore of turns of which only the live records
// know.
func TestTurnsThatGoOn(t *testing.T) {
	mine := newRoom(t, map[string]string{"a": "0\n"})
	theirs := mine.neighbour()
	mine.take("first", func() { mine.Write("x", "1\n") })
	theirs.begin()
	mine.Write("a", "theirs\n")
	if _, err := mine.try(func(r *checkpoint.RestoreRequest) { r.DryRun = true }); err != nil {
		t.Fatalf("nobody knows of the turn: %v", err)
	}
	_, err := mine.try(func(r *checkpoint.RestoreRequest) {
		r.OpenTurns = func(context.Context) ([]checkpoint.OpenTurn, error) {
			return []checkpoint.OpenTurn{{Pane: theirs.pane, Turn: theirs.turn, Base: &theirs.base}}, nil
		}
	})
	wantPaths(t, "paths", wantCode(t, err, checkpoint.OthersChanged).Paths, "a")
}

// TestATurnWithoutACheckpoint was open at the same time: one that was not saved
// may have changed anything, one that changed nothing did not.
func TestATurnWithoutACheckpoint(t *testing.T) {
	for _, saved := range []bool{true, false} {
		t.Run(fmt.Sprintf("saved %v", saved), func(t *testing.T) {
			mine := newRoom(t, map[string]string{"a": "0\n"})
			theirs := mine.neighbour()
			theirs.take("before", func() { mine.Write("b", "1\n") })
			mine.take("first", func() { mine.Write("x", "1\n") })
			mine.begin()
			mine.Write("a", "1\n")
			theirs.beginAmid()
			if saved {
				theirs.end("nothing")
			} else if err := theirs.store.NoteNotSaved(t.Context(), theirs.pane, checkpoint.NotSaved{Turn: theirs.turn, Reason: "killed", At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			mine.finish(theirs, []int{theirs.turn})
			_, err := mine.try(func(r *checkpoint.RestoreRequest) { r.DryRun = true })
			if saved && err != nil {
				t.Errorf("the other's turn changed nothing: %v", err)
			}
			if !saved && !checkpoint.HasCode(err, checkpoint.OthersChanged) {
				t.Errorf("the other's turn was not saved: %v", err)
			}
		})
	}
}

func TestLongListsAreKeptBeside(t *testing.T) {
	mine := newRoom(t, map[string]string{"a": "0\n"})
	theirs := mine.neighbour()
	mine.begin()
	var named []string
	for i := range 60 {
		named = append(named, fmt.Sprintf("f%02d", i))
		mine.Write(named[i], "1\n")
	}
	c := mine.finish(theirs, []int{7, 8}, named...)
	got := mine.list()[c.N-1]
	if diff := cmp.Diff([]checkpoint.TurnID{{Pane: theirs.pane.ID, Turn: 7}, {Pane: theirs.pane.ID, Turn: 8}}, got.With); diff != "" {
		t.Errorf("with: %s", diff)
	}
	if len(got.Named) != 20 || got.NamedCount != 60 || got.Damaged != "" {
		t.Errorf("named %d of %d, damaged %q", len(got.Named), got.NamedCount, got.Damaged)
	}
	all, err := mine.store.NamedAll(t.Context(), got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(named, all); diff != "" {
		t.Errorf("all that were named: %s", diff)
	}
	if got.Base.At.IsZero() || got.Base.At.After(got.At) {
		t.Errorf("the base is of %v, the end of %v", got.Base.At, got.At)
	}
}

func TestB61AFileThatThePersonPutThereComesBackByName(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n"})
	r.take("first", func() { r.Write("a", "1\n") })
	r.begin()
	r.Write("in.csv", "precious\n")
	r.end("the agent only talked")
	res := r.restore(1)
	wantPaths(t, "the output names it", res.Removed, "in.csv")
	r.restore(res.Safety.N, "in.csv")
	r.holds(map[string]string{"in.csv": "precious\n"})
}

func TestUndoWithEditsSince(t *testing.T) {
	text := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
	start := func(t *testing.T) *room {
		r := newRoom(t, map[string]string{"a": text("1", "2", "3", "4", "5", "6"), "b": "0\n", "c": "0\n"})
		r.take("first", func() { r.Write("c", "1\n") })
		r.take("turn", func() { r.Write("a", text("one", "2", "3", "4", "5", "6")); r.Write("b", "1\n"); r.Write("new", "1\n") })
		r.Write("a", text("one", "2", "3", "4", "5", "six"))
		r.Write("c", "edited\n")
		return r
	}
	t.Run("refused", func(t *testing.T) {
		r := start(t)
		_, err := r.store.Undo(t.Context(), r.request(0))
		e := wantCode(t, err, checkpoint.EditedSince)
		wantPaths(t, "paths", e.Paths, "a", "c")
		wantPaths(t, "flags", e.Flags, "--discard-edits", "--keep-edits")
		req := r.request(0)
		req.KeepEdits, req.DiscardEdits = true, true
		_, err = r.store.Undo(t.Context(), req)
		wantCode(t, err, checkpoint.InvalidParams)
	})
	t.Run("keep", func(t *testing.T) {
		r := start(t)
		req := r.request(0)
		req.KeepEdits = true
		if _, err := r.store.Undo(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		r.holds(map[string]string{"a": text("1", "2", "3", "4", "5", "six"), "b": "0\n", "new": "", "c": "edited\n"})
		if _, err := r.store.Redo(t.Context(), r.request(0)); err != nil {
			t.Fatalf("redo: %v", err)
		}
		r.holds(map[string]string{"a": text("one", "2", "3", "4", "5", "six"), "b": "1\n", "new": "1\n", "c": "edited\n"})
	})
	t.Run("keep, in the same place", func(t *testing.T) {
		r := start(t)
		r.Write("b", "edited\n")
		before := r.Tree()
		req := r.request(0)
		req.KeepEdits = true
		_, err := r.store.Undo(t.Context(), req)
		wantPaths(t, "conflicts", wantCode(t, err, checkpoint.Conflicts).Paths, "b")
		if diff := cmp.Diff(before, r.Tree()); diff != "" {
			t.Errorf("a refusal changed files:\n%s", diff)
		}
	})
	t.Run("discard", func(t *testing.T) {
		r := start(t)
		req := r.request(0)
		req.DiscardEdits = true
		res, err := r.store.Undo(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		r.holds(map[string]string{"a": text("1", "2", "3", "4", "5", "6"), "b": "0\n", "new": "", "c": "1\n"})
		r.restore(res.Safety.N)
		r.holds(map[string]string{"a": text("one", "2", "3", "4", "5", "six"), "c": "edited\n"})
	})
}

// TestLateSavesNameWhatIsUncertain lets the agent go before the work tree is
// seen, at the start of a turn and at its end.
func TestLateSavesNameWhatIsUncertain(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n", "b": "0\n", "c": "0\n"})
	r.Write("a", "a person's\n")
	time.Sleep(50 * time.Millisecond)
	letGo := time.Now()
	since := func() time.Time { return letGo }
	r.Write("b", "the agent's\n")
	r.turn = 1
	begun, err := r.store.Begin(t.Context(), checkpoint.BeginRequest{Pane: r.pane, Turn: 1, SaveStart: true, LetGo: since})
	if err != nil {
		t.Fatal(err)
	}
	if c := begun.Start; c == nil || !c.Late {
		t.Fatalf("the start is %+v", c)
	}
	wantPaths(t, "at the start", begun.Start.Uncertain, "b")
	wantPaths(t, "at the start, as read", r.list()[0].Uncertain, "b")
	r.Write("a", "the agent's\n")
	time.Sleep(50 * time.Millisecond)
	letGo = time.Now()
	r.Write("c", "the next turn's\n")
	r.Remove("b")
	res, err := r.store.Save(t.Context(), checkpoint.SaveRequest{
		Kind: checkpoint.KindTurn, Pane: r.pane, Turn: 1, State: "done", Base: &begun.Base, LetGo: since, Since: letGo.Add(-time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := r.list()[1]
	wantPaths(t, "at the end", c.Uncertain, "b", "c")
	if !c.Late || c.UncertainCount != 2 || res.Checkpoint.UncertainCount != 2 {
		t.Errorf("late %v, %d uncertain", c.Late, c.UncertainCount)
	}

	// The next turn began before that was saved, and changed nothing that it does
	// not hold.
	next, err := r.store.Begin(t.Context(), checkpoint.BeginRequest{Pane: r.pane, Turn: 2, SaveStart: true})
	if err != nil {
		t.Fatal(err)
	}
	res, err = r.store.Save(t.Context(), checkpoint.SaveRequest{
		Kind: checkpoint.KindTurn, Pane: r.pane, Turn: 2, State: "done", Base: &next.Base, Since: letGo,
	})
	if err != nil || res.Checkpoint != nil || res.Together != 1 {
		t.Errorf("the next turn: %+v, %v", res, err)
	}

	undone, err := r.store.Undo(t.Context(), r.request(0))
	if err != nil {
		t.Fatal(err)
	}
	wantPaths(t, "undo says", undone.Uncertain, "b", "c")
}
