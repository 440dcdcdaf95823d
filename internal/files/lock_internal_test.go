//go:build unix

package files

import (
	"os"
	"path/filepath"
	"testing"
)

// The lock on a file that was removed meanwhile keeps nobody out: others lock
// the file that is there now.
func TestIsAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !isAt(f, path) {
		t.Error("the file that is there is not known")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if isAt(f, path) {
		t.Error("a file that was removed is taken for one that is there")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if isAt(f, path) {
		t.Error("a file that was replaced is taken for the one that is there")
	}
}
