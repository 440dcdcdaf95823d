package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// room is a repository with a store and one pane.
type room struct {
	*gittest.Repo
	t     testing.TB
	store *checkpoint.Store
	pane  checkpoint.Pane
	turn  int
	base  checkpoint.Base
}

func open(t testing.TB, r *gittest.Repo, change func(*checkpoint.Options)) *checkpoint.Store {
	t.Helper()
	o := checkpoint.Options{Dir: r.Root, Env: r.Env(), Now: time.Now}
	if change != nil {
		change(&o)
	}
	s, err := checkpoint.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	return s
}

func newRoom(t testing.TB, files map[string]string) *room {
	t.Helper()
	r := gittest.NewCommitted(t, files)
	return &room{Repo: r, t: t, store: open(t, r, nil), pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}}
}

func (r *room) begin() checkpoint.BeginResult {
	r.t.Helper()
	r.turn++
	res, err := r.store.Begin(r.t.Context(), checkpoint.BeginRequest{Pane: r.pane, Turn: r.turn, SaveStart: true})
	if err != nil {
		r.t.Fatalf("begin turn %d: %v", r.turn, err)
	}
	r.base = res.Base
	return res
}

func (r *room) end(label string) *checkpoint.Checkpoint {
	r.t.Helper()
	res, err := r.store.Save(r.t.Context(), checkpoint.SaveRequest{
		Kind: checkpoint.KindTurn, Pane: r.pane, Turn: r.turn, State: "done", Label: label, Base: &r.base,
	})
	if err != nil {
		r.t.Fatalf("end turn %d: %v", r.turn, err)
	}
	return res.Checkpoint
}

// take is one turn in which f works.
func (r *room) take(label string, f func()) *checkpoint.Checkpoint {
	r.t.Helper()
	r.begin()
	f()
	c := r.end(label)
	if c == nil {
		r.t.Fatalf("turn %q saved nothing", label)
	}
	return c
}

func (r *room) request(n int, paths ...string) checkpoint.RestoreRequest {
	return checkpoint.RestoreRequest{Pane: r.pane, N: n, Paths: paths, Turn: r.turn, State: "done"}
}

func (r *room) restore(n int, paths ...string) checkpoint.RestoreResult {
	r.t.Helper()
	res, err := r.store.Restore(r.t.Context(), r.request(n, paths...))
	if err != nil {
		r.t.Fatalf("restore %d: %v", n, err)
	}
	return res
}

func (r *room) list() []checkpoint.Checkpoint {
	r.t.Helper()
	info, err := r.store.List(r.t.Context(), r.pane.ID)
	if err != nil {
		r.t.Fatalf("list: %v", err)
	}
	return info.Checkpoints
}

func wantCode(t testing.TB, err error, code checkpoint.Code) *checkpoint.Error {
	t.Helper()
	if !checkpoint.HasCode(err, code) {
		t.Fatalf("got error %v, want code %s", err, code)
	}
	return asCheckpointError(err)
}

// handOver replaces checkpoint n by one with the same message and another tree,
// as a repository from somebody else could bring.
func (r *room) handOver(n int, tree string, change func(message string) string) {
	r.t.Helper()
	ref := fmt.Sprintf("refs/turnback/checkpoints/%s/%d", r.pane.ID, n)
	raw := r.Git("cat-file", "commit", ref)
	raw = "tree " + tree + raw[strings.Index(raw, "\n"):]
	if change != nil {
		raw = change(raw)
	}
	id := strings.TrimSpace(r.GitInput(raw, "hash-object", "-t", "commit", "-w", "--stdin", "--literally"))
	r.Git("update-ref", ref, id)
}

// sameTree fails unless the work tree is as before, modes and folders too.
func (r *room) sameTree(before map[string]gittest.Entry) {
	r.t.Helper()
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		r.t.Errorf("the work tree is another than before (- before, + now):\n%s", diff)
	}
}
