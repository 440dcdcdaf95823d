package cases

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// room is a repository with a store and a pane that takes turns in it.
type room struct {
	*gittest.Repo
	t     testing.TB
	store *checkpoint.Store
	pane  checkpoint.Pane
	turn  int
}

func newRoom(t testing.TB, files map[string]string) *room {
	t.Helper()
	return in(t, gittest.NewCommitted(t, files))
}

// in is a room in a repository that is there.
func in(t testing.TB, r *gittest.Repo, env ...string) *room {
	t.Helper()
	s, err := checkpoint.Open(t.Context(), checkpoint.Options{Dir: r.Root, Env: append(r.Env(), env...)})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	return &room{Repo: r, t: t, store: s, pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}}
}

// try is one turn in which f works.
func (r *room) try(f func()) (*checkpoint.Checkpoint, error) {
	r.t.Helper()
	r.turn++
	begun, err := r.store.Begin(r.t.Context(), checkpoint.BeginRequest{Pane: r.pane, Turn: r.turn, SaveStart: true})
	if err != nil {
		return nil, err
	}
	f()
	res, err := r.store.Save(r.t.Context(), checkpoint.SaveRequest{
		Kind: checkpoint.KindTurn, Pane: r.pane, Turn: r.turn, State: "done", Label: "turn", Base: &begun.Base,
	})
	return res.Checkpoint, err
}

// take is a turn that has to be saved.
func (r *room) take(f func()) *checkpoint.Checkpoint {
	r.t.Helper()
	c, err := r.try(f)
	if err != nil || c == nil {
		r.t.Fatalf("turn %d: %v, %v", r.turn, c, err)
	}
	return c
}

// save is a manual checkpoint of the work tree as it is.
func (r *room) save() *checkpoint.Checkpoint {
	r.t.Helper()
	res, err := r.store.Save(r.t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Label: "by hand", Always: true})
	if err != nil {
		r.t.Fatalf("save: %v", err)
	}
	return res.Checkpoint
}

func (r *room) request(n int) checkpoint.RestoreRequest {
	return checkpoint.RestoreRequest{Pane: r.pane, N: n, Turn: r.turn, State: "done"}
}

func (r *room) restore(n int) checkpoint.RestoreResult {
	r.t.Helper()
	res, err := r.store.Restore(r.t.Context(), r.request(n))
	if err != nil {
		r.t.Fatalf("restore %d: %v", n, err)
	}
	return res
}

// back restores n, looks at the tree, and takes the restore back: the tree has to
// be as it was before, byte for byte.
func (r *room) back(n int, look func()) {
	r.t.Helper()
	before := r.Tree()
	res := r.restore(n)
	look()
	if res.Safety == nil {
		r.t.Fatalf("restore %d made no safety checkpoint", n)
	}
	r.restore(res.Safety.N)
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		r.t.Errorf("a restore of %d taken back is not the same (- before, + after):\n%s", n, diff)
	}
}

// wantOut fails unless c left out just these, each "path: reason".
func (r *room) wantOut(c *checkpoint.Checkpoint, want ...string) {
	r.t.Helper()
	list, err := r.store.LeftOutAll(r.t.Context(), *c)
	if err != nil {
		r.t.Fatal(err)
	}
	got := []string{}
	for _, l := range list {
		got = append(got, l.Path+": "+l.Reason)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		r.t.Errorf("left out (- want, + got):\n%s", diff)
	}
}

// wantPaths fails unless c's tree holds just these.
func (r *room) wantPaths(c *checkpoint.Checkpoint, want ...string) {
	r.t.Helper()
	got := strings.Split(strings.TrimSuffix(r.Git("ls-tree", "-r", "-z", "--name-only", c.Commit), "\x00"), "\x00")
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("paths of checkpoint %d (- want, + got):\n%s", c.N, diff)
	}
}

// wantFile fails unless a file holds that.
func (r *room) wantFile(path, want string) {
	r.t.Helper()
	if got := r.Read(path); got != want {
		r.t.Errorf("%s is %q, want %q", path, got, want)
	}
}

func wantCode(t testing.TB, err error, code checkpoint.Code) *checkpoint.Error {
	t.Helper()
	var e *checkpoint.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
	return e
}

// same fails when something changed meanwhile.
func same(t testing.TB, what string, before, after any) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s (- before, + after):\n%s", what, diff)
	}
}
