package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

func index(t *testing.T) string { return filepath.Join(t.TempDir(), "index") }

// What the repository has already, but nothing reaches, is kept like what is new.
func TestHoldCopiesWhatNothingReaches(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	repo := open(t, r)
	r.Write("f", "known\n")
	id := r.GitInput("known\n", "hash-object", "-w", "--stdin")
	at := index(t)
	if err := repo.Through(nil).AddToIndex(t.Context(), at, []string{"f"}); err != nil {
		t.Fatal(err)
	}
	gone, err := repo.Hold(t.Context(), []string{id})
	if err != nil || len(gone) != 0 {
		t.Fatal(gone, err)
	}
	r.Git("prune", "--expire=now")
	if err := repo.Flush(); err != nil {
		t.Fatal(err)
	}
	r.Git("gc", "-q", "--prune=now")
	if got := r.Git("cat-file", "blob", id); got != "known" {
		t.Errorf("the object is %q", got)
	}
}

// What git saw and a gc took before it could be kept is named.
func TestHoldNamesWhatWentMeanwhile(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	repo := open(t, r)
	r.Write("f", "known\n")
	id := r.GitInput("known\n", "hash-object", "-w", "--stdin")
	if err := repo.Through(nil).AddToIndex(t.Context(), index(t), []string{"f"}); err != nil {
		t.Fatal(err)
	}
	r.Git("prune", "--expire=now")
	gone, err := repo.Hold(t.Context(), []string{id})
	if err != nil || len(gone) != 1 || gone[0] != id {
		t.Fatal(gone, err)
	}
	if err := repo.Discard(); err != nil {
		t.Fatal(err)
	}
}

// What was let in once is not copied again.
func TestHoldStandsOnKeptPacks(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	repo := open(t, r)
	r.Write("f", "known\n")
	id := strings.TrimSpace(r.GitInput("known\n", "hash-object", "--stdin"))
	for range 2 {
		if err := repo.Through(nil).AddToIndex(t.Context(), index(t), []string{"f"}); err != nil {
			t.Fatal(err)
		}
		if gone, err := repo.Hold(t.Context(), []string{id}); err != nil || len(gone) != 0 {
			t.Fatal(gone, err)
		}
		if err := repo.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	packs, err := filepath.Glob(r.Path(".git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Errorf("packs %v, %v", packs, err)
	}
}

// The object directory may lie on another disk, and the repository's path may
// have what separates object directories.
func TestOddPlaces(t *testing.T) {
	home := gittest.NewHome(t)
	r := gittest.At(t, home, filepath.Join(filepath.Dir(home), `a:b "c"\d #e`))
	if err := os.MkdirAll(r.Root, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "-q")
	r.Write(".gitattributes", "* text=auto\n")
	r.Write("f", "1\r\n2\r\n")
	r.Commit("first")
	if dir, err := os.MkdirTemp("/dev/shm", "turnback-test-"); err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		r.Git("-c", "gc.auto=0", "repack", "-q", "-a", "-d")
		objects := r.Path(".git/objects")
		if err := os.CopyFS(dir+"/o", os.DirFS(objects)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(objects); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(dir+"/o", objects); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Logf("no second disk: %v", err)
	}
	repo := open(t, r)
	r.Write("f", "1\r\n3\r\n")
	at := index(t)
	if err := repo.Through(nil).AddToIndex(t.Context(), at, []string{"f"}); err != nil {
		t.Fatal(err)
	}
	entries, err := repo.IndexEntries(t.Context(), at)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if _, err := repo.Hold(t.Context(), []string{entries[0].ID}); err != nil {
		t.Fatal(err)
	}
	w, err := repo.WriteTrees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := w.Write([]git.Entry{entries[0].Entry})
	if err != nil {
		t.Fatal(err)
	}
	got, err := repo.TreeEntries(t.Context(), tree)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	r.Git("fsck", "--strict")
	if text := r.Git("cat-file", "blob", got[0].ID); text != "1\n3" {
		t.Errorf("stored as %q", text)
	}
}
