package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

const tenLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

func (r *room) revert(n int, paths ...string) (checkpoint.RestoreResult, error) {
	return r.store.Revert(r.t.Context(), r.request(n, paths...))
}

// threeTurns has a turn in the middle whose changes go apart from the later ones.
func threeTurns(t *testing.T) *room {
	r := newRoom(t, map[string]string{"a": tenLines, "b": "b\n", "run": "r\n"})
	r.take("one", func() { r.Write("one", "1\n") })
	r.take("two", func() {
		r.Write("a", strings.Replace(tenLines, "2\n", "two\n", 1))
		r.Write("new/n", "n\n")
		r.Remove("b")
		r.Chmod("run", 0o755)
	})
	r.take("three", func() { r.Write("a", strings.Replace(r.Read("a"), "9\n", "nine\n", 1)); r.Write("three", "3\n") })
	return r
}

func TestRevertTakesOneTurnBackAndKeepsTheLater(t *testing.T) {
	r := threeTurns(t)
	r.Write("ig.o", "untracked, later\n")
	before, mine := r.Tree(), r.Fingerprint()
	res, err := r.revert(2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": strings.Replace(tenLines, "9\n", "nine\n", 1), "b": "b\n", "one": "1\n", "three": "3\n", "ig.o": "untracked, later\n"}
	for path, text := range want {
		if got := r.Read(path); got != text {
			t.Errorf("%s is %q, want %q", path, got, text)
		}
	}
	if r.Exists("new") {
		t.Error("the file that the turn made is there still")
	}
	if res.Safety == nil || res.Safety.Label != "before reverting checkpoint 2" || res.Turn != 2 || len(res.Written) != 3 || len(res.Removed) != 1 {
		t.Errorf("result %+v", res)
	}
	if diff := cmp.Diff(mine, r.Fingerprint()); diff != "" {
		t.Errorf("the user's things changed:\n%s", diff)
	}
	r.restore(res.Safety.N)
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		t.Errorf("there and back (- want, + got):\n%s", diff)
	}
}

func TestRevertNamesConflictsAndChangesNothing(t *testing.T) {
	r := threeTurns(t)
	r.Write("a", strings.Replace(r.Read("a"), "two\n", "mine\n", 1))
	r.Write("new/n", "edited\n")
	before := r.Tree()
	_, err := r.revert(2)
	if e := wantCode(t, err, checkpoint.Conflicts); !cmp.Equal(e.Paths, []string{"a", "new/n"}) {
		t.Errorf("paths %q", e.Paths)
	}
	if diff := cmp.Diff(before, r.Tree()); diff != "" || len(r.list()) != 3 {
		t.Errorf("a refusal changed something, %d checkpoints:\n%s", len(r.list()), diff)
	}
	if _, err := r.revert(2, "b", "run"); err != nil {
		t.Fatalf("paths without conflicts: %v", err)
	}
	if r.Read("b") != "b\n" || r.Read("new/n") != "edited\n" {
		t.Error("not just the paths asked for were taken back")
	}
}

func TestRevertOfWhatChangedNothing(t *testing.T) {
	r := threeTurns(t)
	res, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Turn: 3, Label: "as it is", Always: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.revert(res.Checkpoint.N)
	wantCode(t, err, checkpoint.NothingToUndo)
	_, err = r.revert(9)
	wantCode(t, err, checkpoint.NoCheckpoint)
}

func TestRevertStoppedAtEachStep(t *testing.T) {
	if testing.Short() {
		t.Skip("long; it runs without -short")
	}
	for k := 1; ; k++ {
		r := threeTurns(t)
		before := r.Tree()
		steps := 0
		req := r.request(2)
		req.Step = func(string) error {
			if steps++; steps == k {
				return checkpoint.ErrStopped
			}
			return nil
		}
		_, err := r.store.Revert(t.Context(), req)
		if err == nil {
			if k < 5 {
				t.Fatalf("only %d steps", k)
			}
			return
		}
		_, err = r.revert(2)
		if e := wantCode(t, err, checkpoint.Interrupted); e.Message != "a revert of checkpoint 2 was interrupted in this work tree" {
			t.Fatalf("message %q", e.Message)
		}
		if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: true}); err != nil {
			t.Fatalf("step %d: abort: %v", k, err)
		}
		if diff := cmp.Diff(before, r.Tree()); diff != "" {
			t.Fatalf("step %d, aborted (- want, + got):\n%s", k, diff)
		}
	}
}

func TestWhatARevertLeavesIsNoCheckpointAndNoEdit(t *testing.T) {
	r := threeTurns(t)
	if _, err := r.revert(1); err != nil {
		t.Fatal(err)
	}
	_, err := r.store.Undo(t.Context(), r.request(0))
	wantCode(t, err, checkpoint.EditedSince)
	begun := r.begin()
	if begun.Start != nil {
		t.Errorf("what a revert left was saved as edits of the person: %+v", begun.Start)
	}
	if begun.Base.Name != "the work tree before the turn" {
		t.Errorf("the base is %q", begun.Base.Name)
	}
}

// TestRevertOfATurnThatAnotherOverlapped has both panes change files while both
// turns are open: the turn is this pane's, what changed is not all of it.
func TestRevertOfATurnThatAnotherOverlapped(t *testing.T) {
	mine := newRoom(t, map[string]string{"early": tenLines, "named": "0\n", "theirs": "0\n", "shared": "0\n"})
	theirs := mine.neighbour()
	mine.begin()
	mine.Write("early", strings.Replace(tenLines, "2\n", "two\n", 1))
	theirs.beginAmid()
	for _, name := range []string{"named", "theirs", "shared"} {
		mine.Write(name, "1\n")
	}
	theirs.finish(mine, []int{1}, "theirs")
	n := mine.finish(theirs, []int{1}, "named").N
	mine.take("later", func() { mine.Write("early", strings.Replace(mine.Read("early"), "9\n", "nine\n", 1)) })
	mine.Write("theirs", "a person's\n") // so that it is a conflict, too
	before := mine.Tree()
	try := func(change func(*checkpoint.RestoreRequest)) (checkpoint.RestoreResult, error) {
		req := mine.request(n)
		change(&req)
		return mine.store.Revert(t.Context(), req)
	}

	_, err := try(func(r *checkpoint.RestoreRequest) {})
	e := wantCode(t, err, checkpoint.OthersChanged)
	wantPaths(t, "of others, where it is a conflict", e.Paths, "theirs")
	mine.Write("theirs", "1\n")
	_, err = try(func(r *checkpoint.RestoreRequest) {})
	e = wantCode(t, err, checkpoint.OthersChanged)
	wantPaths(t, "of others or shared", e.Paths, "shared", "theirs")
	if !strings.Contains(e.Message, "since turn 1 began") || !cmp.Equal(e.Flags, []string{"--mine", "--all-panes"}) {
		t.Errorf("message %q, flags %q", e.Message, e.Flags)
	}
	if _, err := try(func(r *checkpoint.RestoreRequest) { r.Mine, r.AllPanes = true, true }); !checkpoint.HasCode(err, checkpoint.InvalidParams) {
		t.Errorf("both flags: %v", err)
	}
	if _, err := try(func(r *checkpoint.RestoreRequest) { r.Paths, r.DryRun = []string{"early", "named"}, true }); err != nil {
		t.Errorf("paths of this pane's alone: %v", err)
	}
	mine.Write("theirs", "a person's\n")
	if diff := cmp.Diff(before, mine.Tree()); diff != "" {
		t.Errorf("a refusal changed files:\n%s", diff)
	}

	res, err := try(func(r *checkpoint.RestoreRequest) { r.Mine = true })
	if err != nil {
		t.Fatal(err)
	}
	wantPaths(t, "written", res.Written, "early", "named")
	wantPaths(t, "skipped", res.Skipped, "shared")
	mine.holds(map[string]string{
		"early": strings.Replace(tenLines, "9\n", "nine\n", 1), "named": "0\n", "theirs": "a person's\n", "shared": "1\n",
	})
	if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], `"shared" (shared with test of api, pane bbbbbbbb)`) {
		t.Errorf("notes %q", res.Notes)
	}
	mine.restore(res.Safety.N)
	mine.Write("theirs", "1\n")
	if _, err := try(func(r *checkpoint.RestoreRequest) { r.AllPanes = true }); err != nil {
		t.Fatal(err)
	}
	mine.holds(map[string]string{"named": "0\n", "theirs": "0\n", "shared": "0\n"})
}

func TestRevertOfAFileThatBothPanesChanged(t *testing.T) {
	mine := newRoom(t, map[string]string{"a": "0\n", "b": "0\n"})
	theirs := mine.neighbour()
	mine.begin()
	theirs.beginAmid()
	mine.Write("a", "1\n")
	mine.Write("b", "1\n")
	theirs.finish(mine, []int{1}, "a")
	n := mine.finish(theirs, []int{1}, "a", "b").N
	req := mine.request(n)
	req.Mine = true
	_, err := mine.store.Revert(t.Context(), req)
	e := wantCode(t, err, checkpoint.OthersChanged)
	wantPaths(t, "both", e.Paths, "a")
	wantPaths(t, "flags", e.Flags, "--all-panes")
	req.Paths = []string{"b"}
	if _, err := mine.store.Revert(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	mine.holds(map[string]string{"a": "1\n", "b": "0\n"})
}

// TestRevertOfWhatCameBetweenTwoCheckpoints reverts a checkpoint that is of no turn:
// since the pane's one before, the other pane had a turn.
func TestRevertOfWhatCameBetweenTwoCheckpoints(t *testing.T) {
	for _, first := range []bool{true, false} {
		mine := newRoom(t, map[string]string{"a": "0\n", "b": "0\n"})
		theirs := mine.neighbour()
		if !first {
			mine.take("one", func() { mine.Write("a", "1\n") })
		}
		theirs.take("theirs", func() { mine.Write("b", "theirs\n") })
		mine.Write("a", "a person's\n")
		saved, err := mine.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: mine.pane, Label: "by hand"})
		if err != nil {
			t.Fatal(err)
		}
		n := saved.Checkpoint.N
		_, err = mine.revert(n)
		wantPaths(t, "paths", wantCode(t, err, checkpoint.OthersChanged).Paths, "b")
		if _, err := mine.revert(n, "a"); err != nil {
			t.Fatal(err)
		}
		mine.holds(map[string]string{"b": "theirs\n", "a": map[bool]string{true: "0\n", false: "1\n"}[first]})
	}
}
