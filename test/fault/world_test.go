//go:build unix

package fault_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

var every = flag.Bool("fault.every", false, "break at every place, not at a part of them")

// world is a repository in which something is to be done, again and again.
type world struct {
	*gittest.Repo
	t        testing.TB
	template string
	pane     checkpoint.Pane
}

// scenario is something that is done in a world.
type scenario struct {
	name    string
	prepare func(w *world, s *checkpoint.Store)
	act     func(ctx context.Context, w *world, s *checkpoint.Store) error
	changes bool // files of the work tree
	spares  bool // needs no room
}

func (w *world) turn(turn int) checkpoint.SaveRequest {
	return checkpoint.SaveRequest{Kind: checkpoint.KindTurn, Pane: w.pane, Turn: turn, State: "done", Label: fmt.Sprintf("turn %d", turn)}
}

func (w *world) to(n int) checkpoint.RestoreRequest {
	return checkpoint.RestoreRequest{Pane: w.pane, N: n, State: "done"}
}

// begin opens a turn and edits in it.
func (w *world) begin(s *checkpoint.Store, turn int) checkpoint.Base {
	res, err := s.Begin(w.t.Context(), checkpoint.BeginRequest{Pane: w.pane, Turn: turn, SaveStart: true})
	if err != nil {
		w.t.Fatalf("begin turn %d: %v", turn, err)
	}
	return res.Base
}

// turns takes two turns: one edits, one adds, removes and swaps kinds.
func (w *world) turns(s *checkpoint.Store) {
	for turn, edit := range []func(){
		func() {
			w.Write("a", "one\n")
			w.Write("d/b", "one\n")
			w.Write("new", "new\n")
			w.Symlink("a", "link")
		},
		func() {
			w.Write("a", "two\n")
			w.Remove("new")
			w.Remove("link")
			w.Write("link", "a file now\n")
			w.Remove("d/b")
			w.Write("d/b/c", "a folder now\n")
			w.Write("e/f/g", "deep\n")
		},
	} {
		base := w.begin(s, turn+1)
		edit()
		r := w.turn(turn + 1)
		r.Base = &base
		if _, err := s.Save(w.t.Context(), r); err != nil {
			w.t.Fatalf("save turn %d: %v", turn+1, err)
		}
	}
}

func scenarios() []scenario {
	edit := func(w *world, s *checkpoint.Store) {
		w.turns(s)
		w.begin(s, 3)
		w.Write("a", "three\n")
		w.Write("untracked", "three\n")
		w.Write("d/more", "three\n")
	}
	turns := func(w *world, s *checkpoint.Store) { w.turns(s) }
	return []scenario{
		{name: "save", prepare: edit, act: func(ctx context.Context, w *world, s *checkpoint.Store) error {
			res, err := s.Save(ctx, w.turn(3))
			if err == nil && res.Checkpoint == nil {
				err = fmt.Errorf("nothing was saved, and nothing is said")
			}
			return err
		}},
		{name: "begin", prepare: edit, act: func(ctx context.Context, w *world, s *checkpoint.Store) error {
			res, err := s.Begin(ctx, checkpoint.BeginRequest{Pane: w.pane, Turn: 4, SaveStart: true})
			if err == nil && res.Start == nil {
				err = fmt.Errorf("no start was saved, and nothing is said")
			}
			return err
		}},
		{name: "restore", changes: true, prepare: turns, act: func(ctx context.Context, w *world, s *checkpoint.Store) error {
			_, err := s.Restore(ctx, w.to(2)) // 1 is what was there before the first turn
			return err
		}},
		{name: "undo", changes: true, prepare: turns, act: func(ctx context.Context, w *world, s *checkpoint.Store) error {
			_, err := s.Undo(ctx, w.to(0))
			return err
		}},
		{name: "revert", changes: true, prepare: turns, act: func(ctx context.Context, w *world, s *checkpoint.Store) error {
			_, err := s.Revert(ctx, w.to(3))
			return err
		}},
		{name: "drop", prepare: turns, act: func(ctx context.Context, w *world, s *checkpoint.Store) error {
			_, err := s.DropNow(ctx, w.pane.ID, []int{1})
			return err
		}},
		{name: "trash", prepare: turns, act: func(ctx context.Context, w *world, s *checkpoint.Store) error {
			if _, err := s.Drop(ctx, w.pane.ID, []int{1}); err != nil {
				return err
			}
			_, err := s.Untrash(ctx, w.pane.ID, []int{1})
			return err
		}},
		{name: "prune", spares: true, prepare: turns, act: func(ctx context.Context, w *world, s *checkpoint.Store) error {
			_, err := s.Prune(ctx, time.Nanosecond, false)
			return err
		}},
	}
}

func newWorld(t testing.TB, sc scenario) *world {
	t.Helper()
	r := gittest.NewCommitted(t, map[string]string{
		"a": "first\n", "d/b": "first\n", "kept": "first\n", ".gitignore": "ignored\nfiller\n",
	})
	w := &world{Repo: r, t: t, pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}}
	w.Write("ignored", "mine\n")
	w.Write("kept", "staged\n")
	w.Git("add", "kept")
	w.Write("kept", "and edited\n")
	sc.prepare(w, w.open(nil))
	w.template = filepath.Join(t.TempDir(), "template")
	w.copyTree(w.Root, w.template)
	return w
}

func (w *world) copyTree(from, to string) {
	w.t.Helper()
	if err := os.RemoveAll(to); err != nil {
		w.t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		w.t.Fatalf("copy the repository: %v: %s", err, out)
	}
}

// reset makes the repository what it was after the preparation.
func (w *world) reset() { w.copyTree(w.template, w.Root) }

// open gives a store of a process that knows nothing yet; g may be nil.
func (w *world) open(g *git.Git) *checkpoint.Store {
	w.t.Helper()
	s, err := w.tryOpen(g)
	if err != nil {
		w.t.Fatalf("open the store: %v", err)
	}
	return s
}

func (w *world) tryOpen(g *git.Git) (*checkpoint.Store, error) {
	return checkpoint.Open(w.t.Context(), checkpoint.Options{Dir: w.Root, Env: w.Env(), Git: g, Now: time.Now})
}

// state is what has to be as it was.
type state struct {
	files map[string]gittest.Entry
	users gittest.Fingerprint
	refs  map[string]string // of ours, with the trees of their commits
}

func (w *world) state() state {
	w.t.Helper()
	return state{files: w.Tree(), users: w.Fingerprint(), refs: w.ourRefs()}
}

func (w *world) ourRefs() map[string]string {
	w.t.Helper()
	refs := map[string]string{}
	for line := range strings.Lines(w.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/turnback")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[name] = id
	}
	return refs
}

// check says what is wrong after an act that was broken, and finishes what it
// left under way.
func (w *world) check(sc scenario, before state, err error) {
	t := w.t
	t.Helper()
	// Nothing of the person's is touched, and no ref of ours lacks an object.
	if diff := cmp.Diff(before.users, w.Fingerprint()); diff != "" {
		t.Errorf("what is the person's has changed:\n%s", diff)
	}
	for name := range w.ourRefs() {
		if out, fsckErr := w.TryGit("rev-list", "--objects", "--quiet", name); fsckErr != nil {
			t.Errorf("%s lacks objects: %v%s", name, fsckErr, out)
		}
	}
	s := w.open(nil)
	info, listErr := s.List(t.Context(), w.pane.ID)
	if listErr != nil {
		t.Fatalf("list: %v", listErr)
	}
	for _, c := range info.Checkpoints {
		if c.Damaged != "" {
			t.Errorf("checkpoint %d is damaged: %s", c.N, c.Damaged)
		}
	}
	if left, inErr := s.Interrupted(); inErr != nil || left != nil {
		if !sc.changes || inErr != nil {
			t.Fatalf("a restore is told as interrupted: %+v, %v", left, inErr)
		}
		if _, finErr := s.Finish(t.Context(), checkpoint.FinishRequest{Abort: true}); finErr != nil {
			t.Fatalf("abort: %v", finErr)
		}
		err = fmt.Errorf("aborted after: %w", cmpErr(err))
	}
	if !sc.changes || err != nil {
		if diff := cmp.Diff(before.files, w.Tree()); diff != "" {
			t.Errorf("files have changed (- before, + after), with the error %v:\n%s", err, diff)
		}
	}
	w.nextWorks()
	w.leftovers()
}

func cmpErr(err error) error {
	if err == nil {
		return fmt.Errorf("no error")
	}
	return err
}

// nextWorks saves what is on disk with a git that is well, and looks whether
// the checkpoint holds it.
func (w *world) nextWorks() {
	t := w.t
	t.Helper()
	s := w.open(nil)
	r := w.turn(9)
	r.Always = true
	w.Write("after", "the fault\n")
	res, err := s.Save(t.Context(), r)
	if err != nil || res.Checkpoint == nil {
		t.Fatalf("the next save: %+v, %v", res, err)
	}
	want := w.Tree()
	w.Write("a", "edited after the fault\n")
	if _, err := s.Restore(t.Context(), w.to(res.Checkpoint.N)); err != nil {
		t.Fatalf("the next restore: %v", err)
	}
	if diff := cmp.Diff(want, w.Tree()); diff != "" {
		t.Errorf("the next save and restore lose something (- saved, + back):\n%s", diff)
	}
}

// leftovers names temporary things of ours that nobody will remove.
func (w *world) leftovers() {
	t := w.t
	t.Helper()
	for name := range w.Tree() {
		if strings.HasPrefix(filepath.Base(name), ".turnback-") {
			t.Errorf("%s was left in the work tree", name)
		}
	}
	for _, pattern := range []string{
		"trees/*/index-*", "trees/*/rules-*", "trees/*/table-*", "trees/*/journal-*", "trees/*/content-*", "trees/*/restore.json*", "trees/*/newest.json-*",
		"quarantine/*", "tmp-*",
	} {
		left, _ := filepath.Glob(filepath.Join(w.Root, ".git", "turnback", pattern))
		for _, path := range left {
			t.Errorf("%s was left behind", strings.TrimPrefix(path, w.Root))
		}
	}
	locks, _ := filepath.Glob(filepath.Join(w.Root, ".git", "*.lock"))
	for _, path := range locks {
		t.Errorf("%s was left behind", path)
	}
}
