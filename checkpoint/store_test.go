package checkpoint_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

func asCheckpointError(err error) *checkpoint.Error {
	var e *checkpoint.Error
	errors.As(err, &e)
	return e
}

func TestTurnsAreSavedComparedAndRestored(t *testing.T) {
	r := newRoom(t, map[string]string{"a.txt": "one\n", "b.txt": "x\n"})
	before := r.Fingerprint()
	c1 := r.take("Add a retry to the client", func() { r.Write("a.txt", "two\n") })
	atOne := r.Tree()
	c2 := r.take("Make the backoff configurable", func() { r.Write("a.txt", "three\n"); r.Write("b.txt", "x\ny\n"); r.Write("new/n.txt", "n\n") })
	atTwo := r.Tree()
	if c1.N != 1 || c2.N != 2 {
		t.Fatalf("numbers %d and %d, want 1 and 2", c1.N, c2.N)
	}
	d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: 2, Context: 3})
	if err != nil {
		t.Fatal(err)
	}
	if d.Subject != "Checkpoint 2" || d.Against != "checkpoint 1" || len(d.Files) != 3 || d.Added != 3 || d.Deleted != 1 {
		t.Errorf("diff is %+v", d)
	}
	first, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Against, "HEAD ") {
		t.Errorf("checkpoint 1 is compared with %q", first.Against)
	}
	res := r.restore(1)
	if diff := cmp.Diff(atOne, r.Tree()); diff != "" {
		t.Errorf("after restoring 1 (- then, + now):\n%s", diff)
	}
	if len(res.Written) != 2 || len(res.Removed) != 1 || res.Safety.N != 3 || res.Safety.Label != "before restoring checkpoint 1" {
		t.Errorf("result %+v", res)
	}
	r.restore(3)
	if diff := cmp.Diff(atTwo, r.Tree()); diff != "" {
		t.Errorf("after restoring the safety checkpoint (- then, + now):\n%s", diff)
	}
	if diff := cmp.Diff(before, r.Fingerprint()); diff != "" {
		t.Errorf("the user's things changed:\n%s", diff)
	}
}

func TestNothingChangedSavesNothing(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.begin()
	if c := r.end("looks around"); c != nil {
		t.Errorf("saved %+v", c)
	}
	r.begin()
	r.Write("a", "2\n")
	r.Git("commit", "-q", "-a", "-m", "by the agent")
	if c := r.end("edits and commits"); c == nil {
		t.Error("a turn that edits and commits saved nothing")
	}
	if c := r.end("a second stop of the same turn"); c != nil {
		t.Errorf("a second stop saved %+v", c)
	}
}

func TestATurnThatChangedLeftOutPlacesAloneSaysSo(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Write("big.bin", strings.Repeat("0", 2000))
	r.Write("old.bin", strings.Repeat("1", 2000))
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(r.Path("old.bin"), past, past); err != nil {
		t.Fatal(err)
	}
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		o.Limits = func() checkpoint.Limits { return checkpoint.Limits{Keep: 50, MaxUntracked: 1000, MaxNewUntracked: -1} }
	})
	r.begin()
	since := time.Now().Add(-time.Millisecond)
	r.Write("big.bin", strings.Repeat("2", 2000))
	res, err := r.store.Save(t.Context(), checkpoint.SaveRequest{
		Kind: checkpoint.KindTurn, Pane: r.pane, Turn: r.turn, State: "done", Base: &r.base, Since: since,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []checkpoint.LeftOut{{Path: "big.bin", Reason: checkpoint.ReasonTooLarge}}
	if res.Checkpoint != nil || !cmp.Equal(res.NotCovered, want) {
		t.Errorf("saved %+v, not covered %+v", res.Checkpoint, res.NotCovered)
	}
}

func TestEditsBetweenTurnsAreAStart(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("first", func() { r.Write("a", "agent\n") })
	r.Write("mine", "by hand\n")
	res := r.begin()
	if res.Start == nil || res.Start.Label != "edits before turn 2" || res.Start.Kind != checkpoint.KindStart || res.Base.Name != "checkpoint 2" {
		t.Fatalf("start is %+v, base %+v", res.Start, res.Base)
	}
	r.Write("a", "agent again\n")
	c := r.end("second")
	d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: c.N, Stat: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Files) != 1 || d.Files[0].Path != "a" {
		t.Errorf("turn 2 changed %+v, want a alone", d.Files)
	}
}

func TestUndoAndRedoStepThroughTurns(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n", "d/x": "x\n"})
	start := r.Tree()
	r.take("one", func() { r.Write("a", "1\n") })
	one := r.Tree()
	r.take("two", func() { r.Write("a", "2\n"); r.Remove("d"); r.Write("d", "now a file\n") })
	two := r.Tree()
	step := func(f func() (checkpoint.RestoreResult, error), turn int, want map[string]gittest.Entry, more bool) {
		t.Helper()
		res, err := f()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Tree()); diff != "" {
			t.Fatalf("- want, + got:\n%s", diff)
		}
		if res.Turn != turn || res.More != more {
			t.Errorf("turn %d, more %v; want %d, %v", res.Turn, res.More, turn, more)
		}
	}
	undo := func() (checkpoint.RestoreResult, error) { return r.store.Undo(t.Context(), r.request(0)) }
	redo := func() (checkpoint.RestoreResult, error) { return r.store.Redo(t.Context(), r.request(0)) }
	step(undo, 2, one, true)
	step(undo, 1, start, false)
	_, err := undo()
	wantCode(t, err, checkpoint.NothingToUndo)
	step(redo, 1, one, true)
	step(redo, 2, two, false)
	_, err = redo()
	wantCode(t, err, checkpoint.NothingToUndo)
	step(undo, 2, one, true)
	r.Write("mine", "by hand\n")
	_, err = redo()
	if e := wantCode(t, err, checkpoint.EditedSince); len(e.Paths) != 1 || e.Paths[0] != "mine" {
		t.Errorf("paths %q", e.Paths)
	}
}

func TestRefusals(t *testing.T) {
	t.Run("ignored file in the way", func(t *testing.T) {
		r := newRoom(t, map[string]string{"a": "1\n"})
		r.take("one", func() { r.Write("out/x", "kept\n") })
		r.take("two", func() { r.Remove("out"); r.Write(".gitignore", "out\n") })
		r.Write("out/x", "secret\n")
		before := r.Tree()
		_, err := r.store.Restore(t.Context(), r.request(1))
		if e := wantCode(t, err, checkpoint.WouldOverwrite); !cmp.Equal(e.Paths, []string{"out/x"}) {
			t.Errorf("paths %q", e.Paths)
		}
		if diff := cmp.Diff(before, r.Tree()); diff != "" {
			t.Errorf("a refusal changed files:\n%s", diff)
		}
		if n := len(r.list()); n != 2 {
			t.Errorf("a refusal left %d checkpoints, want 2", n)
		}
	})
	t.Run("other branch", func(t *testing.T) {
		r := newRoom(t, map[string]string{"a": "1\n"})
		r.take("one", func() { r.Write("a", "2\n") })
		r.Git("stash", "-q")
		r.Git("checkout", "-q", "-b", "two")
		_, err := r.store.Restore(t.Context(), r.request(1))
		wantCode(t, err, checkpoint.HeadMoved)
		req := r.request(1)
		req.Here = true
		if _, err := r.store.Restore(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if got := r.Read("a"); got != "2\n" {
			t.Errorf("a is %q", got)
		}
	})
	t.Run("other work tree", func(t *testing.T) {
		r := newRoom(t, map[string]string{"a": "1\n"})
		r.take("one", func() { r.Write("a", "2\n") })
		linked := r.AddWorktree("linked")
		_, err := open(t, linked, nil).Restore(t.Context(), r.request(1))
		wantCode(t, err, checkpoint.OtherWorktree)
		if got := linked.Read("a"); got != "1\n" {
			t.Errorf("a is %q", got)
		}
	})
	t.Run("missing object", func(t *testing.T) {
		r := newRoom(t, map[string]string{"a": "1\n"})
		r.take("one", func() { r.Write("a", "2\n") })
		r.take("two", func() { r.Write("a", "3\n") })
		id := strings.TrimSpace(r.GitInput("2\n", "hash-object", "--stdin"))
		r.LoseObject(id)
		_, err := r.store.Restore(t.Context(), r.request(1))
		e := wantCode(t, err, checkpoint.Damaged)
		if !strings.Contains(e.Message, id) || !strings.Contains(e.Message, `"a"`) {
			t.Errorf("message %q names neither object nor path", e.Message)
		}
		if got := r.Read("a"); got != "3\n" {
			t.Errorf("a is %q", got)
		}
	})
	t.Run("no such checkpoint", func(t *testing.T) {
		r := newRoom(t, map[string]string{"a": "1\n"})
		r.take("one", func() { r.Write("a", "2\n") })
		_, err := r.store.Restore(t.Context(), r.request(7))
		if e := wantCode(t, err, checkpoint.NoCheckpoint); !cmp.Equal(e.Numbers, []int{1}) {
			t.Errorf("numbers %v", e.Numbers)
		}
	})
}

// TestAGCDuringATurnTakesNothing has a turn whose base no checkpoint and no commit
// holds, as when another pane's turn is open, and a gc in the middle of it.
func TestAGCDuringATurnTakesNothing(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Write("a", "by hand\n")
	before := r.Tree()
	r.turn++
	res, err := r.store.Begin(t.Context(), checkpoint.BeginRequest{Pane: r.pane, Turn: r.turn})
	if err != nil {
		t.Fatal(err)
	}
	r.base = res.Base
	r.Git("gc", "--quiet", "--prune=now")
	r.Write("a", "by the agent\n")
	c := r.end("one")
	r.Git("gc", "--quiet", "--prune=now")
	if out, err := r.TryGit("fsck", "--strict", "--no-dangling"); err != nil {
		t.Errorf("fsck: %v: %s", err, out)
	}
	d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: c.N})
	if err != nil || d.Note != "" || len(d.Files) != 1 {
		t.Errorf("diff %+v, %v", d, err)
	}
	if _, err := r.store.Undo(t.Context(), r.request(0)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		t.Errorf("after undo (- want, + got):\n%s", diff)
	}
}

// TestUndoKeepsWhatTheBaseLeftOut has a file that was too large at the turn's
// start and was made small in it.
func TestUndoKeepsWhatTheBaseLeftOut(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		o.Limits = func() checkpoint.Limits { return checkpoint.Limits{Keep: 50, MaxUntracked: 1000, MaxNewUntracked: -1} }
	})
	r.Write("data.bin", strings.Repeat("0", 2000))
	r.take("one", func() { r.Write("data.bin", "small\n"); r.Write("a", "2\n") })
	res, err := r.store.Undo(t.Context(), r.request(0))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Read("data.bin"); got != "small\n" || r.Read("a") != "1\n" {
		t.Errorf("data.bin is %q, a is %q, result %+v", got, r.Read("a"), res)
	}
}

// TestUndoGoesOnPastATurnTakenBackBefore has a turn between two rounds of undo.
func TestUndoGoesOnPastATurnTakenBackBefore(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n"})
	var states []map[string]gittest.Entry
	for _, text := range []string{"1\n", "2\n", "3\n"} {
		states = append(states, r.Tree())
		r.take("turn", func() { r.Write("a", text) })
	}
	undo := func(turn int) {
		t.Helper()
		res, err := r.store.Undo(t.Context(), r.request(0))
		if err != nil {
			t.Fatal(err)
		}
		if res.Turn != turn {
			t.Errorf("took back turn %d, want %d", res.Turn, turn)
		}
	}
	undo(3)
	r.take("turn", func() { r.Write("a", "4\n") })
	_, err := r.store.Redo(t.Context(), r.request(0))
	wantCode(t, err, checkpoint.NothingToUndo)
	undo(4)
	undo(2)
	undo(1)
	if diff := cmp.Diff(states[0], r.Tree()); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
	_, err = r.store.Undo(t.Context(), r.request(0))
	wantCode(t, err, checkpoint.NothingToUndo)
}

// TestUndoPassesATurnThatEndedWhereItBegan has one that was saved at a pause.
func TestUndoPassesATurnThatEndedWhereItBegan(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n"})
	r.take("one", func() { r.Write("a", "1\n") })
	r.begin()
	r.Write("a", "try\n")
	if _, err := r.store.Save(t.Context(), checkpoint.SaveRequest{
		Kind: checkpoint.KindTurn, Pane: r.pane, Turn: r.turn, State: "needs_input", Base: &r.base,
	}); err != nil {
		t.Fatal(err)
	}
	r.Write("a", "1\n")
	if c := r.end("two"); c != nil {
		t.Fatalf("saved %+v", c)
	}
	res, err := r.store.Undo(t.Context(), r.request(0))
	if err != nil || res.Turn != 1 || r.Read("a") != "0\n" {
		t.Errorf("took back %+v, %v; a is %q", res, err, r.Read("a"))
	}
}

// TestAnAbsentSkipWorktreeFileIsRestored has a path of which git was told that it
// is not needed on disk.
func TestAnAbsentSkipWorktreeFileIsRestored(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "b": "committed\n"})
	r.Git("update-index", "--skip-worktree", "b")
	r.take("one", func() { r.Write("b", "local\n") })
	r.Remove("b")
	r.restore(1)
	if got := r.Read("b"); got != "local\n" {
		t.Errorf("b is %q", got)
	}
}

func TestAMistypedPathIsRefused(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("a", "2\n") })
	_, err := r.store.Restore(t.Context(), r.request(1, "nosuch"))
	wantCode(t, err, checkpoint.InvalidParams)
	if n := len(r.list()); n != 1 {
		t.Errorf("%d checkpoints, want 1", n)
	}
}

// TestAnIgnoredFileBelowALinkOfTheTargetGoes has a folder with a file in place of
// a link, and ignore rules of the link's time that ignore the file.
func TestAnIgnoredFileBelowALinkOfTheTargetGoes(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("d/b", "1\n") })
	r.Remove("d")
	r.Symlink("a", "d")
	r.Write(".gitignore", "b\n")
	before := r.Tree()
	res := r.restore(1)
	r.restore(res.Safety.N)
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		t.Errorf("there and back (- want, + got):\n%s", diff)
	}
}
