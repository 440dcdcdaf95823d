//go:build unix

package snapshot_test

import (
	"testing"

	"github.com/turnback/turnback/internal/testutil/gittest"
)

// TestRulesThatChangedBelowAnUnjudgedFolderCount has a folder where the index has a
// file: git is asked about it whenever the index is read, and what is below is
// walked only then.
func TestRulesThatChangedBelowAnUnjudgedFolderCount(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	b.Write("d", "a file\n")
	b.Git("add", "d")
	b.Remove("d")
	b.WriteAll(map[string]string{"d/.gitignore": "*\n!a\n", "d/a": "seen\n", "d/b": "hidden\n"})
	b.settled()
	b.wantPaths(t, b.compare(t.Context(), t), "a", "d/a")
	b.Write("d/.gitignore", "a\n")
	b.Git("update-index", "--chmod=+x", "a") // the index is read again
	b.wantPaths(t, b.compare(t.Context(), t), "a", "d/.gitignore", "d/b")
}
