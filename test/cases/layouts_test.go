//go:build linux

package cases

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// roundTrip takes two turns in r, and goes back and forth between them.
func roundTrip(t *testing.T, r *room) {
	t.Helper()
	start := r.Fingerprint().Without("tree/")
	one := r.take(func() { r.Write("trip", "1\n"); r.Write("folder/trip", "1\n") })
	r.take(func() { r.Write("trip", "2\n"); r.Remove("folder/trip") })
	r.back(one.N, func() {
		r.wantFile("trip", "1\n")
		r.wantFile("folder/trip", "1\n")
	})
	if _, err := r.store.Undo(t.Context(), checkpoint.RestoreRequest{Pane: r.pane, Turn: r.turn, State: "done"}); err != nil {
		t.Errorf("undo: %v", err)
	}
	r.wantFile("folder/trip", "1\n")
	if _, err := r.store.Redo(t.Context(), checkpoint.RestoreRequest{Pane: r.pane, Turn: r.turn, State: "done"}); err != nil {
		t.Errorf("redo: %v", err)
	}
	d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: one.N, Context: 3})
	if err != nil || len(d.Files) != 2 {
		t.Errorf("diff: %+v, %v", d.Files, err)
	}
	report, err := r.store.Verify(t.Context(), checkpoint.VerifyRequest{Full: true})
	if err != nil || !report.OK() {
		t.Errorf("verify: %+v, %v", report, err)
	}
	same(t, "the person's things", start, r.Fingerprint().Without("tree/"))
}

func TestB05SubmodulesAreNotReachedInto(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	sub := r.AddSubmodule("sub", map[string]string{"f": "1\n"})
	r.Commit("with a submodule")
	r.Git("config", "--global", "submodule.recurse", "true")
	sub.Write("f", "2\n")
	sub.Commit("moved")
	sub.Write("f", "dirty\n")
	before, head := sub.Tree(), sub.Git("rev-parse", "HEAD")
	roundTrip(t, r)
	same(t, "the submodule", before, sub.Tree())
	if sub.Git("rev-parse", "HEAD") != head {
		t.Error("the submodule's HEAD has moved")
	}
}

func TestB07ASubmoduleIsAWorkTreeOfItsOwn(t *testing.T) {
	parent := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	sub := parent.AddSubmodule("vendored", map[string]string{"f": "1\n"})
	parent.Commit("with a submodule")
	before := gittest.Tree(t, parent.Path(".git"), "modules")
	r := in(t, sub)
	if r.store.Worktree() != sub.Root {
		t.Errorf("the work tree is %s", r.store.Worktree())
	}
	roundTrip(t, r)
	same(t, "the parent's git directory", before, gittest.Tree(t, parent.Path(".git"), "modules"))
	if refs := sub.Git("for-each-ref", "refs/turnback"); refs == "" {
		t.Error("the submodule's repository has no checkpoint")
	}
}

func TestB64FilesOutsideOfTheConeAreSaved(t *testing.T) {
	for _, index := range []string{"full", "sparse"} {
		t.Run(index+" index", func(t *testing.T) {
			r := newRoom(t, map[string]string{"in/i": "1\n", "out/o": "1\n", "far/f": "1\n"})
			flags := []string{"sparse-checkout", "set", "--cone"}
			if index == "sparse" {
				flags = append(flags, "--sparse-index")
			}
			r.Git(append(flags, "in")...)
			r.Write("out/n", "new\n")
			r.Write("out/o", "by hand\n")
			c := r.save()
			r.wantOut(c)
			r.wantPaths(c, "far/f", "in/i", "out/n", "out/o")
			if got := r.Git("show", c.Commit+":out/o"); got != "by hand" {
				t.Errorf("saved is %q", got)
			}
			r.Remove("out")
			r.restore(c.N)
			r.wantFile("out/n", "new\n")
			r.wantFile("out/o", "by hand\n")
			if r.Exists("far") {
				t.Error("what was not there is there now")
			}
			roundTrip(t, r)
		})
	}
}

func TestB65PartialCloneWithoutANetwork(t *testing.T) {
	source := gittest.NewCommitted(t, map[string]string{"in/i": "1\n", "out/o": "outside\n"})
	source.Git("config", "uploadpack.allowFilter", "true")
	clone := gittest.At(t, source.Home, filepath.Join(filepath.Dir(source.Root), "clone"))
	if err := os.Mkdir(clone.Root, 0o755); err != nil {
		t.Fatal(err)
	}
	clone.Git("clone", "--quiet", "--filter=blob:none", "--no-checkout", "file://"+source.Root, ".")
	clone.Git("sparse-checkout", "set", "--cone", "in")
	clone.Git("checkout", "--quiet", "main")
	if err := os.Rename(source.Root, source.Root+"-away"); err != nil {
		t.Fatal(err)
	}
	asked := filepath.Join(t.TempDir(), "asked")
	clone.Git("config", "remote.origin.uploadpack", "touch '"+asked+"'; git-upload-pack")
	r := in(t, clone)
	begun := time.Now()
	c := r.take(func() { r.Write("in/i", "2\n") })
	r.wantPaths(c, "in/i", "out/o")
	r.Write("in/i", "3\n")
	r.restore(c.N)
	r.wantFile("in/i", "2\n")
	if since := time.Since(begun); since > 50*time.Second {
		t.Errorf("it took %v", since)
	}
	report, err := r.store.Verify(t.Context(), checkpoint.VerifyRequest{})
	if err != nil || !report.OK() {
		t.Errorf("what the clone left at its remote is a fault: %+v, %v", report, err)
	}
	// What was never fetched is needed now.
	two := r.take(func() { r.Write("out/o", "2\n") })
	if _, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: two.N}); err == nil {
		t.Error("a diff tells content that is not here")
	}
	var refused *checkpoint.Error
	_, err = r.store.Restore(t.Context(), checkpoint.RestoreRequest{Pane: r.pane, N: c.N})
	if !errors.As(err, &refused) || refused.Code != checkpoint.ContentMissing || !slices.Equal(refused.Paths, []string{"out/o"}) {
		t.Errorf("content that is not here was restored, or refused for another reason: %v", err)
	}
	r.wantFile("out/o", "2\n")
	if _, err := os.Lstat(asked); err == nil {
		t.Error("the remote was asked")
	}
}

func TestB67HistoryThatBecameShallow(t *testing.T) {
	source := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	clone := gittest.At(t, source.Home, filepath.Join(filepath.Dir(source.Root), "clone"))
	source.Git("clone", "--quiet", "file://"+source.Root, clone.Root)
	r := in(t, clone)
	c := r.take(func() { r.Write("a", "2\n") })
	r.Git("checkout", "-q", "-f", "main")
	source.Write("a", "s\n")
	source.Commit("later")
	r.Git("fetch", "-q", "--depth", "1", "origin")
	r.Git("reset", "-q", "--hard", "origin/main")
	r.Git("reflog", "expire", "--all", "--expire=now")
	r.Git("gc", "-q", "--prune=now")
	list, err := r.store.List(t.Context(), r.pane.ID)
	if err != nil || len(list.Checkpoints) == 0 || list.Checkpoints[0].Damaged != "" {
		t.Fatalf("%+v, %v", list.Checkpoints, err)
	}
	q := r.request(c.N)
	q.Here = true
	if _, err := r.store.Restore(t.Context(), q); err != nil {
		t.Error(err)
	}
	r.wantFile("a", "2\n")
}

func TestB73ASubfolderIsNoScopeOfItsOwn(t *testing.T) {
	repo := gittest.NewCommitted(t, map[string]string{"app/a": "1\n", "lib/b": "1\n"})
	s, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: repo.Path("app"), Env: repo.Env()})
	if err != nil {
		t.Fatal(err)
	}
	r := &room{Repo: repo, t: t, store: s, pane: checkpoint.Pane{ID: "00d333ce"}}
	c := r.take(func() { r.Write("app/a", "2\n"); r.Write("lib/b", "2\n") })
	r.take(func() { r.Write("app/a", "3\n"); r.Write("lib/b", "3\n") })
	r.back(c.N, func() {
		r.wantFile("app/a", "2\n")
		r.wantFile("lib/b", "2\n")
	})
	q := r.request(c.N)
	q.Paths = []string{"app"}
	if _, err := r.store.Restore(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	r.wantFile("app/a", "2\n")
	r.wantFile("lib/b", "3\n")
}

func TestB74OneRepositoryByManyPaths(t *testing.T) {
	repo := gittest.NewCommitted(t, map[string]string{"x/y/f": "1\n"})
	link := filepath.Join(filepath.Dir(repo.Root), "link")
	if err := os.Symlink(repo.Root, link); err != nil {
		t.Fatal(err)
	}
	places := []string{repo.Root, repo.Path("x/y"), link, link + "/x/y"}
	mount := filepath.Join(filepath.Dir(repo.Root), "mount")
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(repo.Root, mount, "", unix.MS_BIND, ""); err != nil {
		t.Logf("without a bind mount: %v", err)
	} else {
		t.Cleanup(func() { _ = unix.Unmount(mount, unix.MNT_DETACH) })
	}
	var first *room
	for i, dir := range places {
		s, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: dir, Env: repo.Env()})
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if s.Worktree() != repo.Root {
			t.Errorf("%s is in %s", dir, s.Worktree())
		}
		r := &room{Repo: repo, t: t, store: s, pane: checkpoint.Pane{ID: "00d333ce"}, turn: i}
		if c := r.take(func() { r.Write("x/y/f", strings.Repeat("x", i+2)) }); c.N != i+1 {
			t.Errorf("by %s it is checkpoint %d", dir, c.N)
		}
		first = r
	}
	first.back(1, func() { first.wantFile("x/y/f", "xx") })
	s, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: mount, Env: repo.Env()})
	if err == nil { // the mount is there: the same refs
		list, err := s.List(t.Context(), first.pane.ID)
		if err != nil || len(list.Checkpoints) < len(places) {
			t.Errorf("by the mount there are %d checkpoints, %v", len(list.Checkpoints), err)
		}
	}
}

func TestB76LinkedWorkTreeOfABareRepository(t *testing.T) {
	repo := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	linked := repo.AddWorktree("linked")
	repo.Git("config", "extensions.worktreeConfig", "true")
	repo.Git("config", "core.bare", "true")
	linked.Git("config", "--worktree", "core.bare", "false")
	roundTrip(t, in(t, linked))
	_, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: repo.Path(".git"), Env: repo.Env()})
	wantCode(t, err, checkpoint.NotRepo)
}

func TestB77WorkTreesDoNotMixTheirCheckpoints(t *testing.T) {
	main := newRoom(t, map[string]string{"a": "1\n"})
	linked := in(t, main.AddWorktree("linked"))
	one := main.take(func() { main.Write("a", "main\n") })
	two := linked.take(func() { linked.Write("a", "linked\n") })
	if one.N == two.N {
		t.Errorf("both are checkpoint %d", one.N)
	}
	if one.Worktree != main.Root || two.Worktree != linked.Root {
		t.Errorf("they are of %s and %s", one.Worktree, two.Worktree)
	}
	_, err := main.store.Restore(t.Context(), main.request(two.N))
	wantCode(t, err, checkpoint.OtherWorktree)
	main.wantFile("a", "main\n")
	q := main.request(two.N)
	q.Here = true
	if _, err := main.store.Restore(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	main.wantFile("a", "linked\n")
	roundTrip(t, linked)
}

func TestB79Reftable(t *testing.T) {
	probe := gittest.New(t)
	if out, err := probe.TryGit("init", "--quiet", "--ref-format=reftable", probe.Path("x")); err != nil {
		t.Skipf("this git has no reftable: %s%v", out, err)
	}
	r := gittest.New(t, "--ref-format=reftable")
	r.Write("a", "1\n")
	r.Commit("first")
	roundTrip(t, in(t, r))
}

func TestB80SHA256(t *testing.T) {
	repo := gittest.New(t, "--object-format=sha256")
	repo.Write("a", "1\n")
	repo.Commit("first")
	r := in(t, repo)
	roundTrip(t, r)
	if c := r.save(); len(c.Commit) != 64 || len(c.Tree) != 64 {
		t.Errorf("ids are %s and %s", c.Commit, c.Tree)
	}
}

// TestB08FolderWithoutARepository is what a pane's place can be without being a
// work tree; internal/turns has what the pane is told.
func TestB08FolderWithoutARepository(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	linked := r.AddWorktree("linked")
	if err := os.RemoveAll(r.Path(".git/worktrees")); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(filepath.Dir(r.Root), "plain")
	if err := os.MkdirAll(filepath.Join(plain, "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.At(t, r.Home, filepath.Join(plain, "one")).Git("init", "--quiet")
	before := gittest.Tree(t, filepath.Dir(r.Root))
	for _, dir := range []string{plain, linked.Root} {
		_, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: dir, Env: r.Env()})
		wantCode(t, err, checkpoint.NotRepo)
	}
	same(t, "files", before, gittest.Tree(t, filepath.Dir(r.Root)))
	gittest.At(t, r.Home, plain).Git("init", "--quiet")
	if _, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: plain, Env: r.Env()}); err != nil {
		t.Errorf("it is a repository now: %v", err)
	}
}
