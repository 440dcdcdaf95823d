//go:build unix

package cases

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

func TestB37IndexStaysByteIdentical(t *testing.T) {
	r := newRoom(t, map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n"})
	r.Write("a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n")
	r.Git("add", "a.txt")
	r.Write("a.txt", "one\n2\n3\n4\n5\n6\n7\neight\n")
	index, staged := r.Read(".git/index"), r.Git("diff", "--cached")
	unchanged := func(when string) {
		t.Helper()
		if r.Read(".git/index") != index || r.Git("diff", "--cached") != staged {
			t.Errorf("the index has changed %s", when)
		}
	}
	c := r.take(func() { r.Write("b", "b\n") })
	unchanged("by a save")
	r.Write("a.txt", "all else\n")
	r.back(c.N, func() { unchanged("by a restore") })
	unchanged("by taking it back")
}

// conflict is a room in the middle of a merge that stopped at f.
func conflict(t *testing.T, more map[string]string) *room {
	files := map[string]string{"src/c": "base\n"}
	for path, content := range more {
		files[path] = content
	}
	r := newRoom(t, files)
	r.Git("checkout", "-q", "-b", "other")
	r.Write("src/c", "theirs\n")
	r.Commit("theirs")
	r.Git("checkout", "-q", "main")
	r.Write("src/c", "ours\n")
	r.Commit("ours")
	if _, err := r.TryGit("merge", "other"); err == nil {
		t.Fatal("there is no conflict")
	}
	return r
}

func TestB43ConflictedIndexStopsNothing(t *testing.T) {
	r := conflict(t, map[string]string{"a": "1\n"})
	before := r.Fingerprint().Without("tree/")
	markers := r.Read("src/c")
	one := r.take(func() { r.Write("a", "2\n") })
	if got := r.Git("show", one.Commit+":src/c"); got+"\n" != markers {
		t.Errorf("saved is %q", got)
	}
	r.take(func() { r.Write("src/c", "resolved\n") })
	r.back(one.N, func() { r.wantFile("src/c", markers) })
	same(t, "the merge", before, r.Fingerprint().Without("tree/"))
	if got := r.Git("ls-files", "-u"); strings.Count(got, "\n") != 2 {
		t.Errorf("stages are %q", got)
	}
	r.Write("src/c", "resolved\n")
	r.Git("add", "src/c")
	r.Git("-c", "core.editor=true", "merge", "--continue")
}

func TestB44OnlyWhatDiffersIsRestoredInAConflict(t *testing.T) {
	r := conflict(t, map[string]string{"src/l": "file\n", "src/m": "1\n"})
	one := r.take(func() { r.Write("src/m", "2\n") })
	r.Symlink("m", "src/l")
	r.Write("src/m", "3\n")
	unmerged := r.Git("ls-files", "-u")
	st, err := os.Lstat(r.Path("src/c"))
	if err != nil {
		t.Fatal(err)
	}
	r.back(one.N, func() {
		r.wantFile("src/m", "2\n")
		if target, err := os.Readlink(r.Path("src/l")); err == nil {
			t.Errorf("src/l is a link to %s", target)
		}
	})
	after, err := os.Lstat(r.Path("src/c"))
	if err != nil || !after.ModTime().Equal(st.ModTime()) {
		t.Errorf("src/c was written: %v", err)
	}
	if r.Git("ls-files", "-u") != unmerged {
		t.Error("the conflict is gone from the index")
	}
}

func TestB46BrokenIndexIsLeftAlone(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "gone": "1\n"})
	r.Remove("gone")
	data := r.Read(".git/index")
	r.Write(".git/index", data[:len(data)/2])
	c := r.take(func() { r.Write("a", "2\n"); r.Write("new", "n\n") })
	r.wantPaths(c, "a", "new")
	r.Write("a", "3\n")
	r.back(c.N, func() { r.wantFile("a", "2\n") })
	if r.Read(".git/index") != data[:len(data)/2] {
		t.Error("the index was touched")
	}
}

// TestB46NameThatGitTakesIntoNoIndex has an index that only another program can
// have written.
func TestB46NameThatGitTakesIntoNoIndex(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Git("-c", "core.protectHFS=false", "update-index", "--add", "--cacheinfo", "100644,"+r.Git("rev-parse", "HEAD:a")+",.g\u200cit/f")
	c := r.take(func() { r.Write("a", "2\n") })
	r.Write("a", "3\n")
	r.back(c.N, func() { r.wantFile("a", "2\n") })
}

func TestB62EmptiedFolderKeepsWhatIsIgnored(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", ".gitignore": "*.o\n"})
	one := r.take(func() { r.Write("a", "2\n") })
	r.take(func() { r.Write("b/v/new.txt", "n\n"); r.Write("b/v/cache.o", "o\n"); r.Write("c/only.txt", "c\n") })
	r.back(one.N, func() {
		if r.Exists("b/v/new.txt") || r.Exists("c") {
			t.Error("what the turn made is still there")
		}
		r.wantFile("b/v/cache.o", "o\n")
	})
}

func TestB16MetadataDoNotGrowWithTheFiles(t *testing.T) {
	r := small(t, map[string]string{"a": "1\n"})
	large := strings.Repeat("large\n", 200)
	size := func(c *checkpoint.Checkpoint) int { return len(r.Git("cat-file", "commit", c.Commit)) }
	for i := range 30 {
		r.Write(fmt.Sprintf("large/%04d", i), large)
	}
	few := size(r.take(func() { r.Write("a", "2\n") }))
	for i := range 500 {
		r.Write(fmt.Sprintf("large/%04d", 1000+i), large)
		r.Write(fmt.Sprintf("small/%04d", i), "s\n")
	}
	c := r.take(func() { r.Write("a", "3\n") })
	if c.LeftOutCount != 530 || len(c.LeftOut) != 20 {
		t.Errorf("%d left out, %d named", c.LeftOutCount, len(c.LeftOut))
	}
	if many := size(c); many > few+100 {
		t.Errorf("the commit grew from %d to %d bytes", few, many)
	}
	list, err := r.store.LeftOutAll(t.Context(), *c)
	if err != nil || len(list) != 530 {
		t.Errorf("the complete list has %d, %v", len(list), err)
	}
}
