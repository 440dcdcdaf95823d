package checkpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// stored lists the files of the object store, and those of ours that hold objects.
func (r *room) stored() []string {
	r.t.Helper()
	var list []string
	for _, dir := range []string{".git/objects", ".git/turnback/quarantine", ".git/turnback/lfs"} {
		err := filepath.WalkDir(r.Path(dir), func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err == nil && !d.IsDir() {
				list = append(list, strings.TrimPrefix(path, r.Root))
			}
			return err
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	slices.Sort(list)
	return list
}

// TestADryRunStoresNothing has work in the tree that no checkpoint holds yet, and
// enough of it that some is stored by git and some by turnback itself.
func TestADryRunStoresNothing(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "b/c": "1\n2\n3\n"})
	r.take("edits", func() { r.Write("a", "2\n"); r.Write("b/c", "1\n2\nthree\n") })
	r.Write("b/c", "one\n2\nthree\n")
	r.Write("b/new", "new\n")
	r.Write("large", strings.Repeat("0123456789abcdef", 100_000)) // becomes a pack of its own
	r.Write("a", "staged\n")
	r.Git("add", "a")
	r.Write("a", "3\n")
	before := r.stored()
	for _, way := range []struct {
		name string
		run  func(checkpoint.RestoreRequest) (checkpoint.RestoreResult, error)
		want []string
	}{
		{"restore", func(q checkpoint.RestoreRequest) (checkpoint.RestoreResult, error) {
			return r.store.Restore(t.Context(), q)
		}, []string{"a", "b/c"}},
		{"restore --staged", func(q checkpoint.RestoreRequest) (checkpoint.RestoreResult, error) {
			return r.store.RestoreStaged(t.Context(), q)
		}, []string{"a"}},
		{"revert", func(q checkpoint.RestoreRequest) (checkpoint.RestoreResult, error) {
			q.Paths = []string{"b/c"}
			return r.store.Revert(t.Context(), q)
		}, []string{"b/c"}},
		{"undo", func(q checkpoint.RestoreRequest) (checkpoint.RestoreResult, error) {
			q.DiscardEdits = true
			return r.store.Undo(t.Context(), q)
		}, []string{"a", "b/c"}},
	} {
		q := r.request(1)
		q.DryRun = true
		res, err := way.run(q)
		if err != nil {
			t.Fatalf("%s: %v", way.name, err)
		}
		if !cmp.Equal(res.Written, way.want) {
			t.Errorf("%s would write %q, want %q", way.name, res.Written, way.want)
		}
		if diff := cmp.Diff(before, r.stored()); diff != "" {
			t.Errorf("a dry run of %s left objects (-before +after):\n%s", way.name, diff)
		}
	}
	// What the dry runs found is not taken for stored.
	res := r.restore(1)
	r.Git("fsck", "--strict", "--connectivity-only")
	if got := r.Git("show", res.Safety.Commit+":b/new"); got != "new" {
		t.Errorf("the safety checkpoint has %q", got)
	}
}
