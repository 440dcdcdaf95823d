package pack_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/git/pack"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// repos runs f in a repository of each object format.
func repos(t *testing.T, f func(t *testing.T, r *gittest.Repo, idLen int)) {
	t.Helper()
	for format, idLen := range map[string]int{"sha1": 20, "sha256": 32} {
		t.Run(format, func(t *testing.T) {
			r := gittest.New(t)
			r.Git("init", "-q", "--object-format="+format, r.Home+"/o")
			r.Root = r.Home + "/o"
			f(t, r, idLen)
		})
	}
}

func some(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.IntN(256) & rng.IntN(256))
	}
	return b
}

// What is written is what git itself calls a sound pack: same ids, same
// content, and nothing that a strict look finds fault with.
func TestGitReadsWhatWasWritten(t *testing.T) {
	repos(t, func(t *testing.T, r *gittest.Repo, idLen int) {
		path := filepath.Join(t.TempDir(), "p")
		w, err := pack.Create(path, idLen)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]byte{}
		for _, size := range []int{0, 1, 15, 16, 17, 2047, 2048, 70_000, 3_000_000} {
			id, err := w.Add(pack.Blob, some(size))
			if err != nil {
				t.Fatal(err)
			}
			want[id] = some(size)
			if !w.Has(id) {
				t.Errorf("a pack does not know the %d bytes that it has", size)
			}
		}
		n := w.Len()
		if _, err := w.Add(pack.Blob, some(15)); err != nil || w.Len() != n {
			t.Errorf("stored twice: %d objects, %v", w.Len(), err)
		}
		name, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		base := r.Root + "/.git/objects/pack/pack-" + name
		for _, end := range []string{".pack", ".idx"} {
			if err := os.Rename(path+end, base+end); err != nil {
				t.Fatal(err)
			}
		}
		r.Git("index-pack", "--strict", "--verify", base+".pack")
		r.Git("verify-pack", base+".idx")
		for id, data := range want {
			if got := r.Git("cat-file", "blob", id); got != strings.TrimSuffix(string(data), "\n") && got != string(data) {
				t.Errorf("git reads %d bytes of %s, not %d", len(got), id, len(data))
			}
		}
		x, err := pack.ReadIndex(base+".idx", idLen)
		if err != nil {
			t.Fatal(err)
		}
		if len(x.IDs()) != len(want) {
			t.Errorf("%d objects in the index, not %d", len(x.IDs()), len(want))
		}
		for id := range want {
			if !x.Has(id) {
				t.Errorf("the index does not have %s", id)
			}
		}
	})
}

// Loose objects and whole packs of git's are taken over.
func TestTakeOver(t *testing.T) {
	repos(t, func(t *testing.T, r *gittest.Repo, idLen int) {
		r.Write("f", string(some(5000)))
		r.Write("g", "g\n")
		r.Git("add", "-A")
		r.Git("commit", "-q", "-m", "c")
		loose, err := filepath.Glob(r.Root + "/.git/objects/??/*")
		if err != nil || len(loose) != 4 {
			t.Fatalf("%d loose objects, %v", len(loose), err)
		}
		dir := t.TempDir()
		w, err := pack.Create(dir+"/p", idLen)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range loose {
			id := filepath.Base(filepath.Dir(file)) + filepath.Base(file)
			if err := w.TakeLoose(file, id); err != nil {
				t.Fatal(err)
			}
		}
		one, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		again, err := pack.Create(dir+"/q", idLen)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Take(dir + "/p"); err != nil {
			t.Fatal(err)
		}
		two, err := again.Finish()
		if err != nil || one != two {
			t.Errorf("a pack taken over is another: %s, not %s, %v", two, one, err)
		}
		r.Git("index-pack", "--strict", "--verify", dir+"/q.pack")
	})
}

// A pack of differences is not taken over entry by entry.
func TestDeltasAreNotTaken(t *testing.T) {
	r := gittest.New(t)
	text := strings.Repeat(fmt.Sprintf("%x\n", some(40)), 100)
	r.Write("f", text)
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", "c")
	r.Write("f", text+"more\n")
	r.Git("commit", "-q", "-a", "-m", "d")
	r.Git("repack", "-q", "-a", "-d", "-f")
	packs, err := filepath.Glob(r.Root + "/.git/objects/pack/*.pack")
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	w, err := pack.Create(t.TempDir()+"/p", 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Take(strings.TrimSuffix(packs[0], ".pack")); !errors.Is(err, pack.ErrDelta) {
		t.Errorf("got %v", err)
	}
	if w.Len() != 0 {
		t.Errorf("%d entries were taken all the same", w.Len())
	}
}

// What is not what it says is refused, and the pack with it.
func TestWrongContentIsRefused(t *testing.T) {
	dir := t.TempDir()
	w, err := pack.Create(dir+"/p", 20)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.Repeat("1", 40)
	if err := w.AddFrom(id, pack.Blob, 3, strings.NewReader("abc")); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("got %v", err)
	}
	if _, err := w.Finish(); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("the pack ends well: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func FuzzReadIndex(f *testing.F) {
	dir := f.TempDir()
	w, err := pack.Create(dir+"/p", 20)
	if err != nil {
		f.Fatal(err)
	}
	_, _ = w.Add(pack.Blob, []byte("x"))
	if _, err := w.Finish(); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(dir + "/p.idx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:100])
	f.Add(bytes.Repeat([]byte{0xff}, 2000))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.idx")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := pack.ReadIndex(path, 20)
		if err == nil {
			_ = x.IDs()
		} else if !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("an error of another kind: %v", err)
		}
	})
}
