package checkpoint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/checkpoint/purge"
)

const secret = "token=0123456789\n"

func (r *at) purge(path string, now bool) checkpoint.PurgeResult {
	r.t.Helper()
	res, err := r.store.Purge(r.t.Context(), checkpoint.PurgeRequest{Path: path, Now: now})
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// has tells whether any object of the store has this content.
func (r *at) has(content string) bool {
	id := r.GitInput(content, "hash-object", "--stdin")
	_, err := r.TryGit("cat-file", "-e", id)
	return err == nil
}

func (r *at) fsck() {
	r.t.Helper()
	if out, err := r.TryGit("fsck", "--strict", "--full"); err != nil || strings.Contains(out, "missing") || strings.Contains(out, "broken") {
		r.t.Errorf("fsck: %v\n%s", err, out)
	}
}

// TestB58PurgeTakesASecretOutOfEverything has it in turns, in a safety checkpoint,
// in another pane, in the trash and in the base of an open turn.
func TestB58PurgeTakesASecretOutOfEverything(t *testing.T) {
	for _, packed := range []bool{false, true} {
		r := newClock(t, map[string]string{"a": "0\n", "dir/b": "b\n"}, nil)
		r.take("with it", func() { r.Write(".env", secret); r.Write("a", "1\n") })
		r.take("edited", func() { r.Write(".env", secret+"more\n"); r.Write("a", "2\n") })
		r.restore(1)
		other := checkpoint.Pane{ID: "bbbbbbbb", Window: "other"}
		if _, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: other, Always: true}); err != nil {
			t.Fatal(err)
		}
		r.take("third", func() { r.Write("a", "3\n") })
		if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{2}); err != nil {
			t.Fatal(err)
		}
		r.Write(".env", secret+"by hand\n")
		if _, err := r.store.Begin(t.Context(), checkpoint.BeginRequest{Pane: other, Turn: 1}); err != nil {
			t.Fatal(err)
		}
		if packed {
			r.Git("gc", "--quiet")
		}
		r.Write(".gitignore", ".env\n")
		before, mine := r.list(), r.Fingerprint()

		res := r.purge(".env", true)
		if res.Files != 3 || len(res.Rewritten) < 5 || len(res.Dropped)+len(res.Unknown)+len(res.Still)+len(res.HeldBy)+res.Left > 0 || !res.OnDisk || res.Removed == 0 {
			t.Errorf("packed %v: result %+v", packed, res)
		}
		for _, content := range []string{secret, secret + "more\n", secret + "by hand\n"} {
			if r.has(content) {
				t.Errorf("packed %v: %q is still in the store", packed, content)
			}
		}
		r.fsck()
		if diff := cmp.Diff(mine, r.Fingerprint()); diff != "" {
			t.Errorf("the user's things changed:\n%s", diff)
		}
		after := r.list()
		if len(after) != len(before) {
			t.Fatalf("%d checkpoints, before %d", len(after), len(before))
		}
		for i, c := range after {
			b := before[i]
			if c.N != b.N || c.Label != b.Label || !c.At.Equal(b.At) || c.Kind != b.Kind || c.Damaged != "" {
				t.Errorf("checkpoint is %+v, was %+v", c, b)
			}
		}
		if res := r.restore(1); r.Read("a") != "1\n" || r.Read(".env") != secret+"by hand\n" {
			t.Errorf("restored %+v: a is %q, .env is %q", res, r.Read("a"), r.Read(".env"))
		}
		if _, err := r.store.Untrash(t.Context(), r.pane.ID, []int{2}); err != nil {
			t.Error(err)
		}
		r.restore(2)
		if got := r.Read("a"); got != "2\n" {
			t.Errorf("a is %q", got)
		}
		r.fsck()
	}
}

// TestPurgedAndNotIgnoredIsNotRemoved restores a checkpoint that had the path
// before the purge, with the file untracked on disk.
func TestB58PurgeTakesAnIgnoreFileThatIsKeptBeside(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.Write("cache/.gitignore", "*\n"+secret)
	r.Write("other/.gitignore", "*\n")
	r.take("with it", func() { r.Write("a", "1\n") })
	kept := func(length, path, content string) string { return length + "\t" + path + "\x00" + content }
	other := kept("2", "other/.gitignore", "*\n")
	if !r.has(kept("19", "cache/.gitignore", "*\n"+secret) + other) {
		t.Fatal("it was not kept")
	}
	r.Remove("cache/.gitignore")
	r.purge("cache", true)
	if r.has(kept("19", "cache/.gitignore", "*\n"+secret) + other) {
		t.Error("it is in the store")
	}
	if !r.has(other) {
		t.Error("the other one is not kept")
	}
	r.fsck()
}

func TestPurgedAndNotIgnoredIsNotRemoved(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("keys/k", secret); r.Write("a", "1\n") })
	r.take("two", func() { r.Write("a", "2\n") })
	r.purge("keys", true)
	if r.has(secret) {
		t.Error("it is still in the store")
	}
	r.restore(1)
	if r.Read("a") != "1\n" || r.Read("keys/k") != secret {
		t.Error("the restore did not leave the purged path alone")
	}
	r.fsck()
	c := r.take("three", func() { r.Write("a", "3\n") })
	r.Remove("keys")
	r.restore(c.N)
	if got := r.Read("keys/k"); got != secret {
		t.Errorf("the next checkpoint did not have the file again: %q", got)
	}
}

func TestPurgeLeavesWhatOthersHold(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("k", secret); r.Write("k2", "second "+secret); r.Write("k3", "third "+secret) })
	r.Git("add", "k")
	r.Git("commit", "-q", "-m", "the person's own")
	r.Git("reset", "-q", "--hard", "HEAD~1")
	r.Git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
	dangling := r.Git("rev-parse", "ORIG_HEAD")
	r.Write("k3", "third "+secret)
	r.Git("add", "k3")
	res := r.purge("k", true)
	if !slices.Equal(res.HeldBy, []string{dangling}) || !r.has(secret) {
		t.Errorf("the dangling commit %s is not respected: %+v", dangling, res)
	}
	res = r.purge("k3", true)
	if diff := cmp.Diff(map[string]int{purge.InIndex: 1}, res.Still); diff != "" || !r.has("third "+secret) {
		t.Errorf("still (- want, + got):\n%s", diff)
	}
	res = r.purge("k2", false)
	if !r.has("second "+secret) || res.Removed > 0 {
		t.Errorf("without now objects went: %+v", res)
	}
	r.purge("k2", true)
	if r.has("second " + secret) {
		t.Error("a purge with now does not find what one without it left behind")
	}
	r.fsck()
}

// TestPurgeOfATrackedPath takes out a path that HEAD has: a base that was HEAD's
// tree is one no longer, and the turn did not remove the file.
func TestPurgeOfATrackedPath(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n", "k": secret}, nil)
	r.take("one", func() { r.Write("a", "1\n") })
	res := r.purge("k", true)
	if diff := cmp.Diff(map[string]int{purge.InBranches: 1, purge.InIndex: 1, purge.InReflogs: 1}, res.Still); diff != "" {
		t.Errorf("still (- want, + got):\n%s", diff)
	}
	d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: 1, Stat: true})
	if err != nil || len(d.Files) != 1 || d.Files[0].Path != "a" {
		t.Errorf("the turn changed %+v, %v", d.Files, err)
	}
	r.restore(1)
	if got := r.Read("k"); got != secret {
		t.Errorf("k is %q", got)
	}
	r.fsck()
}

func TestPurgeRefuses(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("a", "1\n") })
	r.take("two", func() { r.Write("a", "2\n") })
	for _, path := range []string{"", "../x", "/a", ".git/x"} {
		_, err := r.store.Purge(t.Context(), checkpoint.PurgeRequest{Path: path})
		wantCode(t, err, checkpoint.InvalidParams)
	}
	req := r.request(1)
	req.Step = func(string) error { return checkpoint.ErrStopped }
	_, _ = r.store.Restore(t.Context(), req)
	_, err := r.store.Purge(t.Context(), checkpoint.PurgeRequest{Path: "a"})
	wantCode(t, err, checkpoint.Interrupted)
}
