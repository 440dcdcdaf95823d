//go:build unix

package checkpoint_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

func TestB10LargeFileWhereAFolderWas(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1"})
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		l := checkpoint.DefaultLimits()
		l.MaxUntracked = 3000
		o.Limits = func() checkpoint.Limits { return l }
	})
	r.take("one", func() { r.Write("x/u", "2") })
	r.Remove("x")
	r.Write("x", strings.Repeat("b", 4000))
	r.restore(1)
	if r.Read("x/u") != "2" {
		t.Error("not restored")
	}
}

// What stands at b now cannot be saved, so the restore leaves it, and says so.
func TestB32RestoreNamesAPipeThatItLeaves(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1", "b": "2"})
	r.take("one", func() { r.Write("a", "3") })
	r.Remove("b")
	if err := syscall.Mkfifo(r.Path("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Write("a", "4")
	res := r.restore(1)
	if !slices.Contains(res.Skipped, "b") || r.Read("a") != "3" {
		t.Errorf("skipped %q, a is %q", res.Skipped, r.Read("a"))
	}
}
