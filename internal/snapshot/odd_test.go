//go:build unix

package snapshot_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/snapshot"
	"github.com/turnback/turnback/internal/snapshot/fresh"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// TestFileThatGitCannotConvertIsStoredAsItIs has files that git refuses for their
// encoding: in the tree stand their very bytes.
func TestFileThatGitCannotConvertIsStoredAsItIs(t *testing.T) {
	for name, encoding := range map[string]string{"no byte order mark": "UTF-16", "unknown encoding": "NOPE"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n", "was.u16": "as text\n"}))
			b.Write(".gitattributes", "*.u16 text working-tree-encoding="+encoding+"\n")
			b.WriteAll(map[string]string{"bad.u16": "abc", "two.u16": "a\r\nc", "was.u16": "not text", "ok": "ok\n"})
			b.Chmod("two.u16", 0o755)
			want := map[string]string{"bad.u16": "abc", "two.u16": "a\r\nc", "was.u16": "not text"}
			res := b.compare(t.Context(), t)
			wantOut(t, res)
			b.wantPaths(t, res, ".gitattributes", "a", "bad.u16", "ok", "two.u16", "was.u16")
			b.wantBlobs(t, res, want)
			b.settled()
			b.make(t)
			// Now the bad ones are all that is to be stored.
			b.Write("bad.u16", "abcd")
			want["bad.u16"] = "abcd"
			res = b.compare(t.Context(), t)
			wantOut(t, res)
			b.wantBlobs(t, res, want)
		})
	}
}

// wantBlobs fails unless the tree of res has these contents.
func (b *bench) wantBlobs(t *testing.T, res snapshot.Result, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for path := range want {
		got[path] = b.Git("cat-file", "blob", res.Tree+":"+path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content in the tree (- want, + got):\n%s", diff)
	}
}

func TestNameOfAFileIsNoWordOfGit(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	b.Write(".gitattributes", "*.u16 text working-tree-encoding=UTF-16\n")
	b.Write("object database/No space left.u16", "abc")
	b.Write("filter.u16", "abc")
	res := b.compare(t.Context(), t)
	wantOut(t, res)
	b.wantBlobs(t, res, map[string]string{"filter.u16": "abc", "object database/No space left.u16": "abc"})
}

func TestGitThatTakesNothingFailsTheSave(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	bin := t.TempDir()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\ncase \" $* \" in *' update-index --add '*) echo 'fatal: strange' >&2; exit 128;; esac\nexec '" + real + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := git.Find(t.Context(), git.FindOptions{Env: append([]string{"PATH=" + bin + ":" + os.Getenv("PATH")}, b.Env()[1:]...)})
	if err != nil {
		t.Fatal(err)
	}
	b.repo = b.repo.With(g)
	b.scan = b.newScan()
	b.Write("new", "n\n")
	res, err := b.scan.Make(t.Context(), b.request(t.Context(), t))
	if err == nil || !strings.Contains(err.Error(), "strange") {
		t.Fatalf("saved with a git that takes no file: %v, %v", res, err)
	}
}

func TestTrackedNameThatCouldBeDotGitIsLeftOut(t *testing.T) {
	bad := ".g\u200cit"
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n", "d/b": "2\n"}))
	blob := b.Git("rev-parse", "HEAD:a")
	commit := b.Git("rev-parse", "HEAD")
	track := func(mode, id, path string) { b.Git("update-index", "--add", "--cacheinfo", mode+","+id+","+path) }
	track("100644", blob, bad+"/f")
	track("100644", blob, "d/"+bad)
	track("100644", blob, bad+"/kept")
	track("160000", commit, "d/sub/"+bad)
	b.Git("update-index", "--skip-worktree", bad+"/kept")

	t.Log("nothing of it on disk")
	want := []string{bad + "/kept: name not allowed", "d/sub/" + bad + ": name not allowed"}
	res := b.compare(t.Context(), t)
	wantOut(t, res, want...)
	b.wantPaths(t, res, "a", "d/b")
	wantOut(t, b.compare(t.Context(), t), want...)

	t.Log("on disk")
	b.WriteAll(map[string]string{bad + "/f": "x\n", "d/" + bad: "y\n", "new/" + bad + "/u": "z\n"})
	want = []string{bad + "/f: name not allowed", bad + "/kept: name not allowed", "d/" + bad + ": name not allowed", "d/sub/" + bad + ": name not allowed", "new/" + bad + "/u: name not allowed"}
	slices.Sort(want)
	res = b.compare(t.Context(), t)
	wantOut(t, res, want...)
	b.wantPaths(t, res, "a", "d/b")

	t.Log("after a restart")
	if err := b.scan.Persist(); err != nil {
		t.Fatal(err)
	}
	b.settled()
	wantOut(t, b.compare(t.Context(), t), want...)

	t.Log("something else in its place")
	b.Remove("d/" + bad)
	if err := unix.Mkfifo(b.Path("d/"+bad), 0o600); err != nil {
		t.Fatal(err)
	}
	wantOut(t, b.compare(t.Context(), t), want...)
}

func TestFolderWithAPathTooLongIsLeftOut(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	deep := makeDeep(t, b.Root)
	res := b.make(t)
	if len(res.LeftOut) == 0 {
		t.Fatal("nothing is left out")
	}
	for _, l := range res.LeftOut {
		if l.Reason != snapshot.Unreadable || !strings.HasPrefix(deep+"/", l.Path+"/") && !strings.HasPrefix(l.Path, strings.Repeat("d", 200)) {
			t.Errorf("left out: %.40q…: %s", l.Path, l.Reason)
		}
	}
	paths := map[string]bool{}
	for _, e := range b.list(t.Context(), t, res.Tree) {
		paths[e.Path] = true
	}
	if !paths["a"] || !paths[strings.Repeat("d", 200)+"/f"] {
		t.Errorf("the tree lacks what can be read: %d paths", len(paths))
	}
	b.Write("a", "2\n")
	if again := b.make(t); !cmp.Equal(again.LeftOut, res.LeftOut) || again.Tree == res.Tree {
		t.Errorf("the next save: tree %s after %s, %d paths left out after %d", again.Tree, res.Tree, len(again.LeftOut), len(res.LeftOut))
	}
}

// makeDeep makes 25 folders of 200 letters one in the other, a file and a link
// in each, and returns the path of the innermost.
func makeDeep(t *testing.T, root string) string {
	t.Helper()
	name := strings.Repeat("d", 200)
	fds := []int{}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for range 25 {
		if err != nil {
			break
		}
		fds = append(fds, fd)
		if err = unix.Mkdirat(fd, name, 0o755); err != nil {
			break
		}
		if fd, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
			break
		}
		file, openErr := unix.Openat(fd, "f", unix.O_CREAT|unix.O_WRONLY, 0o644)
		err = errors.Join(openErr, unix.Close(file), unix.Symlinkat("f", fd, "l"))
	}
	fds = append(fds, fd)
	if err != nil {
		t.Fatalf("make a deep folder: %v", err)
	}
	t.Cleanup(func() {
		for i := len(fds) - 1; i >= 0; i-- {
			if i > 0 {
				_ = unix.Unlinkat(fds[i], "f", 0)
				_ = unix.Unlinkat(fds[i], "l", 0)
			}
			_ = unix.Unlinkat(fds[i], name, unix.AT_REMOVEDIR)
			_ = unix.Close(fds[i])
		}
	})
	return strings.TrimSuffix(strings.Repeat(name+"/", 25), "/")
}

func TestModeThatChangesOnlyInTheIndexIsSeen(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n", "b": "2\n"}))
	b.Git("config", "core.fileMode", "false")
	b.settled()
	b.compare(t.Context(), t)
	b.Git("update-index", "--chmod=+x", "a")
	b.compare(t.Context(), t)
	b.Git("rm", "-q", "--cached", "a")
	b.compare(t.Context(), t)
}

func TestContentOfTheIndexDecidesAboutLineEnds(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	b.Git("config", "core.autocrlf", "true")
	b.Write("dos", "1\r\n")
	b.settled()
	b.compare(t.Context(), t)
	b.Git("-c", "core.autocrlf=false", "add", "dos")
	b.compare(t.Context(), t)
	b.Git("rm", "-q", "--cached", "dos")
	b.compare(t.Context(), t)
}

func TestSettingsThatChangeAreSeen(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n", "b": "2\n"}))
	b.Git("config", "core.fileMode", "false")
	b.Chmod("a", 0o755)
	b.settled()
	first := b.compare(t.Context(), t)
	b.Git("config", "core.fileMode", "true")
	if second := b.compare(t.Context(), t); second.Tree == first.Tree {
		t.Error("the executable bit is not seen")
	}
	if err := b.scan.Persist(); err != nil {
		t.Fatal(err)
	}
	b.settled()
	b.Git("config", "core.fileMode", "false")
	b.compare(t.Context(), t)
}

func TestIgnoreFileInANamedHome(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	rules := filepath.Join(b.Home, "rules")
	me, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(me.HomeDir, rules)
	if err != nil {
		t.Fatal(err)
	}
	b.Git("config", "core.excludesFile", "~"+me.Username+"/"+rel)
	b.Write("ig", "x\n")
	b.settled()
	b.compare(t.Context(), t)
	if err := os.WriteFile(rules, []byte("ig\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.wantPaths(t, b.compare(t.Context(), t), "a")
}

func TestFileThatIsLookedAtAgainIsNotNew(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	b.limits = snapshot.Limits{MaxUntracked: 2000, MaxNewUntracked: 2000}
	b.WriteAll(map[string]string{"u1": strings.Repeat("1", 900), "u2": strings.Repeat("2", 900)})
	b.settled()
	wantOut(t, b.make(t))
	b.Write("u3", strings.Repeat("3", 900))
	wantOut(t, b.make(t))
	if err := b.scan.Persist(); err != nil {
		t.Fatal(err)
	}
	b.settled()
	for _, name := range []string{"u1", "u2", "u3"} {
		if err := os.Chtimes(b.Path(name), time.Time{}, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	res := b.make(t)
	wantOut(t, res)
	b.wantPaths(t, res, "a", "u1", "u2", "u3")
	for _, name := range []string{"u1", "u2", "u3"} {
		b.Write(name, strings.Repeat("n", 901))
	}
	wantOut(t, b.make(t), "u1: too much new")
}

func TestLeftoversOfAKilledSaveGo(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	for _, name := range []string{"index-123/index.lock", "index-mine/x", "index-4", "newest.json"} {
		b.Write(".git/turnback/"+name, "")
	}
	b.make(t)
	var got []string
	list, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		got = append(got, d.Name())
	}
	if diff := cmp.Diff([]string{"index-4", "index-mine", "newest.json", "quarantine"}, got); diff != "" {
		t.Errorf("what is left (- want, + got):\n%s", diff)
	}
}

// TestTemporaryFilesOfARestoreAreNotTaken has those that the request names, and
// files of the person's that are called alike.
func TestTemporaryFilesOfARestoreAreNotTaken(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n", ".turnback-tracked-1": "t\n"}))
	run := restore.Run{ID: "manual-3"}
	b.WriteAll(map[string]string{
		run.TempName(0): "x\n", "d/" + run.TempName(12): "x\n", "d/" + run.TempName(12) + "-old": "x\n",
		"e/" + run.TempName(0): "x\n", run.TempName(1): "x\n", run.TempName(0) + "-new": "x\n", ".turnback-a-1/in": "x\n",
	})
	b.Symlink("a", run.TempName(3))
	b.passing = map[string]bool{run.TempName(0): true, "d/" + run.TempName(12): true, "d/" + run.TempName(12) + "-old": true, run.TempName(3): true, ".turnback-tracked-1": true}
	mine := []string{".turnback-a-1/in", run.TempName(0) + "-new", run.TempName(1), ".turnback-tracked-1", "a", "e/" + run.TempName(0)}
	all := append([]string{"d/" + run.TempName(12), "d/" + run.TempName(12) + "-old", run.TempName(0), run.TempName(3)}, mine...)
	slices.Sort(mine)
	slices.Sort(all)
	look := func(want []string) {
		t.Helper()
		res := b.compare(t.Context(), t)
		wantOut(t, res)
		b.wantPaths(t, res, want...)
	}
	look(mine)
	b.settled()
	look(mine)
	look(mine)
	b.passing = nil // no journal names them any more
	look(all)
	b.passing = map[string]bool{run.TempName(0): true, "d/" + run.TempName(12): true, "d/" + run.TempName(12) + "-old": true, run.TempName(3): true}
	look(mine)
}

// TestALinkCalledGitmodulesIsLeftOut has links that git takes into no index, and
// one that came with the tree of a commit.
func TestALinkCalledGitmodulesIsLeftOut(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	b.Symlink("a", ".gitmodules")
	b.Symlink("a", "d/GITMOD~1")
	b.Symlink("a", "d/.gitattributes")
	b.Write("e/.gitmodules", "")
	want := []string{".gitmodules: name not allowed", "d/GITMOD~1: name not allowed"}
	res := b.compare(t.Context(), t)
	wantOut(t, res, want...)
	b.wantPaths(t, res, "a", "d/.gitattributes", "e/.gitmodules")

	t.Log("from a commit, without an index")
	blob := strings.TrimSpace(b.GitInput("a", "hash-object", "-w", "--stdin"))
	tree := strings.TrimSpace(b.GitInput("120000 blob "+blob+"\t.gitmodules\x00100644 blob "+blob+"\tx\x00", "mktree", "-z"))
	b.Git("update-ref", "HEAD", strings.TrimSpace(b.GitInput("m", "commit-tree", tree)))
	b.Remove(".git/index")
	res = b.make(t)
	wantOut(t, res, want...)
	b.Remove(".gitmodules")
	b.Remove("d/GITMOD~1")
	wantOut(t, b.make(t))
	b.Write(".gitmodules", "no link\n")
	res = b.make(t)
	wantOut(t, res)
	b.wantPaths(t, res, ".gitmodules", "a", "d/.gitattributes", "e/.gitmodules")
}

// TestAttributesThatChangeCountForFilesSeenBefore has files that are old enough to
// be known by their stat data, and attributes that say something else of them
// then: git makes other blobs of the same bytes.
func TestAttributesThatChangeCountForFilesSeenBefore(t *testing.T) {
	const here, parent, info, home = "d/.gitattributes", ".gitattributes", ".git/info/attributes", "home"
	for _, where := range []string{here, parent, info, home} {
		for _, tracked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, tracked %t", where, tracked), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
				file := b.Path(where)
				if where == home {
					file = filepath.Join(b.Home, "attributes")
					b.Git("config", "core.attributesFile", file)
				}
				put := func(text string) {
					t.Helper()
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				b.WriteAll(map[string]string{"d/f": "x\r\ny\r\n", "d/g/f": "x\r\n", "e": "x\r\n"})
				if tracked {
					b.Git("add", "-A")
					b.Git("commit", "-q", "-m", "c")
				}
				b.settled()
				b.compare(t.Context(), t)
				put("* text\n")
				b.compare(t.Context(), t)
				put("* -text\n") // of the same size
				b.compare(t.Context(), t)
				put("* text \n")
				b.compare(t.Context(), t)
				if err := os.Rename(file, file+".away"); err != nil {
					t.Fatal(err)
				}
				b.compare(t.Context(), t)
				if err := b.scan.Persist(); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(file+".away", file); err != nil {
					t.Fatal(err)
				}
				b.settled() // another process
				b.compare(t.Context(), t)
			})
		}
	}
}

// TestBytesThatGitMakesOthersOfAreKeptByTheOracle has bytes to be kept beside that
// no object of the repository has yet.
func TestBytesThatGitMakesOthersOfAreKeptByTheOracle(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	b.Write(".gitattributes", "b working-tree-encoding=IBM037\n")
	b.Write("d/b", "baba")
	res, err := fresh.New(b.repo, b.dir, b.trusted).Make(t.Context(), b.request(t.Context(), t))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.repo.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := b.content(t, res.Bytes, snapshot.BytesRaw+"/d/b"); got != "baba" {
		t.Errorf("%q is kept", got)
	}
	b.compare(t.Context(), t)
}
