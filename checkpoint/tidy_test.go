package checkpoint_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/checkpoint"
)

func (r *room) packs(end string) []string {
	r.t.Helper()
	list, err := filepath.Glob(r.Path(".git/objects/pack/*." + end))
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// later opens the store as it is d from now.
func (r *room) later(d time.Duration) {
	r.store = open(r.t, r.Repo, func(o *checkpoint.Options) { o.Now = func() time.Time { return time.Now().Add(d) } })
}

func (r *room) tend() {
	r.t.Helper()
	if err := r.store.Tend(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// TestTendJoinsPacks has many small packs of ours, one of somebody else's, and
// one that is younger than a save may take.
func TestTendJoinsPacks(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.Write("theirs", "1\n")
	r.Commit("theirs")
	r.Git("repack", "-q", "-a", "-d")
	theirs := r.packs("pack")
	for i := range 12 {
		r.take("t", func() { r.Write("a", fmt.Sprintf("%d\n", i)) })
	}
	before := len(r.packs("pack"))
	r.tend()
	if got := len(r.packs("pack")); got != before {
		t.Fatalf("%d packs, %d before: young ones were joined", got, before)
	}
	r.later(time.Hour)
	r.tend()
	if got := r.packs("pack"); len(got) != 2 || len(r.packs("keep")) != 1 {
		t.Fatalf("packs %v, kept %v", got, r.packs("keep"))
	}
	if !strings.Contains(strings.Join(r.packs("pack"), " "), theirs[0]) {
		t.Error("somebody else's pack is gone")
	}
	r.sound()
	r.later(3 * time.Hour)
	r.tend()
	if kept := r.packs("keep"); len(kept) != 0 {
		t.Errorf("still kept: %v", kept)
	}
	for i := range 10 {
		r.take("t", func() { r.Write("a", fmt.Sprintf("more %d\n", i)) })
	}
	r.later(5 * time.Hour)
	r.tend()
	if got := r.packs("pack"); len(got) != 2 {
		t.Errorf("packs that were let go are not joined again: %v", got)
	}
	r.sound()
	for _, c := range r.list() {
		if c.Damaged != "" {
			t.Errorf("checkpoint %d: %s", c.N, c.Damaged)
		}
	}
	r.restore(1)
}

// TestTendKeepsPacksWhileRefsLackObjects has a blob gone.
func TestTendKeepsPacksWhileRefsLackObjects(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "b": "b\n"})
	id := r.Git("rev-parse", "HEAD:b")
	r.take("one", func() { r.Write("a", "2\n") })
	kept := len(r.packs("keep"))
	r.Git("update-index", "--force-remove", "b")
	removeLoose(t, r, id)
	r.later(time.Hour)
	if err := r.store.Tend(t.Context()); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("got %v", err)
	}
	if got := len(r.packs("keep")); got != kept {
		t.Errorf("%d kept packs, %d before", got, kept)
	}
}

// TestB14TheStoreShrinks drops what large files took, by the limits and an
// ordinary gc.
func TestB14TheStoreShrinks(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	for i := range 6 {
		r.take("t", func() { r.Write("a", randomText(i, 2_000_000)) })
	}
	full := r.bytes()
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		o.Now = func() time.Time { return time.Now().Add(30 * 24 * time.Hour) }
		keeping(1)(o)
	})
	if _, err := r.store.Prune(t.Context(), time.Hour, false); err != nil {
		t.Fatal(err)
	}
	r.tend() // joins
	r.tend() // lets go
	for ref := range strings.SplitSeq(r.Git("for-each-ref", "--format=%(refname)", "refs/turnback/trash"), "\n") {
		if ref != "" {
			r.Git("update-ref", "-d", ref)
		}
	}
	r.Git("gc", "-q", "--prune=now")
	if now := r.bytes(); now > full/2 {
		t.Errorf("%d bytes, %d before", now, full)
	}
	r.sound()
	last := r.list()
	r.restore(last[0].N)
}
