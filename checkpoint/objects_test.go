package checkpoint_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

// sound fails unless every ref of ours has all its objects.
func (r *room) sound() {
	r.t.Helper()
	if out, err := r.TryGit("rev-list", "--objects", "--quiet", "--glob=refs/turnback/*"); err != nil {
		r.t.Fatalf("a ref lacks objects: %v\n%s", err, out)
	}
	if out, err := r.TryGit("fsck", "--connectivity-only", "--no-dangling"); err != nil {
		r.t.Fatalf("fsck: %v\n%s", err, out)
	}
}

// loose lists the loose objects.
func (r *room) loose() []string {
	r.t.Helper()
	list, err := filepath.Glob(r.Path(".git/objects/??/*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// TestObjectsEnterAsKeptPacks has every kind of thing that is written: no loose
// object, nothing left in the quarantine, every pack with its ".keep", and all of
// it what git itself calls sound.
func TestObjectsEnterAsKeptPacks(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "d/b": "2\n"})
	before := len(r.loose())
	r.take("one", func() {
		r.Write("a", "2\n")
		r.Write("big", strings.Repeat("0123456789abcde\n", 200_000))
		r.Git("init", "-q", r.Path("nested"))
		r.Write("nested/left-out", "x\n")
		for i := range 30 {
			r.Write(fmt.Sprintf("many/%d", i), fmt.Sprintf("%d\n", i))
		}
	})
	r.take("two", func() { r.Write("d/b", "3\n") })
	r.restore(1)
	if _, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true}); err != nil {
		t.Fatal(err)
	}
	if after := len(r.loose()); after != before {
		t.Errorf("%d loose objects, %d before", after, before)
	}
	if left, _ := os.ReadDir(r.Path(".git/turnback/quarantine")); len(left) != 0 {
		t.Errorf("left in the quarantine: %v", left)
	}
	packs, err := filepath.Glob(r.Path(".git/objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	for _, pack := range packs {
		if _, err := os.Stat(strings.TrimSuffix(pack, "pack") + "keep"); err != nil {
			t.Errorf("not kept: %v", err)
		}
		r.Git("index-pack", "--strict", "--verify", pack)
	}
	r.sound()
}

// TestB13SavesBesideGC saves while git takes away whatever no ref holds, again
// and again. Some of the content is in the repository already, unreachable, as
// after an amended commit.
func TestB13SavesBesideGC(t *testing.T) {
	saves := 25
	if n := os.Getenv("TURNBACK_TEST_SAVES"); n != "" {
		if _, err := fmt.Sscan(n, &saves); err != nil {
			t.Fatal(err)
		}
	}
	r := newRoom(t, map[string]string{"a": "1\n", "d/b": "2\n", "d/e/c": "3\n"})
	stop := make(chan struct{})
	var beside sync.WaitGroup
	rounds := 0
	beside.Go(func() {
		for {
			for _, args := range [][]string{
				{"gc", "-q", "--prune=now"},
				{"prune", "--expire=now"},
				{"repack", "-a", "-d", "-k", "-q"},
				{"repack", "-a", "-d", "-q"},
				{"maintenance", "run", "--task=loose-objects", "--task=incremental-repack", "--quiet"},
			} {
				select {
				case <-stop:
					return
				default:
				}
				rounds++
				_, _ = r.TryGit(args...)
			}
		}
	})
	for i := range saves {
		label := fmt.Sprintf("save %d", i)
		r.take(label, func() {
			r.Write("a", fmt.Sprintf("%d\n", i))
			r.Write(fmt.Sprintf("new/%d", i%7), label+"\n")
			_, _ = r.TryGit("hash-object", "-w", fmt.Sprintf("new/%d", i%7))
			if i%10 == 3 {
				for j := range 20 {
					r.Write(fmt.Sprintf("many/%d", j), fmt.Sprintf("%d %d\n", i, j))
				}
			}
		})
		if i%5 == 4 {
			r.restore(r.list()[0].N)
		}
	}
	close(stop)
	beside.Wait()
	t.Logf("%d saves beside %d runs of git", saves, rounds)
	r.sound()
	for _, c := range r.list() {
		if c.Damaged != "" {
			t.Errorf("checkpoint %d is damaged: %s", c.N, c.Damaged)
		}
	}
}

// TestB13LeftoversOfKilledRunsGo has a quarantine of a process that is gone, and
// one that is in use.
func TestB13LeftoversOfKilledRunsGo(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Write(".git/turnback/quarantine/run-1.lock", "")
	r.Write(".git/turnback/quarantine/run-1/pack/tmp_pack_x", "x")
	r.Write(".git/turnback/quarantine/run-2/ab/tmp_obj_x", "x")
	r.Write(".git/objects/pack/tmp_pack_theirs", "x")
	r.take("one", func() { r.Write("a", "2\n") })
	if left, _ := os.ReadDir(r.Path(".git/turnback/quarantine")); len(left) != 0 {
		t.Errorf("left in the quarantine: %v", left)
	}
	if !r.Exists(".git/objects/pack/tmp_pack_theirs") {
		t.Error("what is not ours was removed")
	}
}

// bytes is how large the object store is.
func (r *room) bytes() int64 {
	r.t.Helper()
	var total int64
	err := filepath.WalkDir(r.Path(".git/objects"), func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			total += st.Size()
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return total
}

// randomText is text that does not get smaller.
func randomText(seed, size int) string {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return string(b)
}

func removeLoose(t *testing.T, r *room, id string) {
	t.Helper()
	if err := os.Remove(r.Path(".git/objects/" + id[:2] + "/" + id[2:])); err != nil {
		t.Fatal(err)
	}
}
