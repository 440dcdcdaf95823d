package checkpoint_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A folder whose name no tree may hold costs only itself, also when it is empty or
// has permission bits of its own.
func TestFolderThatCouldBeDotGitDamagesNoCheckpoint(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1"})
	r.take("one", func() { r.Write("a", "2") })
	r.Mkdir("git~1")
	r.Mkdir("d/.GIT")
	r.Chmod("d/.GIT", 0o700)
	r.Write("d/.GIT/x", "left out")
	r.Write("a", "precious")
	then := r.Tree()
	res := r.restore(1)
	r.restore(res.Safety.N)
	if diff := cmp.Diff(then, r.Tree()); diff != "" {
		t.Errorf("there and back (- before, + now):\n%s", diff)
	}
}

// With core.symlinks off a link is a file that holds its target.
func TestRestoreWhereLinksAreFiles(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1"})
	r.Symlink("target", "l")
	r.Commit("link")
	r.Git("config", "core.symlinks", "false")
	if err := os.Remove(r.Path("l")); err != nil {
		t.Fatal(err)
	}
	r.Write("l", "other")
	r.take("one", func() { r.Write("a", "2") })
	r.Write("l", "third")
	r.restore(1)
	if st, err := os.Lstat(r.Path("l")); err != nil || !st.Mode().IsRegular() || r.Read("l") != "other" {
		t.Errorf("l is %v (%v), %q", st.Mode(), err, r.Read("l"))
	}
}
