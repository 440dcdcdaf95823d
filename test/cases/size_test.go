package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// small is a room with a limit of 1,000 bytes for an untracked file.
func small(t *testing.T, files map[string]string) *room {
	r := newRoom(t, files)
	s, err := checkpoint.Open(t.Context(), checkpoint.Options{
		Dir: r.Root, Env: r.Env(),
		Limits: func() checkpoint.Limits {
			return checkpoint.Limits{Keep: 50, MaxUntracked: 1000, MaxNewUntracked: 1_000_000}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.store = s
	return r
}

func TestB10LargeFileThatWasLeftOutStays(t *testing.T) {
	r := small(t, map[string]string{"a": "1\n"})
	large := strings.Repeat("large\n", 500)
	r.Write("data.bin", large)
	c := r.take(func() { r.Write("a", "2\n") })
	r.wantOut(c, "data.bin: too large")
	r.take(func() { r.Write("a", "3\n") })
	r.back(c.N, func() {
		r.wantFile("data.bin", large)
		r.wantFile("a", "2\n")
	})
}

func TestB11TheLimitIsForUntrackedFilesAndACrossedOneIsNeverDeleted(t *testing.T) {
	large := func(s string) string { return strings.Repeat(s+"\n", 900) }
	r := small(t, map[string]string{"tracked": large("one")})
	r.Write("crosses", "small\n")
	one := r.take(func() { r.Write("tracked", large("two")) })
	r.wantOut(one)
	r.wantPaths(one, "crosses", "tracked")
	two := r.take(func() { r.Write("crosses", large("crossed")); r.Write("tracked", large("three")) })
	r.wantOut(two, "crosses: too large")
	three := r.take(func() { r.Write("crosses", "small again\n"); r.Write("tracked", large("four")) })
	r.wantOut(three)
	r.back(two.N, func() {
		r.wantFile("tracked", large("three"))
		r.wantFile("crosses", "small again\n") // unknown to two, so it stays
	})
	r.restore(two.N)
	r.Write("crosses", large("crossed anew"))
	r.back(one.N, func() {
		r.wantFile("tracked", large("two"))
		r.wantFile("crosses", "small\n")
	})
	r.back(three.N, func() { r.wantFile("crosses", "small again\n") })
}

// TestB17PathsAreNoArguments has more bytes of paths than a command line takes.
func TestB17PathsAreNoArguments(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Git("config", "core.fsync", "none")
	long := strings.Repeat("long", 50)
	name := func(i int) string { return fmt.Sprintf("d%02d/%s/%s/%s-%d", i%50, long, long, long, i) }
	const many = 4_000 // of more than 600 bytes each: 2 MiB is what Linux takes
	fill := func(content string) {
		for i := range many {
			r.Write(name(i), content)
		}
	}
	one := r.take(func() { fill("1\n") })
	two := r.take(func() { fill("2\n") })
	d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: two.N, Stat: true})
	if err != nil || len(d.Files) != many {
		t.Errorf("diff of %d files, %v", len(d.Files), err)
	}
	res := r.restore(one.N)
	if len(res.Written) != many {
		t.Errorf("%d files written", len(res.Written))
	}
	for _, i := range []int{0, many / 2, many - 1} {
		r.wantFile(name(i), "1\n")
	}
}

func TestB19AHomeIsNoProject(t *testing.T) {
	home := gittest.NewHome(t)
	r := gittest.At(t, home, home)
	r.Git("init", "--quiet")
	r.Write("proj/x", "x\n")
	before := gittest.Tree(t, home)
	for _, dir := range []string{home, r.Path("proj")} {
		_, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: dir, Env: r.Env()})
		e := wantCode(t, err, checkpoint.NotRepo)
		if !strings.Contains(e.Detail, "allow_home") {
			t.Errorf("the way to allow it is not told: %q", e.Detail)
		}
	}
	same(t, "the home", before, gittest.Tree(t, home))
	s, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: home, Env: r.Env(), AllowHome: true})
	if err != nil || s.Worktree() != home {
		t.Errorf("not allowed although it is: %v", err)
	}
}
