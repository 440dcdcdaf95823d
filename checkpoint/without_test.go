package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// doWithout has git do without a file.
func (r *room) doWithout(path string) { r.Git("update-index", "--skip-worktree", path) }

// standing are two moments of a file that git is told to do without: what stands on
// disk differs and what git has of it does not, or only by what HEAD has.
func standing() map[string]struct{ then, now func(r *room) } {
	gone := func(r *room) { r.Remove("d") }
	there := func(r *room) { r.Write("d/f", "1\n") }
	edited := func(r *room) { r.Write("d/f", "mine\n") }
	return map[string]struct{ then, now func(r *room) }{
		"gone since":    {there, gone},
		"there since":   {gone, there},
		"edited since":  {gone, edited},
		"was edited":    {edited, gone},
		"gone and gone": {gone, func(r *room) { r.Remove("a") }},
		"with its own bytes": {func(r *room) {
			r.Git("config", "core.autocrlf", "true")
			r.Write("d/f", "1\r\n2\r\n")
		}, gone},
		"with bits of its own": {func(r *room) { r.Chmod("d/f", 0o600) }, gone},
		"flagged since":        {func(r *room) { r.Git("update-index", "--no-skip-worktree", "d/f") }, func(r *room) { r.doWithout("d/f"); gone(r) }},
		"committed since": {gone, func(r *room) {
			r.Git("update-index", "--no-skip-worktree", "d/f")
			there(r)
			r.Write("d/f", "2\n")
			r.Git("commit", "-qam", "two")
			r.doWithout("d/f")
			gone(r)
		}},
	}
}

// Whether a file stood on disk that git was told to do without is as it was, after a
// restore and on the way back.
func TestRestoreOfFilesThatGitDoesWithout(t *testing.T) {
	for name, m := range standing() {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1", "d/f": "1\n"})
			r.doWithout("d/f")
			m.then(r)
			then := r.Tree()
			one := r.take("one", func() { r.Write("b", "2") })
			r.Remove("b")
			m.now(r)
			now := r.Tree()
			forth := r.restore(one.N)
			r.Remove("b")
			r.sameTree(then)
			r.Write("b", "2")
			r.backAndForth(forth.Safety.N, now, r.Tree())
			r.Remove("b")
			r.sameTree(then)
		})
	}
}

// The same for a turn that is taken back and put forward again.
func TestUndoOfFilesThatGitDoesWithout(t *testing.T) {
	for name, m := range standing() {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1", "d/f": "1\n"})
			r.doWithout("d/f")
			m.then(r)
			then := r.Tree()
			r.take("one", func() { r.Write("b", "2"); m.now(r) })
			now := r.Tree()
			for range 2 {
				req := r.request(0)
				req.Here = true
				for _, step := range []struct {
					move func(*checkpoint.Store) (checkpoint.RestoreResult, error)
					want map[string]gittest.Entry
				}{
					{func(s *checkpoint.Store) (checkpoint.RestoreResult, error) { return s.Undo(t.Context(), req) }, then},
					{func(s *checkpoint.Store) (checkpoint.RestoreResult, error) { return s.Redo(t.Context(), req) }, now},
				} {
					if _, err := step.move(r.store); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(step.want, r.Tree()); diff != "" {
						t.Fatalf("(- then, + now):\n%s", diff)
					}
				}
			}
		})
	}
}

// In a sparse work tree a restore does not write what git was told to do without.
func TestRestoreInASparseWorkTreeWritesNothingOfTheRest(t *testing.T) {
	r := newRoom(t, map[string]string{"in/a": "1", "out/b": "2"})
	r.take("one", func() { r.Write("in/a", "3") })
	r.Write("in/a", "1")
	r.Git("sparse-checkout", "set", "--cone", "in")
	r.restore(1)
	if r.Exists("out/b") || r.Read("in/a") != "3" {
		t.Errorf("restored: %v", r.Tree())
	}
}
