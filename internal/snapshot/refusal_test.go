package snapshot_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

func TestRefusal(t *testing.T) {
	const store = "store"
	for _, c := range []struct {
		said, path, want string
		code             int
	}{
		{"error: unable to create temporary file: No space left on device\nerror: f: failed to insert into database\nfatal: Unable to process path f", "f", store, 128},
		{"error: insufficient permission for adding an object to repository database .git/objects\nerror: f: failed to insert into database\nfatal: Unable to process path f", "f", store, 128},
		{"fatal: Unable to create '/r/index.lock': File exists.", "f", store, 128},
		{"fatal: unable to write loose object file: Disk quota exceeded", "f", store, 128},
		{"fatal: Out of memory, malloc failed (tried to allocate 9 bytes)", "f", store, 128},
		{"fatal: Unable to write new index file", "f", store, 128},
		{"fatal: whatever", "f", store, -1},
		{"usage: git update-index", "f", store, 129},
		{"error: open(\"f\"): Permission denied\nerror: unable to index file 'f'\nfatal: Unable to process path f", "f", snapshot.Unreadable, 128},
		{"error: Invalid path '.git/f'\nfatal: Unable to process path .git/f", ".git/f", snapshot.BadName, 128},
		{"error: external filter 'x' failed 1\nfatal: f: clean filter 'x' failed", "f", snapshot.Filter, 128},
		{"no space left on device\nerror: no space left on device\nfatal: f: clean filter 'x' failed", "f", snapshot.Filter, 128},
		{"out of memory, says the file\nfatal: strange", "f", snapshot.NotStorable, 128},
		{"fatal: BOM is required in 'f' if encoded as UTF-16", "f", snapshot.NotStorable, 128},
		{"fatal: BOM is required in 'No space left' if encoded as UTF-16", "No space left", snapshot.NotStorable, 128},
		{"", "f", snapshot.NotStorable, 1},
	} {
		err := fmt.Errorf("store: %w", &git.Error{Op: "update-index", Code: c.code, Stderr: c.said, Err: errors.New("failed")})
		got, ok := snapshot.Refusal(err, []string{c.path})
		if !ok {
			got = store
		}
		if got != c.want {
			t.Errorf("%q with code %d is %q, want %q", c.said, c.code, got, c.want)
		}
	}
	if _, ok := snapshot.Refusal(errors.New("no process"), nil); ok {
		t.Error("an error that is not git's counts as one path's")
	}
}
