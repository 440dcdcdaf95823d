package indexfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/turnback/turnback/internal/git/indexfile"
)

// TestRewriteWritesAllOrNothing has everything that can come between a look at the
// index and its new one.
func TestRewriteWritesAllOrNothing(t *testing.T) {
	broken := errors.New("broken")
	edit := func(private string) error { return os.WriteFile(private, []byte("new"), 0o600) }
	tests := map[string]struct {
		meanwhile func(path string) error
		edit      func(private string) error
		want      error
		holds     string
		lock      bool // somebody else's, which stays
	}{
		"written":      {edit: edit, holds: "new"},
		"changed":      {meanwhile: func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o644) }, edit: edit, want: indexfile.ErrChanged, holds: "theirs"},
		"gone":         {meanwhile: os.Remove, edit: edit, want: indexfile.ErrChanged},
		"locked":       {meanwhile: func(path string) error { return os.WriteFile(path+".lock", nil, 0o644) }, edit: edit, want: indexfile.ErrLocked, holds: "old", lock: true},
		"failed":       {edit: func(string) error { return broken }, want: broken, holds: "old"},
		"half written": {edit: func(private string) error { return errors.Join(os.WriteFile(private, []byte("ne"), 0o600), broken) }, want: broken, holds: "old"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			scratch, path := t.TempDir(), filepath.Join(t.TempDir(), "index")
			if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, sum, err := indexfile.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if test.meanwhile != nil {
				if err := test.meanwhile(path); err != nil {
					t.Fatal(err)
				}
			}
			if err := indexfile.Rewrite(path, scratch, sum, test.edit); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if got, _, err := indexfile.Read(path); err != nil || string(got) != test.holds {
				t.Errorf("the index is %q (%v), want %q", got, err, test.holds)
			}
			if _, err := os.Lstat(path + ".lock"); (err == nil) != test.lock {
				t.Errorf("a lock is left: %t, want %t", err == nil, test.lock)
			}
			if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
