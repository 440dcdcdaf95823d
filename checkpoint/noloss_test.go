package checkpoint_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// world is a work tree in which a person and two agents work at random.
type world struct {
	*gittest.Repo
	t     *testing.T
	rt    *rapid.T
	store *checkpoint.Store
	panes []*worker
	held  map[string]files // what each checkpoint held when it was taken, by ref
}

// worker is a pane with its turns.
type worker struct {
	pane checkpoint.Pane
	turn int
	open bool
	base checkpoint.Base
}

// files are the files and links of a work tree that git does not ignore.
type files map[string]gittest.Entry

// TestNothingIsLost drives edits, staging, commits, branch switches, turns in
// two panes, restores, undo and redo in random order. After every step of ours
// the person's index, HEAD, refs, stash and config are as they were; a restore
// gives exactly what the checkpoint held; and restoring its safety checkpoint
// gives back the files as they were before, byte for byte.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt)
		steps := w.steps()
		for range rapid.IntRange(4, 30).Draw(rt, "steps") {
			rapid.SampledFrom(steps).Draw(rt, "step").run()
		}
	})
}

func newWorld(t *testing.T, rt *rapid.T) *world {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n", "d/a": "2\n", "d/e/b": "3\n", ".gitignore": "*.o\n/ig\n"})
	w := &world{Repo: r, t: t, rt: rt, store: open(t, r, nil), held: map[string]files{}}
	for _, id := range []string{"aaaaaaaa", "bbbbbbbb"} {
		w.panes = append(w.panes, &worker{pane: checkpoint.Pane{ID: id, Window: "w" + id[:1], Session: "s"}})
	}
	return w
}

type worldStep struct {
	name string
	run  func()
}

func (s worldStep) String() string { return s.name }

func (w *world) steps() []worldStep {
	git := func(args ...string) func() { return func() { _, _ = w.TryGit(args...) } }
	word := func(words ...string) string { return rapid.SampledFrom(words).Draw(w.rt, "word") }
	return []worldStep{
		{"write", func() { w.put(w.path(), w.text()) }},
		{"write", func() { w.put(w.path(), w.text()) }},
		{"rewrite", func() { w.put(w.existing(), w.text()) }},
		{"remove", func() { _ = os.RemoveAll(w.Path(w.existing())) }},
		{"move", func() { from, to := w.existing(), w.path(); _ = os.Rename(w.Path(from), w.room(to)) }},
		{"link", func() { _ = os.Symlink(word("a", "d", "/etc", "nowhere"), w.room(w.path())) }},
		{"chmod", w.flipExec},
		{"ignore", func() { w.put(word(".gitignore", "d/.gitignore"), word("", "*.o\n", "b\n", "e/\n", "*\n!a\n")) }},
		{"stage", func() { _, _ = w.TryGit("add", "--", w.existing()) }},
		{"unstage", func() { _, _ = w.TryGit("rm", "-r", "-q", "--cached", "--", w.existing()) }},
		{"commit", git("commit", "-q", "-a", "-m", "c")},
		{"stash", git("stash", "-q")},
		{"branch", func() { _, _ = w.TryGit("checkout", "-q", "-B", word("main", "two")) }},
		{"switch", func() { _, _ = w.TryGit("checkout", "-q", "-f", word("main", "two")) }},
		{"begin", w.begin},
		{"begin", w.begin},
		{"end", w.end},
		{"end", w.end},
		{"save", w.save},
		{"restore", w.restore},
		{"restore", w.restore},
		{"restore paths", w.restorePaths},
		{"undo", func() { w.undoOrRedo(w.store.Undo) }},
		{"redo", func() { w.undoOrRedo(w.store.Redo) }},
		{"reopen", func() { w.store = open(w.t, w.Repo, nil) }},
	}
}

func (w *world) path() string {
	names := []string{"a", "b", "c.o", "d", "e", "ig", "x y", "ü", "q\"\\", "n\nl", "-x", ":(x)"}
	parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(w.rt, "path")
	return strings.Join(parts, "/")
}

func (w *world) text() string { return rapid.StringMatching(`[ab\x00]{0,3}\n?`).Draw(w.rt, "text") }

func (w *world) existing() string {
	list := slices.Sorted(maps.Keys(w.Tree()))
	if len(list) == 0 {
		return "none"
	}
	return rapid.SampledFrom(list).Draw(w.rt, "existing")
}

// room makes place at path and gives its full name.
func (w *world) room(path string) string {
	for i := range path {
		if path[i] == '/' {
			if st, err := os.Lstat(w.Path(path[:i])); err == nil && !st.IsDir() {
				_ = os.Remove(w.Path(path[:i]))
			}
		}
	}
	_ = os.RemoveAll(w.Path(path))
	_ = os.MkdirAll(filepath.Dir(w.Path(path)), 0o755)
	return w.Path(path)
}

func (w *world) put(path, text string) { _ = os.WriteFile(w.room(path), []byte(text), 0o644) }

func (w *world) flipExec() {
	full := w.Path(w.existing())
	if st, err := os.Lstat(full); err == nil && st.Mode().IsRegular() {
		_ = os.Chmod(full, st.Mode()^0o111)
	}
}

// visible lists what a checkpoint of now has to hold.
func (w *world) visible() files {
	out := files{}
	all := w.Tree()
	for _, args := range [][]string{{"ls-files", "-z"}, {"ls-files", "-z", "-o", "--exclude-standard"}} {
		for path := range strings.SplitSeq(w.Git(args...), "\x00") {
			if e, ok := all[path]; ok && e.Kind != "dir" && !w.beyondLink(all, path) {
				out[path] = e
			}
		}
	}
	return out
}

func (w *world) beyondLink(all map[string]gittest.Entry, path string) bool {
	for i := range path {
		if path[i] == '/' && all[path[:i]].Kind == "link" {
			return true
		}
	}
	return false
}

// ours runs a step of ours and checks that the person's things stay as they are.
func (w *world) ours(what string, f func()) {
	before := w.Fingerprint()
	f()
	if diff := cmp.Diff(before, w.Fingerprint()); diff != "" {
		w.rt.Fatalf("%s changed the person's things:\n%s", what, diff)
	}
}

func (w *world) keep(c *checkpoint.Checkpoint, held files) {
	if c != nil {
		w.held[c.Ref] = held
	}
}

func (w *world) worker() *worker { return rapid.SampledFrom(w.panes).Draw(w.rt, "pane") }

func (w *world) begin() {
	p := w.worker()
	if p.open {
		return
	}
	w.ours("begin", func() {
		held := w.visible()
		p.turn++
		res, err := w.store.Begin(w.t.Context(), checkpoint.BeginRequest{Pane: p.pane, Turn: p.turn, SaveStart: true})
		if err != nil {
			w.rt.Fatalf("begin: %v", err)
		}
		p.base, p.open = res.Base, true
		w.keep(res.Start, held)
	})
}

func (w *world) end() {
	p := w.worker()
	if !p.open {
		return
	}
	p.open = false
	w.ours("end", func() {
		held := w.visible()
		res, err := w.store.Save(w.t.Context(), checkpoint.SaveRequest{
			Kind: checkpoint.KindTurn, Pane: p.pane, Turn: p.turn, State: "done", Base: &p.base, Label: "work",
		})
		if err != nil {
			w.rt.Fatalf("end: %v", err)
		}
		w.keep(res.Checkpoint, held)
	})
}

func (w *world) save() {
	w.ours("save", func() {
		held := w.visible()
		res, err := w.store.Save(w.t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: w.worker().pane, Always: true})
		if err != nil {
			w.rt.Fatalf("save: %v", err)
		}
		w.keep(res.Checkpoint, held)
	})
}

func (w *world) choose() (checkpoint.Checkpoint, bool) {
	info, err := w.store.List(w.t.Context(), w.worker().pane.ID)
	if err != nil {
		w.rt.Fatalf("list: %v", err)
	}
	if len(info.Checkpoints) == 0 {
		return checkpoint.Checkpoint{}, false
	}
	return rapid.SampledFrom(info.Checkpoints).Draw(w.rt, "checkpoint"), true
}

func (w *world) restore() {
	c, ok := w.choose()
	if !ok {
		return
	}
	r := checkpoint.RestoreRequest{Pane: c.Pane, N: c.N, Here: true}
	res, done := w.putBack(fmt.Sprintf("restore %d", c.N), func() (checkpoint.RestoreResult, error) { return w.store.Restore(w.t.Context(), r) })
	if !done {
		return
	}
	want := w.held[c.Ref]
	got := files(w.Tree())
	for path, e := range want {
		if got[path] != e {
			w.rt.Fatalf("restore %d: %q is %+v, want %+v", c.N, path, got[path], e)
		}
	}
	for path := range w.visible() {
		if _, ok := want[path]; !ok && !slices.Contains(res.Kept, path) && !slices.Contains(res.Skipped, path) {
			if w.inSafety(res, path) {
				w.rt.Fatalf("restore %d left %q, which it does not hold", c.N, path)
			}
		}
	}
}

// inSafety tells whether the safety checkpoint holds path: a restore must have
// removed it. What was ignored before and is not any more, it may not know.
func (w *world) inSafety(res checkpoint.RestoreResult, path string) bool {
	_, ok := w.held[res.Safety.Ref][path]
	return ok
}

func (w *world) restorePaths() {
	c, ok := w.choose()
	if !ok {
		return
	}
	path := w.existing()
	r := checkpoint.RestoreRequest{Pane: c.Pane, N: c.N, Here: true, Paths: []string{path}}
	before := w.Tree()
	if _, done := w.putBack(fmt.Sprintf("restore %q of %d", path, c.N), func() (checkpoint.RestoreResult, error) { return w.store.Restore(w.t.Context(), r) }); !done {
		return
	}
	now := w.Tree()
	for other, e := range before {
		if other != path && !strings.HasPrefix(other, path+"/") && e.Kind != "dir" && now[other] != e {
			w.rt.Fatalf("restore of %q changed %q", path, other)
		}
	}
}

func (w *world) undoOrRedo(f func(ctx context.Context, r checkpoint.RestoreRequest) (checkpoint.RestoreResult, error)) {
	p := w.worker()
	w.putBack("undo or redo", func() (checkpoint.RestoreResult, error) {
		return f(w.t.Context(), checkpoint.RestoreRequest{Pane: p.pane, Here: true})
	})
}

// putBack runs a step that writes files. A refusal must change nothing. After a
// success it sometimes goes back by the safety checkpoint, to exactly the files
// that were there.
func (w *world) putBack(what string, f func() (checkpoint.RestoreResult, error)) (checkpoint.RestoreResult, bool) {
	var res checkpoint.RestoreResult
	done := false
	w.ours(what, func() {
		before := w.withoutFolders()
		held := w.visible()
		var err error
		res, err = f()
		if err != nil {
			w.checkRefusal(what, err, before)
			return
		}
		done = true
		w.keep(res.Safety, held)
		if len(res.Notes) > 0 {
			w.rt.Fatalf("%s: %q", what, res.Notes)
		}
		if rapid.Bool().Draw(w.rt, "there and back") {
			after := w.withoutFolders()
			back := w.goTo(what, *res.Safety)
			if diff := cmp.Diff(before, w.withoutFolders()); diff != "" {
				w.rt.Fatalf("%s, then back (- before, + now):\n%s", what, diff)
			}
			w.goTo(what, *back.Safety)
			if diff := cmp.Diff(after, w.withoutFolders()); diff != "" {
				w.rt.Fatalf("%s, back, then forth again (- before, + now):\n%s", what, diff)
			}
		}
	})
	return res, done
}

func (w *world) goTo(what string, c checkpoint.Checkpoint) checkpoint.RestoreResult {
	held := w.visible()
	res, err := w.store.Restore(w.t.Context(), checkpoint.RestoreRequest{Pane: c.Pane, N: c.N, Here: true})
	if err != nil {
		w.rt.Fatalf("%s, then restore its safety checkpoint: %v", what, err)
	}
	w.keep(res.Safety, held)
	return res
}

func (w *world) checkRefusal(what string, err error, before files) {
	allowed := []checkpoint.Code{checkpoint.WouldOverwrite, checkpoint.EditedSince, checkpoint.NothingToUndo}
	if strings.HasPrefix(what, "restore \"") { // of a path that may be ignored
		allowed = append(allowed, checkpoint.InvalidParams)
	}
	if !slices.ContainsFunc(allowed, func(c checkpoint.Code) bool { return checkpoint.HasCode(err, c) }) {
		w.rt.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(before, w.withoutFolders()); diff != "" {
		w.rt.Fatalf("%s refused and changed files:\n%s", what, diff)
	}
}

func (w *world) withoutFolders() files {
	all := files(w.Tree())
	maps.DeleteFunc(all, func(_ string, e gittest.Entry) bool { return e.Kind == "dir" })
	return all
}
