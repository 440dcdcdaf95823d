package checkpoint_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/turnback/turnback/checkpoint"
)

// What an earlier look found in the repository, held by no ref, is held by the
// save itself: git gc may take it from the repository at any time.
func TestObjectsOfAnEarlierLookAreHeld(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1"})
	r.store = open(t, r.Repo, func(o *checkpoint.Options) { o.Now = func() time.Time { return time.Now().Add(time.Minute) } })
	r.GitInput("of a merge that is not finished\n", "hash-object", "-w", "--stdin")
	r.Write("b", "of a merge that is not finished\n")
	// The first look takes the file in, and nothing comes of it.
	if _, err := r.store.Undo(t.Context(), r.request(0)); !checkpoint.HasCode(err, checkpoint.NothingToUndo) {
		t.Fatal(err)
	}
	res, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true})
	if err != nil {
		t.Fatal(err)
	}
	id := r.GitInput("of a merge that is not finished\n", "hash-object", "--stdin")
	if err := os.Remove(r.Path(".git/objects/" + id[:2] + "/" + id[2:])); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if out, err := r.TryGit("cat-file", "-e", res.Checkpoint.Commit+":b"); err != nil {
		t.Errorf("the checkpoint has lost b: %v %s", err, out)
	}
}

// TestB97BrokenRefOfAPaneIsSaid has the file that a machine leaves that lost its power
// while git wrote the ref.
func TestB97BrokenRefOfAPaneIsSaid(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("a", "2\n") })
	r.Write(".git/refs/turnback/panes/"+r.pane.ID, "")
	r.Write("a", "3\n")
	_, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true})
	if e := wantCode(t, err, checkpoint.Damaged); e.Command != "checkpoint verify --mend" {
		t.Errorf("the error does not say what helps, but %q", e.Command)
	}
}
