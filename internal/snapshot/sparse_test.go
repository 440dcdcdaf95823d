package snapshot_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/testutil/gittest"
)

// Git takes the rules of an ignore file from the index where it was told to do
// without the file on disk.
func TestB59IgnoreFileThatIsOnlyInTheIndex(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n", ".gitignore": "*.o\n", "d/.gitignore": "x\n"}))
	b.Write("b.o", "ignored\n")
	b.Write("d/x", "ignored\n")
	b.Write("d/y", "kept\n")
	b.settled()
	b.wantPaths(t, b.compare(t.Context(), t), ".gitignore", "a", "d/.gitignore", "d/y")

	t.Log("the files go, and git is told so")
	b.Git("update-index", "--skip-worktree", ".gitignore", "d/.gitignore")
	for _, path := range []string{".gitignore", "d/.gitignore"} {
		if err := os.Remove(b.Path(path)); err != nil {
			t.Fatal(err)
		}
	}
	b.wantPaths(t, b.compare(t.Context(), t), ".gitignore", "a", "d/.gitignore", "d/y")

	t.Log("the index gets another rule, and a new scanner looks")
	blob := b.GitInput("y\n", "hash-object", "-w", "--stdin")
	b.Git("update-index", "--cacheinfo", "100644,"+blob+",d/.gitignore")
	b.Git("update-index", "--skip-worktree", "d/.gitignore")
	b.wantPaths(t, b.compare(t.Context(), t), ".gitignore", "a", "d/.gitignore", "d/x")

	t.Log("git is to look for the files again: they are gone, with their rules")
	b.Git("update-index", "--no-skip-worktree", ".gitignore", "d/.gitignore")
	b.wantPaths(t, b.compare(t.Context(), t), "a", "b.o", "d/x", "d/y")
}

// A file that stands on disk though git was told to do without it goes: the index is
// the same as before, and has the file's say again.
func TestFileThatGitDoesWithoutGoesUnderTheSameIndex(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n", "b": "1\n", ".gitignore": "/ig\n"}))
	b.Git("update-index", "--skip-worktree", ".gitignore", "b")
	b.WriteAll(map[string]string{".gitignore": "\n", "ig": "x\n"})
	b.settled()
	b.wantPaths(t, b.compare(t.Context(), t), ".gitignore", "a", "b", "ig")
	b.Remove(".gitignore")
	b.Remove("b")
	res := b.compare(t.Context(), t)
	b.wantPaths(t, res, ".gitignore", "a", "b")
	if diff := cmp.Diff([]string{".gitignore", "b"}, res.Without); diff != "" {
		t.Errorf("not there (- want, + got):\n%s", diff)
	}
}
