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
