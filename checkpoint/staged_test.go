package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// index is what the index has, flags too, and what git says of it.
func (r *room) index() string {
	r.t.Helper()
	return r.Git("ls-files", "-s", "-v") + "\n" + r.Git("diff", "--cached", "--stat") + "\n" + r.Git("diff", "--cached", "--name-status", "--ita-visible-in-index")
}

func (r *room) staged(n int) checkpoint.RestoreResult {
	r.t.Helper()
	res, err := r.store.RestoreStaged(r.t.Context(), r.request(n))
	if err != nil {
		r.t.Fatalf("restore the index of %d: %v", n, err)
	}
	return res
}

func (r *room) save() int {
	r.t.Helper()
	res, err := r.store.Save(r.t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.Checkpoint.N
}

func TestB37RestoreStagedPutsTheIndexBackAndNothingElse(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "half": "1\n2\n3\n4\n5\n6\n7\n8\n", "gone": "g\n", "kept": "k\n", "run": "r\n", "assumed": "x\n", "both": "b\n"})
	r.Write("half", "one\n2\n3\n4\n5\n6\n7\n8\n")
	r.Git("add", "half")
	r.Write("half", "one\n2\n3\n4\n5\n6\n7\neight\n") // index, HEAD and disk are three things
	r.Write("a", "2\n")
	r.Git("add", "a")
	r.Write("both", "not staged\n")
	r.Git("rm", "-q", "gone")
	r.Git("rm", "-q", "--cached", "kept")
	r.Git("update-index", "--chmod=+x", "run")
	r.Write("new", "staged\n")
	r.Git("add", "new")
	r.Write("new", "other\n")
	r.Write("intended", "i\n")
	r.Git("add", "-N", "intended")
	r.Write(":(glob)**", "a name, no pattern\n")
	r.Git("--literal-pathspecs", "add", "-N", "--", ":(glob)**")
	r.Write("assumed", "y\n")
	r.Git("add", "assumed")
	r.Git("update-index", "--assume-unchanged", "assumed")
	then := r.index()
	n := r.save()
	for _, move := range []struct {
		name string
		f    func()
	}{
		{"reset", func() { r.Git("reset", "-q") }},
		{"stage all", func() { r.Git("add", "-A") }},
		{"commit", func() { r.Git("commit", "-q", "-m", "second"); r.Git("rm", "-q", "--cached", "-r", ".") }},
	} {
		t.Run(move.name, func(t *testing.T) {
			move.f()
			now, tree, mine := r.index(), r.Tree(), r.Fingerprint().Without("file index")
			res := r.staged(n)
			if diff := cmp.Diff(mine, r.Fingerprint().Without("file index")); diff != "" {
				t.Errorf("more than the index changed:\n%s", diff)
			}
			r.sameTree(tree)
			if move.name == "commit" {
				r.Git("reset", "-q", "--soft", "HEAD~1") // what is staged is told against HEAD
			}
			if diff := cmp.Diff(then, r.index()); diff != "" {
				t.Errorf("the index is another than then (- then, + now):\n%s", diff)
			}
			if move.name == "commit" {
				r.Git("reset", "-q", "--soft", "HEAD@{1}")
			}
			r.staged(res.Safety.N)
			if diff := cmp.Diff(now, r.index()); diff != "" {
				t.Errorf("the safety checkpoint gives back another index (- before, + now):\n%s", diff)
			}
			r.Git("fsck", "--strict")
		})
	}
}

func TestB43EntriesInConflictAreKeptAndComeBack(t *testing.T) {
	r := newRoom(t, map[string]string{"f": "base\n", "src/c": "base\n"})
	r.Git("checkout", "-q", "-b", "two")
	r.Write("f", "two\n")
	r.Commit("two")
	r.Git("checkout", "-q", "main")
	r.Write("f", "main\n")
	r.Commit("main")
	_, _ = r.TryGit("merge", "-q", "two")
	then := r.Git("ls-files", "-s")
	if !strings.Contains(then, " 3\tf") {
		t.Fatalf("no conflict: %s", then)
	}
	n := r.save()
	mine := r.Fingerprint()
	_, err := r.store.RestoreStaged(t.Context(), r.request(n))
	wantCode(t, err, checkpoint.IndexBusy)
	if diff := cmp.Diff(mine, r.Fingerprint()); diff != "" {
		t.Errorf("a refusal changed something:\n%s", diff)
	}
	r.Write("f", "solved\n")
	r.restore(n) // gives the markers back and leaves the merge as it is
	if diff := cmp.Diff(mine, r.Fingerprint()); diff != "" {
		t.Errorf("a restore changed the merge:\n%s", diff)
	}
	r.Git("merge", "--abort")
	r.staged(n)
	if diff := cmp.Diff(then, r.Git("ls-files", "-s")); diff != "" {
		t.Errorf("other entries (- then, + now):\n%s", diff)
	}
}

func TestRestoreStagedRefusesWhileTheIndexIsBusy(t *testing.T) {
	for _, sign := range []string{"index.lock", "MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"} {
		t.Run(sign, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			n := r.save()
			r.Write("a", "2\n")
			r.Git("add", "a")
			if err := os.WriteFile(filepath.Join(r.Root, ".git", sign), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			mine, list := r.Fingerprint(), r.list()
			_, err := r.store.RestoreStaged(t.Context(), r.request(n))
			wantCode(t, err, checkpoint.IndexBusy)
			if diff := cmp.Diff(mine, r.Fingerprint()); diff != "" {
				t.Errorf("a refusal changed something:\n%s", diff)
			}
			if len(r.list()) != len(list) {
				t.Errorf("a refusal saved a checkpoint")
			}
		})
	}
}

func TestRestoreStagedWithoutACommit(t *testing.T) {
	g := gittest.New(t)
	r := &room{Repo: g, t: t, store: open(t, g, nil), pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}}
	r.Write("a", "staged\n")
	r.Git("add", "a")
	r.Write("a", "on disk\n")
	then := r.Git("ls-files", "-s")
	n := r.save()
	r.Git("rm", "-q", "-f", "--cached", "a")
	r.Git("gc", "-q", "--prune=now") // the staged bytes are in the checkpoint alone
	r.staged(n)
	if diff := cmp.Diff(then, r.Git("ls-files", "-s")); diff != "" {
		t.Errorf("other entries (- then, + now):\n%s", diff)
	}
	if got := r.Git("show", ":a"); got != "staged" {
		t.Errorf("staged is %q", got)
	}
}

func TestB46ABrokenIndexIsNotMendedByUs(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Write("a", "2\n")
	r.Git("add", "a")
	n := r.save()
	if err := os.Truncate(r.Path(".git/index"), 20); err != nil {
		t.Fatal(err)
	}
	read := func() string { data, _ := os.ReadFile(r.Path(".git/index")); return string(data) }
	before := read()
	r.Write("a", "3\n")
	broken := r.save()
	r.restore(n)
	if got := r.Read("a"); got != "2\n" {
		t.Errorf("a holds %q", got)
	}
	if _, err := r.store.RestoreStaged(t.Context(), r.request(n)); err == nil {
		t.Errorf("an index that no checkpoint can hold was replaced")
	}
	if read() != before {
		t.Errorf("the index was written")
	}
	if err := os.Remove(r.Path(".git/index")); err != nil {
		t.Fatal(err)
	}
	r.Git("reset", "-q")
	r.staged(n)
	if got := r.Git("show", ":a"); got != "2" {
		t.Errorf("staged is %q", got)
	}
	_, err := r.store.RestoreStaged(t.Context(), r.request(broken))
	wantCode(t, err, checkpoint.InvalidParams)
}
