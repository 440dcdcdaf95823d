package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
			back := r.restore(forth.Safety.N)
			if diff := cmp.Diff(then, r.Tree()); diff != "" {
				t.Errorf("there and back (- before, + now):\n%s", diff)
			}
			r.restore(back.Safety.N)
			if diff := cmp.Diff(after, r.Tree()); diff != "" {
				t.Errorf("and forth again (- after, + now):\n%s", diff)
			}
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
			back := r.restore(forth.Safety.N)
			if diff := cmp.Diff(then, r.Tree()); diff != "" {
				t.Errorf("there and back (- before, + now):\n%s", diff)
			}
			r.restore(back.Safety.N)
			if diff := cmp.Diff(after, r.Tree()); diff != "" {
				t.Errorf("and forth again (- after, + now):\n%s", diff)
			}
		})
	}
}
