//go:build unix

package cases

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

func TestB28FolderThatBecameALink(t *testing.T) {
	r := newRoom(t, map[string]string{"skills/a": "1\n"})
	one := r.take(func() { r.Write("skills/a", "2\n") })
	r.take(func() { r.Rename("skills", "shared"); r.Symlink("shared", "skills") })
	three := r.take(func() { r.Write("shared/b", "b\n") })
	r.wantPaths(three, "shared/a", "shared/b", "skills")
	r.back(one.N, func() {
		r.wantFile("skills/a", "2\n")
		if r.Exists("shared") {
			t.Error("shared is still there")
		}
	})
	r.restore(one.N)
	r.restore(three.N)
	if target, err := os.Readlink(r.Path("skills")); target != "shared" {
		t.Errorf("skills leads to %q, %v", target, err)
	}
	r.wantFile("shared/b", "b\n")
}

// TestB28ALinkInThePlaceOfAFolderOfOddNames has names with capitals and names that
// are no UTF-8: some volumes take other spellings for the same file, these do not.
func TestB28ALinkInThePlaceOfAFolderOfOddNames(t *testing.T) {
	for _, file := range []string{"Skills/a", "Skills/\xff", "Skills/\xff\xfe/a", "Sk\xff/A/a"} {
		t.Run(fmt.Sprintf("%q", file), func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			one := r.take(func() { r.Write(file, "2\n") })
			r.take(func() {
				dir, _, _ := strings.Cut(file, "/")
				if err := os.RemoveAll(r.Path(dir)); err != nil {
					t.Fatal(err)
				}
				r.Symlink("nowhere", dir)
			})
			r.back(one.N, func() { r.wantFile(file, "2\n") })
		})
	}
}

func TestB29LinksAreKeptAsTheyAre(t *testing.T) {
	r := newRoom(t, map[string]string{"dir/f": "1\n"})
	links := map[string]string{"nowhere": "is/not", "folder": "dir", "itself": "itself", "absolute": "/etc/hostname", "out": "../../..", "odd": "a\nb \xff"}
	c := r.take(func() {
		for name, target := range links {
			r.Symlink(target, name)
		}
	})
	r.wantOut(c)
	r.take(func() {
		for name := range links {
			r.Remove(name)
		}
	})
	r.back(c.N, func() {
		for name, target := range links {
			if got, err := os.Readlink(r.Path(name)); got != target {
				t.Errorf("%s leads to %q, %v", name, got, err)
			}
		}
	})
}

func TestB31EmptyFolderInThePlaceOfAFileAndTheOtherWay(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	one := r.take(func() { r.Write("p", "file\n") })
	r.Remove("p")
	r.Mkdir("p")
	r.back(one.N, func() { r.wantFile("p", "file\n") })
	r.Remove("p")
	two := r.take(func() { r.Write("p/x", "below\n") })
	three := r.take(func() { r.Remove("p"); r.Write("p", "file again\n") })
	r.back(two.N, func() { r.wantFile("p/x", "below\n") })
	r.restore(two.N)
	r.restore(three.N)
	r.wantFile("p", "file again\n")
}

func TestB32PipesAndSocketsAreNeverOpened(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "b": "1\n"})
	one := r.take(func() { r.Write("a", "2\n") })
	pipe := func(path string) {
		if err := unix.Mkfifo(r.Path(path), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pipe("pipe")
	short, err := os.MkdirTemp("", "s") // a socket's path has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(short) }()
	l, err := net.Listen("unix", short+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := os.Rename(short+"/s", r.Path("socket")); err != nil {
		t.Skipf("a socket cannot be moved here: %v", err)
	}
	r.Remove("a")
	pipe("a")
	two := r.take(func() { r.Write("b", "2\n") })
	r.wantPaths(two, "a", "b")
	r.wantOut(two, "a: not a regular file")
	_, err = r.store.Restore(t.Context(), r.request(one.N))
	if err != nil {
		wantCode(t, err, checkpoint.WouldOverwrite)
	}
	for _, path := range []string{"a", "pipe", "socket"} {
		st, err := os.Lstat(r.Path(path))
		if err != nil || st.Mode().IsRegular() {
			t.Errorf("%s is %v, %v", path, st, err)
		}
	}
}

// TestB38EditWithinTheSameTick has a file changed right after it was staged, with
// the same size.
func TestB38EditWithinTheSameTick(t *testing.T) {
	for range 10 {
		r := newRoom(t, map[string]string{"f": "0000\n"})
		r.Write("f", "aaaa\n")
		r.Git("add", "f")
		r.Write("f", "bbbb\n")
		c := r.save()
		if got := r.Git("show", c.Commit+":f"); got != "bbbb" {
			t.Fatalf("saved is %q", got)
		}
		r.Write("f", "cccc\n")
		if got := r.Git("show", r.save().Commit+":f"); got != "cccc" {
			t.Fatalf("saved is %q", got)
		}
	}
}

func TestB40FlagsOfTheIndexHideNothing(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	r.Git("update-index", "--skip-worktree", "a")
	r.Git("update-index", "--assume-unchanged", "b")
	flags := r.Git("ls-files", "-v")
	before := r.Read(".git/index")
	c := r.take(func() { r.Write("a", "a two\n"); r.Write("b", "b two\n") })
	for _, name := range []string{"a", "b"} {
		if got := r.Git("show", c.Commit+":"+name); got != name+" two" {
			t.Errorf("saved is %q", got)
		}
	}
	r.Remove("a")
	r.Remove("b")
	r.restore(c.N)
	r.wantFile("a", "a two\n")
	r.wantFile("b", "b two\n")
	if r.Read(".git/index") != before || r.Git("ls-files", "-v") != flags {
		t.Error("the index has changed")
	}
}

// asNobody runs the test once more as a user for whom a mode counts, where this
// one is root; then it tells true.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 {
		return false
	}
	dir, err := os.MkdirTemp("/tmp", "nobody") // TMPDIR may be one that only its owner gets to
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile(os.Args[0]) // where it stands, only its owner gets to
	if err == nil {
		err = os.WriteFile(dir+"/test", program, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), dir+"/test", "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
	return true
}

func TestB49UnreadableFolderIsNoDeletion(t *testing.T) {
	if asNobody(t) {
		return
	}
	r := newRoom(t, map[string]string{"a": "1\n", "lockd/tracked": "1\n"})
	one := r.take(func() { r.Write("lockd/z", "z\n") })
	r.Chmod("lockd", 0)
	two := r.take(func() { r.Write("a", "2\n") })
	r.wantOut(two, "lockd: unreadable")
	r.Chmod("lockd", 0o755)
	r.back(two.N, func() { r.wantFile("lockd/z", "z\n") })
	r.back(one.N, func() { r.wantFile("lockd/z", "z\n") })
}

// TestB50FilesThatComeAndGoWhileASaveRuns makes and removes files all the time.
func TestB50FilesThatComeAndGoWhileASaveRuns(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n"})
	stop := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			path := r.Path(fmt.Sprintf("tmp_%d", i%7))
			_ = os.WriteFile(path, []byte(strings.Repeat("x", i%5000)), 0o644)
			_ = os.Mkdir(r.Path("tmp_dir"), 0o755)
			_ = os.WriteFile(r.Path("tmp_dir/x"), []byte("x"), 0o644)
			_ = os.RemoveAll(r.Path("tmp_dir"))
			_ = os.Remove(path)
		}
	})
	for i := range 25 {
		want := fmt.Sprintf("%d\n", i+1)
		c, err := r.try(func() { r.Write("a", want) })
		if err != nil || c == nil {
			t.Errorf("save %d: %v", i, err)
			break
		}
		if got := r.Git("show", c.Commit+":a"); got+"\n" != want {
			t.Errorf("save %d has %q", i, got)
		}
	}
	close(stop)
	busy.Wait()
}

func TestB68NoCommitYet(t *testing.T) {
	r := in(t, gittest.New(t))
	r.Write("a", "staged\n")
	r.Git("add", "a")
	r.Write("b", "untracked\n")
	c := r.save()
	r.wantPaths(c, "a", "b")
	r.Remove("a")
	r.Remove("b")
	r.restore(c.N)
	r.wantFile("a", "staged\n")
	r.wantFile("b", "untracked\n")
	if refs := r.Git("for-each-ref", "refs/heads"); refs != "" {
		t.Errorf("branches were made: %s", refs)
	}
}

func TestB70StopsInTheMiddleOfGitsOwnWorkGoOn(t *testing.T) {
	for name, c := range map[string]struct{ begin, end []string }{
		"rebase":      {[]string{"rebase", "other"}, []string{"-c", "core.editor=true", "rebase", "--continue"}},
		"cherry-pick": {[]string{"cherry-pick", "other"}, []string{"-c", "core.editor=true", "cherry-pick", "--continue"}},
		"merge":       {[]string{"merge", "other"}, []string{"-c", "core.editor=true", "merge", "--continue"}},
		"revert":      {[]string{"revert", "HEAD~1"}, []string{"-c", "core.editor=true", "revert", "--continue"}},
		"bisect":      {[]string{"bisect", "start", "HEAD", "HEAD~1"}, []string{"bisect", "reset"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"f": "one\n", "g": "g\n"})
			r.Git("checkout", "-q", "-b", "other")
			r.Write("f", "other\n")
			r.Commit("other")
			r.Git("checkout", "-q", "main")
			r.Write("f", "two\n")
			r.Commit("two")
			r.Write("f", "three\n")
			r.Commit("three")
			if name == "rebase" {
				r.Git("reset", "-q", "--hard", "HEAD~1") // one conflict is enough
			}
			_, err := r.TryGit(c.begin...)
			if name != "bisect" && err == nil {
				t.Fatal("there is no conflict")
			}
			one := r.take(func() { r.Write("g", "with markers\n") })
			before := r.Fingerprint().Without("tree/")
			r.take(func() { r.Write("g", "later\n") })
			r.restore(one.N)
			r.wantFile("g", "with markers\n")
			same(t, "git's own state", before, r.Fingerprint().Without("tree/"))
			r.Git("checkout", "HEAD", "--", "g")
			if name != "bisect" {
				r.Write("f", "resolved\n")
				r.Git("add", "f")
			}
			r.Git(c.end...)
		})
	}
}

func TestB71CommitsMadeLaterStay(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	one := r.take(func() { r.Write("a", "2\n") })
	r.Commit("later")
	r.Write("a", "3\n")
	before := r.Fingerprint().Without("tree/")
	r.restore(one.N)
	r.wantFile("a", "2\n")
	same(t, "the person's things", before, r.Fingerprint().Without("tree/"))
	r.Git("checkout", "-q", "-f", "-b", "elsewhere")
	_, err := r.store.Restore(t.Context(), r.request(one.N))
	wantCode(t, err, checkpoint.HeadMoved)
	q := r.request(one.N)
	q.Here = true
	if _, err := r.store.Restore(t.Context(), q); err != nil {
		t.Error(err)
	}
	if branch := r.Git("symbolic-ref", "HEAD"); branch != "refs/heads/elsewhere" {
		t.Errorf("HEAD is on %s", branch)
	}
}

// script writes a program that notes that it ran.
func script(t *testing.T, mark string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ntouch '"+mark+"'\nsleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestB82NothingIsSigned(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	mark := filepath.Join(t.TempDir(), "ran")
	program := script(t, mark)
	for _, kv := range [][2]string{
		{"commit.gpgSign", "true"},
		{"tag.gpgSign", "true"},
		{"gpg.program", program},
		{"gpg.format", "ssh"},
		{"gpg.ssh.program", program},
		{"user.signingKey", "key"},
		{"core.editor", program},
		{"core.askPass", program},
	} {
		r.Git("config", kv[0], kv[1])
	}
	begun := time.Now()
	c := r.take(func() { r.Write("a", "2\n") })
	r.Write("a", "3\n")
	r.restore(c.N)
	if _, err := os.Lstat(mark); err == nil || time.Since(begun) > 50*time.Second {
		t.Error("the program was started")
	}
}

func TestB83NoIdentityIsNeeded(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	r.Git("config", "user.useConfigOnly", "true")
	s, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: r.Root, Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	room := &room{Repo: r, t: t, store: s, pane: checkpoint.Pane{ID: "00d333ce"}}
	r.Write("u", "untracked\n")
	c := room.save()
	room.wantPaths(c, "a", "u")
	r.Write("a", "2\n")
	r.Write("u", "changed\n")
	room.back(c.N, func() { room.wantFile("u", "untracked\n") })
	if who := r.Git("log", "-1", "--format=%an <%ae> %cn", c.Commit); who != "turnback <turnback@localhost> turnback" {
		t.Errorf("it is by %s", who)
	}
}

func TestB86FileSystemMonitorIsNotAskedAndNotStarted(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "b": "1\n"})
	mark := filepath.Join(t.TempDir(), "ran")
	r.Git("config", "core.untrackedCache", "true")
	r.Git("update-index", "--fsmonitor")
	r.Git("status")
	r.Git("config", "core.fsmonitor", script(t, mark))
	_ = os.Remove(mark)
	begun := time.Now()
	c := r.take(func() { r.Write("a", "2\n"); r.Write("new", "n\n") })
	r.wantPaths(c, "a", "b", "new")
	if got := r.Git("-c", "core.fsmonitor=false", "show", c.Commit+":a"); got != "2" {
		t.Errorf("saved is %q", got)
	}
	if _, err := os.Lstat(mark); err == nil || time.Since(begun) > 50*time.Second {
		t.Error("the monitor was started")
	}
}

func TestB88SettingsOfADiffChangeNothing(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n2\n3\n", "dir/b": "b\n"})
	c := r.take(func() { r.Write("a", "1\ntwo\n3\n"); r.Rename("dir/b", "dir/c"); r.Write("dir/d", "b\n") })
	look := func() checkpoint.Diff {
		d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: c.N, Context: 3})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := look()
	for _, kv := range [][2]string{
		{"diff.noprefix", "true"},
		{"diff.mnemonicPrefix", "true"},
		{"color.ui", "always"},
		{"diff.external", "/bin/false"},
		{"core.pager", "/bin/false"},
		{"status.relativePaths", "false"},
		{"diff.renames", "copies"},
		{"diff.algorithm", "patience"},
		{"diff.context", "0"},
		{"diff.interHunkContext", "9"},
		{"diff.orderFile", "/dev/null"},
		{"diff.relative", "true"},
		{"diff.ignoreSubmodules", "all"},
		{"diff.submodule", "log"},
		{"core.quotePath", "false"},
		{"diff.wsErrorHighlight", "all"},
		{"diff.colorMoved", "zebra"},
		{"diff.suppressBlankEmpty", "true"},
		{"diff.indentHeuristic", "false"},
		{"core.abbrev", "4"},
	} {
		r.Git("config", kv[0], kv[1])
	}
	same(t, "the diff", before, look())
	r.Write("a", "now\n")
	r.back(c.N, func() { r.wantFile("a", "1\ntwo\n3\n") })
}

// TestB89EveryRefIsACommitAndGitFindsNoFault asks git itself, and libgit2 where a
// program with it is there.
func TestB89EveryRefIsACommitAndGitFindsNoFault(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Git("init", "--quiet", "nested")
	for i := range 3 {
		r.take(func() { r.Write("a", fmt.Sprintf("%d\n", i+2)) })
	}
	r.restore(1)
	for line := range strings.Lines(r.Git("for-each-ref", "--format=%(objecttype) %(refname)", "refs/turnback") + "\n") {
		if !strings.HasPrefix(line, "commit ") {
			t.Errorf("a ref is no commit: %s", line)
		}
	}
	if out := r.Git("-c", "fsck.missingEmail=error", "fsck", "--strict", "--full", "--no-dangling"); out != "" {
		t.Errorf("fsck: %s", out)
	}
	r.Git("log", "--all", "--oneline")
	if err := exec.Command("python3", "-c", "import pygit2").Run(); err != nil {
		t.Log("libgit2 is not here; git alone was asked")
		return
	}
	read := "import pygit2,sys\nr=pygit2.Repository(sys.argv[1])\n[r.references[n].peel(pygit2.Commit) for n in r.references]\nlist(r.branches)\n"
	if out, err := exec.Command("python3", "-c", read, r.Root).CombinedOutput(); err != nil {
		t.Errorf("libgit2: %v: %s", err, out)
	}
}

func TestB91OddIDsReachNoRefAndNoFile(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	before := gittest.Tree(t, filepath.Dir(r.Root))
	for _, id := range []string{
		"../../x", "a b", "w:1.2", "%1", "a.lock", "x..y", "", strings.Repeat("x", 300), "a\nb", "p/1", "P", "-n", ".", "@", "a\x00b", "p~1", "p^", "日本", "refs/heads/main", "*",
	} {
		pane := checkpoint.Pane{ID: id}
		_, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: pane, Always: true})
		wantCode(t, err, checkpoint.InvalidParams)
		_, err = r.store.List(t.Context(), id)
		wantCode(t, err, checkpoint.InvalidParams)
		_, err = r.store.Restore(t.Context(), checkpoint.RestoreRequest{Pane: pane, N: 1})
		wantCode(t, err, checkpoint.InvalidParams)
		_, err = r.store.Drop(t.Context(), id, []int{1})
		wantCode(t, err, checkpoint.InvalidParams)
	}
	same(t, "files", before, gittest.Tree(t, filepath.Dir(r.Root)))
	// Names of windows may be anything: they are in no ref.
	r.pane = checkpoint.Pane{ID: "00d333ce", Window: "../../x\ny", Session: "a.lock"}
	c := r.save()
	got, err := r.store.Get(t.Context(), r.pane.ID, c.N)
	if err != nil || got.Pane.Window != r.pane.Window || got.Pane.Session != r.pane.Session {
		t.Errorf("the names came back as %+v, %v", got.Pane, err)
	}
}

func TestB109FileThatHEADHasAndTheCheckpointHasNot(t *testing.T) {
	r := newRoom(t, map[string]string{"keep": "1\n", "del": "1\n"})
	c := r.take(func() { r.Remove("del") })
	r.Git("checkout", "--", "del")
	before := r.Read(".git/index")
	r.back(c.N, func() {
		if r.Exists("del") {
			t.Error("del is still there")
		}
		if got := r.Git("ls-files", "-s", "del"); got == "" {
			t.Error("the index has lost del")
		}
	})
	if r.Read(".git/index") != before {
		t.Error("the index has changed")
	}
}
