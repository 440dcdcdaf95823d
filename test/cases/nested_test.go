//go:build linux

package cases

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/turnback/turnback/internal/testutil/gittest"
)

func TestB01FreshRepositoryInsideStopsNothing(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Git("init", "--quiet", "inner")
	r.Write("inner/u.txt", "u\n")
	inner := gittest.Tree(t, r.Path("inner/.git"))
	c := r.take(func() { r.Write("new.txt", "n\n") })
	r.wantPaths(c, "a", "new.txt")
	r.wantOut(c, "inner: nested repository")
	r.Write("new.txt", "later\n")
	r.back(c.N, func() {
		r.wantFile("new.txt", "n\n")
		r.wantFile("inner/u.txt", "u\n")
	})
	same(t, "the inner git directory", inner, gittest.Tree(t, r.Path("inner/.git")))
}

func TestB02RepositoryInsideIsNoPointerAndNotTouched(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	inner := gittest.At(t, r.Home, r.Path("inner"))
	r.Mkdir("inner")
	inner.Git("init", "--quiet")
	inner.Write("tracked", "1\n")
	inner.Commit("first")
	inner.Write("tracked", "dirty\n")
	inner.Write("untracked", "u\n")
	c := r.take(func() { r.Write("a", "2\n") })
	r.wantPaths(c, "a")
	r.wantOut(c, "inner: nested repository")
	inner.Write("tracked", "later\n")
	inner.Write("untracked", "later\n")
	r.Write("a", "3\n")
	before := inner.Tree()
	r.back(c.N, func() {
		r.wantFile("a", "2\n")
		same(t, "the inner work tree", before, inner.Tree())
	})
}

// TestB04NothingBelowAnotherRepositoryIsEverWritten has no right to write below
// the inner repository, at any of many saves and restores: what is not tried
// cannot break off in its middle.
func TestB04NothingBelowAnotherRepositoryIsEverWritten(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	inner := gittest.At(t, r.Home, r.Path("inner"))
	r.Mkdir("inner")
	inner.Git("init", "--quiet")
	inner.Write("f", "1\n")
	inner.Commit("first")
	changes := watch(t, r.Path("inner"))
	for i := range 5 {
		c := r.take(func() { r.Write("a", string(rune('a'+i))) })
		r.restore(1)
		r.restore(c.N)
	}
	if got := changes(); len(got) > 0 {
		t.Errorf("below the inner repository something happened to %q", got)
	}
	inner.Git("status")
}

// TestB04NoEmptyFolderIsMadeInARepository restores a folder that became a repository
// since.
func TestB04NoEmptyFolderIsMadeInARepository(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Mkdir("inner/empty")
	c := r.take(func() { r.Write("a", "2\n") })
	r.Remove("inner/empty")
	inner := gittest.At(t, r.Home, r.Path("inner"))
	inner.Git("init", "--quiet")
	inner.Write("f", "1\n")
	inner.Commit("first")
	r.Write("a", "3\n")
	before := inner.Tree()
	r.back(c.N, func() {
		r.wantFile("a", "2\n")
		same(t, "the inner work tree", before, inner.Tree())
	})
}

// watch notes what is written, made, moved or removed below dir, until the
// function is called that gives the names.
func watch(t *testing.T, dir string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		const events = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
		_, err = unix.InotifyAddWatch(fd, path, events)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() []string {
		buf := make([]byte, 64<<10)
		n, err := unix.Read(fd, buf)
		if err == unix.EAGAIN {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return []string{string(buf[unix.SizeofInotifyEvent:n])}
	}
}

// TestB110ABrokenRepositoryInsideCostsOnlyItself has a submodule whose git
// directory is broken beside work that is sound.
func TestB110ABrokenRepositoryInsideCostsOnlyItself(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.AddSubmodule("sub", map[string]string{"f": "1\n"})
	r.Commit("with a submodule")
	r.Write(".git/modules/sub/HEAD", "garbage\n")
	r.Write(".git/modules/sub/index", "garbage\n")
	before := gittest.Tree(t, r.Path("sub"))
	c := r.take(func() { r.Write("a", "2\n"); r.Write("new", "n\n") })
	r.wantPaths(c, ".gitmodules", "a", "new", "sub")
	r.wantOut(c, "sub: submodule")
	r.Write("a", "3\n")
	r.back(c.N, func() { r.wantFile("a", "2\n") })
	same(t, "the submodule", before, gittest.Tree(t, r.Path("sub")))
}
