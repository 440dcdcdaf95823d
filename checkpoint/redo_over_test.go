//go:build unix

package checkpoint_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// TestRedoPutsBackWhatTheUndoWroteOver has files that git ignores by the end of a
// turn, and that stand where its base had others, or nothing.
func TestRedoPutsBackWhatTheUndoWroteOver(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.WriteAll(map[string]string{"env": "of the project\n", "gone": "x\n"}) })
	r.take("two", func() {
		r.Write(".gitignore", "/env\n/gone\n")
		r.Write("env", "secret\x00\r\n")
		r.Chmod("env", 0o600)
		r.Remove("gone")
	})
	after := r.Tree(".git")
	req := r.request(0)
	_, err := r.store.Undo(t.Context(), req)
	wantCode(t, err, checkpoint.WouldOverwrite)
	req.Overwrite = true
	for range 2 {
		if _, err := r.store.Undo(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if got := r.Read("env") + r.Read("gone"); got != "of the project\nx\n" {
			t.Fatalf("undone: %q", got)
		}
		if _, err := r.store.Redo(t.Context(), r.request(0)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(after, r.Tree(".git")); diff != "" {
			t.Fatalf("redone (- before the undo, + now):\n%s", diff)
		}
	}
}

// A turn is redone after its undo made what git ignores by the rules that stay: that
// is no edit, and the empty folders in which it stood are there again.
func TestRedoAfterAnUndoMadeWhatGitIgnores(t *testing.T) {
	for name, hide := range map[string]func(r *room){
		"in a folder that stays":        func(r *room) { r.Mkdir("d/e"); r.Chmod("d/e", 0o700); r.Write("d/.gitignore", "*\n") },
		"in the place of a folder":      func(r *room) { r.Mkdir("d/e/b/f"); r.Chmod("d/e/b/f", 0o700); r.Write("d/.gitignore", "*\n") },
		"by the repository's own rules": func(r *room) { r.Write(".git/info/exclude", "/d/\n") },
	} {
		for _, discard := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, discard edits %v", name, discard), func(t *testing.T) {
				r := newRoom(t, map[string]string{"a": "1\n", "d/e/b": "2\n"})
				r.take("one", func() {
					r.Git("rm", "-q", "--cached", "d/e/b")
					r.Remove("d")
					hide(r)
				})
				then := r.Tree()
				for range 2 {
					if _, err := r.store.Undo(t.Context(), r.request(0)); err != nil {
						t.Fatal(err)
					}
					if got := r.Read("d/e/b"); got != "2\n" {
						t.Fatalf("undone: %q", got)
					}
					req := r.request(0)
					req.DiscardEdits = discard
					if _, err := r.store.Redo(t.Context(), req); err != nil {
						t.Fatal(err)
					}
					r.sameTree(then)
				}
			})
		}
	}
}

// What git ignores since a turn, or was told to do without, is no edit, as long as it
// is as the turn before left it: that one is taken back, too.
func TestUndoFurtherPastWhatGitIgnoresSince(t *testing.T) {
	for name, turn := range map[string]func(r *room){
		"ignored": func(r *room) { r.Git("rm", "-q", "--cached", "b"); r.Write(".git/info/exclude", "/b\n") },
		"without": func(r *room) {
			r.Write("late", "3\n")
			r.Git("add", "late")
			r.Git("update-index", "--skip-worktree", "late")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n", "b": "2\n"})
			before := r.Tree(".git")
			r.take("one", func() { r.Write("a", "3\n") })
			one := r.Tree(".git")
			r.take("two", func() { turn(r); r.Write("a", "4\n") })
			two := r.Tree(".git")
			for _, step := range []struct {
				move func(context.Context, checkpoint.RestoreRequest) (checkpoint.RestoreResult, error)
				want map[string]gittest.Entry
			}{{r.store.Undo, one}, {r.store.Undo, before}, {r.store.Redo, one}, {r.store.Redo, two}} {
				if _, err := step.move(t.Context(), r.request(0)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(step.want, r.Tree(".git")); diff != "" {
					t.Fatalf("(- then, + now):\n%s", diff)
				}
			}
		})
	}
}

// A file that git ignores by now, and that was edited since the undo, stops the redo.
func TestRedoIsStoppedByEditsOfWhatGitIgnores(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "b": "2\n"})
	r.take("one", func() {
		r.Git("rm", "-q", "--cached", "b")
		r.Remove("b")
		r.Write(".git/info/exclude", "/b\n")
	})
	if _, err := r.store.Undo(t.Context(), r.request(0)); err != nil {
		t.Fatal(err)
	}
	r.Write("b", "mine\n")
	_, err := r.store.Redo(t.Context(), r.request(0))
	if e := wantCode(t, err, checkpoint.EditedSince); len(e.Paths) != 1 || e.Paths[0] != "b" {
		t.Errorf("it names %q", e.Paths)
	}
}
