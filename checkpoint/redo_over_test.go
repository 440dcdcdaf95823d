//go:build unix

package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
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
