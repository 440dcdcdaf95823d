package checkpoint_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// backAndForth restores the safety checkpoint of a restore, and then that one's: the
// files have to be those before the restore, and those after it.
func (r *room) backAndForth(safety int, before, after map[string]gittest.Entry) {
	r.t.Helper()
	back := r.restore(safety)
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		r.t.Errorf("there and back (- before, + now):\n%s", diff)
	}
	r.restore(back.Safety.N)
	if diff := cmp.Diff(after, r.Tree()); diff != "" {
		r.t.Errorf("and forth again (- after, + now):\n%s", diff)
	}
}

// What a restore made goes again when its safety checkpoint is restored, also where
// git ignores it by then, and comes back with the next step.
func TestRestoreAndBackWhereIgnoreRulesChange(t *testing.T) {
	for name, before := range map[string]func(r *room){
		"ignored before":  func(r *room) { r.Write(".gitignore", "new\n"); r.Remove("new") },
		"ignored after":   func(r *room) { r.Remove("new"); r.Git("rm", "-q", "--cached", "new") },
		"an empty folder": func(r *room) { r.Write(".gitignore", "e*\n"); r.Remove("empty") },
		"an empty folder in the place of a file": func(r *room) {
			r.Write(".gitignore", "new/\n")
			r.Remove("new")
			r.Mkdir("new/hidden")
		},
		"hidden from git": func(r *room) {
			r.Git("update-index", "--skip-worktree", "new")
			r.Remove("new")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1"})
			r.Write("new", "2")
			r.Mkdir("empty/inner")
			if name == "ignored after" {
				r.Write(".gitignore", "n*\n")
			}
			r.Git("add", "--force", "new")
			r.take("one", func() { r.Write("a", "3") })
			if name == "ignored after" {
				r.Write(".gitignore", "")
			}
			r.Write("a", "4")
			before(r)
			then := r.Tree()
			forth := r.restore(1)
			after := r.Tree()
			r.backAndForth(forth.Safety.N, then, after)
		})
	}
}

// What a restore took away comes back when its safety checkpoint is restored, also
// where git was told to do without it: its index answers for the file then.
func TestRestoreAndBackOfFilesThatGitDoesWithout(t *testing.T) {
	for name, how := range map[string]struct {
		write  func(r *room)
		revert bool
	}{
		"a file":             {write: func(r *room) { r.Write("late", "2\n") }},
		"a link":             {write: func(r *room) { r.Symlink("a", "late") }},
		"with its own bytes": {write: func(r *room) { r.Git("config", "core.autocrlf", "true"); r.Write("late", "2\r\n3\r\n") }},
		"reverted":           {write: func(r *room) { r.Write("late", "2\n") }, revert: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1"})
			r.take("one", func() { r.Write("a", "3") })
			r.take("two", func() { how.write(r); r.Git("add", "late") })
			r.Git("update-index", "--skip-worktree", "late")
			then := r.Tree()
			takeAway, n := r.store.Restore, 1
			if how.revert {
				takeAway, n = r.store.Revert, 2
			}
			forth, err := takeAway(t.Context(), r.request(n))
			if err != nil {
				t.Fatal(err)
			}
			after := r.Tree()
			if _, ok := after["late"]; ok {
				t.Fatal("nothing was taken away")
			}
			r.backAndForth(forth.Safety.N, then, after)
		})
	}
}

// An ignored empty folder that a restore writes into is there again when its safety
// checkpoint is restored: with the file alone it would go, and no look at the work
// tree tells of it.
func TestRestoreAndBackOfEmptyFoldersThatGitIgnores(t *testing.T) {
	for name, how := range map[string]struct {
		file string
		mode os.FileMode
	}{
		"with the file in it":      {file: "d/e/b", mode: 0o755},
		"with a folder made in it": {file: "d/e/f/g/b", mode: 0o755},
		"with bits of its own":     {file: "d/e/b", mode: 0o700},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1", how.file: "2"})
			r.take("one", func() { r.Write("a", "3") })
			r.Git("rm", "-q", "-r", "--cached", "d/e")
			r.Remove("d")
			r.Mkdir("d/e")
			r.Chmod("d/e", how.mode)
			r.Write("d/.gitignore", "*\n")
			then := r.Tree()
			forth := r.restore(1)
			after := r.Tree()
			if _, ok := after[how.file]; !ok {
				t.Fatal("nothing was written into the folder")
			}
			r.backAndForth(forth.Safety.N, then, after)
		})
	}
}

// emptied is a room with a turn in which git was told to do without the file d/e/b,
// and d/e was left as an empty folder that git ignores, with bits of its own.
func emptied(t *testing.T) *room {
	r := newRoom(t, map[string]string{"a": "1\n", "d/e/b": "2\n"})
	r.take("one", func() {
		r.Git("rm", "-q", "--cached", "d/e/b")
		r.Remove("d")
		r.Mkdir("d/e")
		r.Chmod("d/e", 0o700)
		r.Write("d/.gitignore", "*\n")
	})
	return r
}

// The folder is there again when an undo that was killed is aborted, and
// when its safety checkpoint is restored, also beside later edits.
func TestUndoAndBackOfEmptyFoldersThatGitIgnores(t *testing.T) {
	for name, back := range map[string]func(r *room, safety int) error{
		"aborted": func(r *room, _ int) error {
			_, err := r.store.Finish(r.t.Context(), checkpoint.FinishRequest{Abort: true})
			return err
		},
		"the safety checkpoint": func(r *room, safety int) error {
			_, err := r.store.Restore(r.t.Context(), r.request(safety))
			return err
		},
	} {
		for _, edited := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, edited %v", name, edited), func(t *testing.T) {
				r := emptied(t)
				if edited {
					r.Write("late", "3\n")
				}
				then, req := r.Tree(), r.request(0)
				req.KeepEdits = edited
				if name == "aborted" {
					req.Step = func(step string) error {
						if r.Exists("d/e/b") {
							return checkpoint.ErrStopped
						}
						return nil
					}
				}
				undone, err := r.store.Undo(t.Context(), req)
				if name == "aborted" && !errors.Is(err, checkpoint.ErrStopped) || name != "aborted" && err != nil {
					t.Fatalf("undo: %v", err)
				}
				if !r.Exists("d/e/b") {
					t.Fatal("nothing was written into the folder")
				}
				safety := 0
				if undone.Safety != nil {
					safety = undone.Safety.N
				}
				if err := back(r, safety); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(then, r.Tree()); diff != "" {
					t.Errorf("there and back (- before, + now):\n%s", diff)
				}
			})
		}
	}
}

// An ignored file stands where the target has an empty folder: it stays, and stays
// on the way back, when it is ignored no longer.
func TestRestoreAndBackWhereAFileIsInTheWayOfAnEmptyFolder(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1", ".gitignore": "*.o\n"})
	r.take("one", func() { r.Write("a", "2"); r.Mkdir("b") })
	r.Remove("b")
	r.Write("b", "mine\n")
	r.Write(".gitignore", "b\n")
	then := r.Tree()
	forth := r.restore(1)
	r.restore(forth.Safety.N)
	r.sameTree(then)
}
