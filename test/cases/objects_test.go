//go:build linux

package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/testutil/gittest"
)

// clone makes a clone of source, which may be gone afterwards.
func clone(t *testing.T, source *gittest.Repo, flags ...string) *gittest.Repo {
	t.Helper()
	c := gittest.At(t, source.Home, filepath.Join(filepath.Dir(source.Root), "clone"))
	source.Git(append(append([]string{"clone", "--quiet"}, flags...), "file://"+source.Root, c.Root)...)
	return c
}

// TestB98ObjectsOfOtherStores borrows objects from a store that borrows itself,
// by a relative path.
func TestB98ObjectsOfOtherStores(t *testing.T) {
	source := gittest.NewCommitted(t, map[string]string{"a": "1\n", ".gitattributes": "* text=auto\n"})
	middle := gittest.At(t, source.Home, filepath.Join(filepath.Dir(source.Root), "middle"))
	source.Git("clone", "--quiet", "--shared", source.Root, middle.Root)
	c := gittest.At(t, source.Home, filepath.Join(filepath.Dir(source.Root), "clone"))
	source.Git("clone", "--quiet", "--shared", middle.Root, c.Root)
	c.Write(".git/objects/info/alternates", "../../../middle/.git/objects\n")
	before := gittest.Tree(t, source.Path(".git"), "objects")
	roundTrip(t, in(t, c))
	same(t, "the store that is borrowed from", before, gittest.Tree(t, source.Path(".git"), "objects"))
}

// TestB65LargeFilesInAPartialClone has files that git puts into a pack at once,
// for which it asks whether they are there.
func TestB65LargeFilesInAPartialClone(t *testing.T) {
	source := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	source.Git("config", "uploadpack.allowFilter", "true")
	c := clone(t, source, "--filter=blob:none")
	if err := os.Rename(source.Root, source.Root+"-away"); err != nil {
		t.Fatal(err)
	}
	c.Write("large", strings.Repeat("0123456789abcde\n", 200_000))
	r := in(t, c)
	roundTrip(t, r)
	r.wantFile("large", strings.Repeat("0123456789abcde\n", 200_000))
}

// TestGitDirectoryElsewhere has it on another disk, where there is one.
func TestGitDirectoryElsewhere(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "turnback-test-")
	if err != nil {
		t.Logf("no second disk: %v", err)
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	source := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	roundTrip(t, in(t, clone(t, source, "--separate-git-dir="+dir+"/git")))
}
