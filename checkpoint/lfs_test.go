package checkpoint_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// newLFS is a room with the real git-lfs, in which a.bin is a large file.
func newLFS(t testing.TB, content string) *room {
	t.Helper()
	if _, err := exec.LookPath("git-lfs"); err != nil {
		t.Skip("git-lfs is not installed (package git-lfs): LFS is not tested")
	}
	r := gittest.New(t)
	r.Git("lfs", "install", "--skip-repo")
	r.WriteAll(map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin": content, "b": "plain\n"})
	r.Commit("first")
	return &room{Repo: r, t: t, store: open(t, r, nil), pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}}
}

// large is content that is no text.
func large(seed string) string { return strings.Repeat(seed+"\x00\xff\r\n", 20_000) }

func (r *room) lfsObject(below, content string) string {
	sum := sha256.Sum256([]byte(content))
	oid := hex.EncodeToString(sum[:])
	return filepath.Join(r.Root, ".git", below, oid[:2], oid[2:4], oid)
}

// TestB55LFSContentOutlivesPrune has git-lfs remove what only a checkpoint needs.
func TestB55LFSContentOutlivesPrune(t *testing.T) {
	r := newLFS(t, large("one"))
	c := r.take("one", func() { r.Write("a.bin", large("two")); r.Write("new.bin", large("new")) })
	if stored := r.Git("cat-file", "blob", c.Tree+":a.bin"); !strings.HasPrefix(stored, "version https://git-lfs") {
		t.Fatalf("stored is no pointer: %.60q", stored)
	}
	want := r.Tree()
	r.Git("checkout", "a.bin")
	r.Remove("new.bin")
	r.Git("-c", "lfs.fetchrecentrefsdays=0", "-c", "lfs.pruneoffsetdays=0", "lfs", "prune") // refs that are a week old
	for _, content := range []string{large("two"), large("new")} {
		if _, err := os.Stat(r.lfsObject("lfs/objects", content)); err == nil {
			t.Fatal("git lfs prune left the content alone: this proves nothing")
		}
	}
	before := r.Fingerprint()
	res := r.restore(c.N)
	if diff := cmp.Diff(want, r.Tree()); diff != "" {
		t.Errorf("after the restore (- want, + got):\n%s", diff)
	}
	if diff := cmp.Diff(before.Without("file lfs/"), r.Fingerprint().Without("file lfs/")); diff != "" {
		t.Errorf("the restore changed what is the person's:\n%s", diff)
	}
	r.restore(res.Safety.N)
	if got := r.Read("a.bin"); got != large("one") || r.Exists("new.bin") {
		t.Error("the way back gave other content")
	}
}

// TestB55MissingLFSContentRefusesFirst changes nothing when the content is nowhere.
func TestB55MissingLFSContentRefusesFirst(t *testing.T) {
	r := newLFS(t, large("one"))
	c := r.take("one", func() { r.Write("a.bin", large("two")); r.Write("b", "two\n") })
	r.Git("checkout", "a.bin", "b")
	for _, below := range []string{"lfs/objects", "turnback/lfs"} {
		if err := os.Remove(r.lfsObject(below, large("two"))); err != nil {
			t.Fatal(err)
		}
	}
	before, files := r.Fingerprint(), r.Tree()
	_, err := r.store.Restore(t.Context(), r.request(c.N))
	if e := wantCode(t, err, checkpoint.ContentMissing); !cmp.Equal(e.Paths, []string{"a.bin"}) {
		t.Errorf("named are %q", e.Paths)
	}
	if diff := cmp.Diff(files, r.Tree()); diff != "" {
		t.Errorf("a refusal changed files:\n%s", diff)
	}
	if diff := cmp.Diff(before, r.Fingerprint()); diff != "" {
		t.Errorf("a refusal changed the repository:\n%s", diff)
	}
	r.restore(c.N, "b") // the other file can be had
	if r.Read("b") != "two\n" || r.Read("a.bin") != large("one") {
		t.Error("restoring the other path alone went wrong")
	}
}

// TestPointerOnDiskStaysAPointer restores what was on disk where git-lfs was told
// not to get content.
func TestPointerOnDiskStaysAPointer(t *testing.T) {
	r := newLFS(t, large("one"))
	pointer := r.Git("cat-file", "blob", "HEAD:a.bin") + "\n"
	c := r.take("one", func() { r.Write("a.bin", pointer) })
	if c == nil {
		t.Fatal("a change from content to pointer was not saved")
	}
	r.take("two", func() { r.Write("a.bin", large("two")) })
	res := r.restore(c.N)
	if got := r.Read("a.bin"); got != pointer {
		t.Errorf("the pointer came back as %.60q", got)
	}
	r.restore(res.Safety.N)
	if got := r.Read("a.bin"); got != large("two") {
		t.Errorf("the content came back as %.60q", got)
	}
}

// TestLFSContentGoesWithItsCheckpoints lets go of content once no checkpoint has it.
func TestLFSContentGoesWithItsCheckpoints(t *testing.T) {
	r := newLFS(t, large("one"))
	c := r.take("one", func() { r.Write("a.bin", large("two")) })
	kept := r.lfsObject("turnback/lfs", large("two"))
	r.Git("checkout", "a.bin")
	later := func(o *checkpoint.Options) { o.Now = func() time.Time { return time.Now().Add(48 * time.Hour) } }
	if freed, err := open(t, r.Repo, later).SweepLFS(t.Context()); err != nil || freed != 0 {
		t.Fatalf("%d bytes of what a checkpoint needs were let go of, %v", freed, err)
	}
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{c.N}); err != nil {
		t.Fatal(err)
	}
	if freed, err := open(t, r.Repo, later).SweepLFS(t.Context()); err != nil || freed != 0 {
		t.Errorf("%d bytes of what the trash needs were let go of, %v", freed, err)
	}
	if _, err := r.store.Untrash(t.Context(), r.pane.ID, []int{c.N}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.DropNow(t.Context(), r.pane.ID, []int{c.N}); err != nil {
		t.Fatal(err)
	}
	if freed, err := r.store.SweepLFS(t.Context()); err != nil || freed != 0 {
		t.Errorf("%d bytes of what was just kept were let go of, %v", freed, err)
	}
	freed, err := open(t, r.Repo, later).SweepLFS(t.Context())
	if err != nil || freed != int64(len(large("two"))) {
		t.Errorf("%d bytes were let go of, %v", freed, err)
	}
	if _, err := os.Lstat(kept); err == nil {
		t.Error("the content is still there")
	}
}
