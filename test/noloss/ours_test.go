package noloss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// op is one call of the library, as data: it can be made in another process.
type op struct {
	Do       string // begin, save, restore, undo, redo, revert, drop, drop now, untrash, prune, purge
	Pane     checkpoint.Pane
	N        int
	Ns       []int
	Turn     int
	State    string
	Kind     checkpoint.Kind
	Base     *checkpoint.Base
	Paths    [][]byte
	DryRun   bool
	How      string // an override: all, mine, keep, discard
	With     []checkpoint.TurnID
	Named    []string
	Older    time.Duration
	Now      bool // purge: remove the objects too
	StopStep int  // end the process's work at that step boundary; 0: never
}

// outcome is what came of an op.
type outcome struct {
	made    []checkpoint.Checkpoint // new ones
	gone    []checkpoint.Checkpoint // dropped, pruned
	base    checkpoint.Base
	restore *checkpoint.RestoreResult
	save    *checkpoint.SaveResult
}

// do makes the call.
func (o op) do(ctx context.Context, s *checkpoint.Store) (outcome, error) {
	var out outcome
	switch o.Do {
	case "begin":
		res, err := s.Begin(ctx, checkpoint.BeginRequest{Pane: o.Pane, Turn: o.Turn, SaveStart: true})
		if res.Start != nil {
			out.made = append(out.made, *res.Start)
		}
		out.base = res.Base
		return out, err
	case "save":
		res, err := s.Save(ctx, checkpoint.SaveRequest{
			Kind: o.Kind, Pane: o.Pane, Turn: o.Turn, State: o.State, Base: o.Base, Label: "work", Always: o.Kind == checkpoint.KindManual,
			With: o.With, Named: o.Named,
		})
		if res.Checkpoint != nil {
			out.made = append(out.made, *res.Checkpoint)
		}
		out.save = &res
		return out, err
	case "restore", "undo", "redo", "revert":
		f := map[string]func(context.Context, checkpoint.RestoreRequest) (checkpoint.RestoreResult, error){
			"restore": s.Restore, "undo": s.Undo, "redo": s.Redo, "revert": s.Revert,
		}[o.Do]
		res, err := f(ctx, o.request())
		if res.Safety != nil {
			out.made = append(out.made, *res.Safety)
		}
		out.restore = &res
		return out, err
	case "drop", "drop now", "untrash":
		f := map[string]func(context.Context, string, []int) ([]checkpoint.Checkpoint, error){
			"drop": s.Drop, "drop now": s.DropNow, "untrash": s.Untrash,
		}[o.Do]
		list, err := f(ctx, o.Pane.ID, o.Ns)
		out.gone = list
		return out, err
	case "purge":
		_, err := s.Purge(ctx, checkpoint.PurgeRequest{Path: string(o.Paths[0]), Now: o.Now})
		return out, err
	case "prune":
		list, err := s.Prune(ctx, o.Older, false)
		out.gone = list
		return out, err
	}
	return out, errors.New("no such op: " + o.Do)
}

func (o op) request() checkpoint.RestoreRequest {
	r := checkpoint.RestoreRequest{Pane: o.Pane, N: o.N, Here: true, DryRun: o.DryRun, Turn: o.Turn, State: o.State}
	r.Mine, r.AllPanes = o.How == "mine", o.How == "all"
	r.KeepEdits, r.DiscardEdits = o.How == "keep", o.How == "discard"
	for _, p := range o.Paths {
		r.Paths = append(r.Paths, string(p))
	}
	if steps := 0; o.StopStep > 0 {
		r.Step = func(string) error {
			if steps++; steps == o.StopStep {
				return checkpoint.ErrStopped
			}
			return nil
		}
	}
	return r
}

// ourSteps are the calls of the library, each with its checks.
func (w *world) ourSteps() []step {
	return slices.Concat(
		times(8, "begin", w.begin),
		times(8, "end", w.endTurn),
		times(2, "pause", w.pause),
		times(3, "save", w.save),
		times(8, "restore", w.restore),
		times(3, "restore paths", w.restorePaths),
		times(5, "undo", func() { w.undoOrRedo("undo") }),
		times(3, "redo", func() { w.undoOrRedo("redo") }),
		times(2, "revert", w.revert),
		times(1, "drop", w.drop),
		times(1, "untrash", w.untrash),
		times(1, "prune", w.prune),
		times(1, "purge", w.purge),
		times(1, "tend", w.tend),
		times(2, "reopen", func() { w.store = w.open() }),
		times(1, "lose state", w.loseState),
		times(2, "collect garbage", w.collect),
		times(3, "stop", w.stop),
		times(3, "kill", w.kill),
	)
}

func (w *world) worker() *worker { return rapid.SampledFrom(w.panes).Draw(w.rt, "pane") }

// allowed are refusals that a history can bring about.
func allowed(o op, err error) bool {
	var codes []checkpoint.Code
	switch o.Do {
	case "restore", "undo", "redo", "revert":
		codes = []checkpoint.Code{
			checkpoint.WouldOverwrite, checkpoint.EditedSince, checkpoint.NothingToUndo, checkpoint.Conflicts,
		}
		if o.How != "all" {
			codes = append(codes, checkpoint.OthersChanged)
		}
		if len(o.Paths) > 0 {
			codes = append(codes, checkpoint.InvalidParams)
		}
	}
	return slices.ContainsFunc(codes, func(c checkpoint.Code) bool { return checkpoint.HasCode(err, c) })
}

// run makes the call and holds it to what always has to hold.
func (w *world) run(o op) (outcome, bool) {
	w.note("op", o)
	m := w.look()
	out, err := o.do(w.t.Context(), w.store)
	return w.judge(o, out, err, m)
}

func (w *world) judge(o op, out outcome, err error, m moment) (outcome, bool) {
	if diff := cmp.Diff(m.print, w.fingerprint()); diff != "" {
		w.rt.Fatalf("%s changed the person's things:\n%s", o.Do, diff)
	}
	if err != nil {
		if !allowed(o, err) {
			w.rt.Fatalf("%s: %v", o.Do, err)
		}
		if diff := cmp.Diff(m.disk, w.disk()); diff != "" {
			w.rt.Fatalf("%s refused (%v) and changed files:\n%s", o.Do, err, diff)
		}
		w.refused++
		w.checkRefs(o, outcome{})
		return out, false
	}
	for _, c := range out.made {
		w.checkSaved(o.Do, c, m)
		w.held[c.Ref] = saved{c, m.seen}
	}
	w.checkRefs(o, out)
	after := w.disk()
	if out.restore == nil || o.DryRun {
		if diff := cmp.Diff(m.disk, after); diff != "" {
			w.rt.Fatalf("%s changed files:\n%s", o.Do, diff)
		}
	}
	w.checkLost(o.Do, m.disk, after, out.made...)
	return out, true
}

// checkRefs compares the refs with what there has to be: nothing goes but what
// the op said or a limit takes.
func (w *world) checkRefs(o op, out outcome) {
	now := map[string]string{}
	for line := range strings.Lines(w.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/turnback/checkpoints")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		now[name] = id
	}
	for _, c := range out.gone {
		if o.Do == "untrash" {
			continue
		}
		if now[c.Ref] != "" {
			w.rt.Fatalf("%s says that %s is gone, and it is there", o.Do, c.Ref)
		}
		delete(w.held, c.Ref)
	}
	for ref, s := range w.held {
		switch now[ref] {
		case s.Commit:
			continue
		case "":
			if w.pastLimit(s) {
				delete(w.held, ref)
				continue
			}
		}
		w.rt.Fatalf("%s: %s was %s and is %q", o.Do, ref, s.Commit, now[ref])
	}
	for ref := range now {
		if _, ok := w.held[ref]; !ok {
			w.rt.Fatalf("%s: nobody made %s", o.Do, ref)
		}
	}
}

// pastLimit tells whether retention may have taken s: keep newer turns are there.
func (w *world) pastLimit(s saved) bool {
	newer := map[int]bool{}
	for _, o := range w.held {
		turned := o.Kind == checkpoint.KindTurn || o.Kind == checkpoint.KindStart
		if turned && o.Pane.ID == s.Pane.ID && o.Turn > s.Turn {
			newer[o.Turn] = true
		}
	}
	return (s.Kind == checkpoint.KindTurn || s.Kind == checkpoint.KindStart) && len(newer) >= w.keep
}

func (w *world) begin() {
	p := w.worker()
	if p.open {
		return
	}
	p.turn++
	p.then[p.turn] = w.look().savable()
	if out, ok := w.run(op{Do: "begin", Pane: p.pane, Turn: p.turn}); ok {
		p.base, p.open, p.with = out.base, true, nil
		for _, other := range w.panes {
			if other != p && other.open {
				other.with = append(other.with, checkpoint.TurnID{Pane: p.pane.ID, Turn: p.turn})
				p.with = append(p.with, checkpoint.TurnID{Pane: other.pane.ID, Turn: other.turn})
			}
		}
	}
}

func (w *world) turnOp(p *worker, state string) op {
	base := p.base
	return op{
		Do: "save", Kind: checkpoint.KindTurn, Pane: p.pane, Turn: p.turn, State: state, Base: &base, With: p.with,
		Named: []string{"a", "b"},
	}
}

func (w *world) endTurn() {
	if p := w.worker(); p.open {
		p.open = false
		w.run(w.turnOp(p, w.word("done", "done", "idle", "errored", "aborted")))
	}
}

func (w *world) pause() {
	if p := w.worker(); p.open {
		w.run(w.turnOp(p, "needs_input"))
	}
}

func (w *world) save() {
	w.run(op{Do: "save", Kind: checkpoint.KindManual, Pane: w.worker().pane})
}

// choose gives one of the checkpoints that there are.
func (w *world) choose() (saved, bool) {
	refs := slices.Sorted(maps.Keys(w.held))
	if len(refs) == 0 {
		return saved{}, false
	}
	return w.held[rapid.SampledFrom(refs).Draw(w.rt, "checkpoint")], true
}

func (w *world) restore() {
	s, ok := w.choose()
	if !ok {
		return
	}
	o := op{Do: "restore", Pane: s.Pane, N: s.N, DryRun: w.chance(5, "dry run"), How: w.word("all", "all", "all", "mine", "")}
	if out, done := w.putBack(o); done && !o.DryRun && o.How != "mine" {
		w.checkRestored(o, s, out)
	}
}

// checkRestored compares the disk with what the checkpoint held.
func (w *world) checkRestored(o op, s saved, out outcome) {
	now, res, exec := w.disk(), out.restore, w.execCounts()
	left, err := w.store.LeftOutAll(w.t.Context(), s.Checkpoint)
	w.must(err)
	for path, e := range s.files {
		if !leftOut(left, path) && !slices.Contains(res.Skipped, path) && !w.same(e, now[path], exec) {
			w.rt.Fatalf("restore %d: %q is %+v, want %+v", o.N, path, now[path], e)
		}
	}
	safety := w.contents(*res.Safety)
	for path := range w.visible(now, w.tracked()) {
		_, want := s.files[path]
		_, was := safety[path]
		if was && !want && !slices.Contains(res.Kept, path) && !slices.Contains(res.Skipped, path) {
			w.rt.Fatalf("restore %d left %q, which it does not hold", o.N, path)
		}
	}
}

func (w *world) restorePaths() {
	s, ok := w.choose()
	if !ok {
		return
	}
	path, before := w.existing(), w.disk()
	if _, done := w.putBack(op{Do: "restore", Pane: s.Pane, N: s.N, Paths: [][]byte{[]byte(path)}, How: "all"}); !done {
		return
	}
	now := w.disk()
	for other, e := range before {
		if other != path && !strings.HasPrefix(other, path+"/") && e.Kind != gittest.Dir && now[other] != e {
			w.rt.Fatalf("restore of %q changed %q", path, other)
		}
	}
}

func (w *world) undoOrRedo(do string) {
	p := w.worker()
	o := op{Do: do, Pane: p.pane, Turn: p.turn, How: w.word("", "", "keep", "discard")}
	if out, done := w.putBack(o); done && do == "undo" && o.How != "keep" {
		w.checkUndone(p, out)
	}
}

// checkUndone compares the disk with what was there when the turn began.
func (w *world) checkUndone(p *worker, out outcome) {
	turn, disk, exec := out.restore.Turn, w.disk(), w.execCounts()
	then, known := p.then[turn]
	if !known {
		return
	}
	for path, e := range then {
		if st := disk[path]; !w.same(e, st, exec) && !slices.Contains(out.restore.Skipped, path) {
			w.rt.Fatalf("undo of turn %d: %q is %+v, want %+v", turn, path, st, e)
		}
	}
	safety := w.contents(*out.restore.Safety)
	for path := range w.visible(disk, w.tracked()) {
		_, was := safety[path]
		if _, want := then[path]; was && !want && !slices.Contains(out.restore.Kept, path) && !slices.Contains(out.restore.Skipped, path) {
			w.rt.Fatalf("undo of turn %d left %q, which was not there when it began\n%s", turn, path, w.scene())
		}
	}
}

// putBack runs an op that writes files, and after it sometimes goes back by the
// safety checkpoint, to exactly the files that were there, and forth again.
func (w *world) putBack(o op) (outcome, bool) {
	before := w.disk()
	out, done := w.run(o)
	if !done || o.DryRun {
		return out, done
	}
	if slices.ContainsFunc(out.restore.Notes, func(n string) bool { return strings.Contains(n, "changed again") }) {
		w.rt.Fatalf("%s: %q", o.Do, out.restore.Notes)
	}
	if w.chance(30, "there and back") {
		after := w.disk()
		back := w.goTo(o, *out.restore.Safety)
		w.equal(o.Do+", then back", before, w.disk())
		w.goTo(o, *back.restore.Safety)
		w.equal(o.Do+", back, then forth again", after, w.disk())
	}
	return out, true
}

// equal compares files, links and folders, byte for byte and with their modes,
// where modes mean something.
func (w *world) equal(what string, want, got files) {
	if !w.execCounts() {
		want, got = want.modeless(), got.modeless()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.rt.Fatalf("%s (- want, + got):\n%s\n%s", what, diff, w.scene())
	}
}

func (f files) modeless() files {
	out := files{}
	for path, e := range f {
		e.Mode = 0
		out[path] = e
	}
	return out
}

// scene is what a reader of a failure wants to know.
func (w *world) scene() string {
	var b strings.Builder
	for _, args := range [][]string{
		{"status", "--short", "--ignored"},
		{"ls-files", "-s", "-v"},
		{"config", "--local", "--list"},
		{"log", "--oneline", "--all", "--raw", "--format=%h %D %s"},
	} {
		out, err := w.TryGit(args...)
		fmt.Fprintf(&b, "git %v %v\n%s\n", args, err, out)
	}
	for _, ref := range slices.Sorted(maps.Keys(w.held)) {
		c := w.held[ref].Checkpoint
		left, err := w.store.LeftOutAll(w.t.Context(), c)
		fmt.Fprintf(&b, "%s %s left out %q %v\n", ref, c.Label, left, err)
		for _, path := range slices.Sorted(maps.Keys(w.contents(c))) {
			fmt.Fprintf(&b, "    %q %.7s\n", path, w.contents(c)[path].Sum)
		}
	}
	return b.String()
}

func (w *world) goTo(o op, c checkpoint.Checkpoint) outcome {
	out, ok := w.run(op{Do: "restore", Pane: c.Pane, N: c.N, How: "all"})
	if !ok {
		w.rt.Fatalf("%s, then its safety checkpoint: refused", o.Do)
	}
	return out
}

func (w *world) revert() {
	if s, ok := w.choose(); ok {
		w.putBack(op{Do: "revert", Pane: s.Pane, N: s.N, How: w.word("all", "all", "mine", "")})
	}
}

// drop moves a checkpoint to the trash, or lets it go for good.
func (w *world) drop() {
	s, ok := w.choose()
	if !ok {
		return
	}
	o := op{Do: w.word("drop", "drop now"), Pane: s.Pane, Ns: []int{s.N}}
	if _, done := w.run(o); done && o.Do == "drop" {
		w.trash[s.Ref] = s
	}
}

// untrash brings one back, as it was.
func (w *world) untrash() {
	refs := slices.Sorted(maps.Keys(w.trash))
	if len(refs) == 0 {
		return
	}
	s := w.trash[rapid.SampledFrom(refs).Draw(w.rt, "in the trash")]
	delete(w.trash, s.Ref)
	w.held[s.Ref] = s
	w.run(op{Do: "untrash", Pane: s.Pane, Ns: []int{s.N}})
}

// purge takes a path out of everything that is saved. What else there is stays.
func (w *world) purge() {
	if slices.ContainsFunc(w.panes, func(p *worker) bool { return p.open }) {
		return // the program waits for every agent: the base of an open turn is known to its caller
	}
	path := w.existing()
	want := map[string]files{}
	for ref, s := range w.held {
		want[ref] = w.contents(s.Checkpoint).without(path)
	}
	w.held = map[string]saved{}
	o := op{Do: "purge", Paths: [][]byte{[]byte(path)}, Now: w.chance(50, "now")}
	w.note("purge", path)
	m := w.look()
	if _, err := o.do(w.t.Context(), w.store); err != nil {
		w.rt.Fatalf("purge %q: %v", path, err)
	}
	info, err := w.store.ListAll(w.t.Context())
	w.must(err)
	for _, p := range info {
		for _, c := range p.Checkpoints {
			if diff := cmp.Diff(want[c.Ref], w.contents(c)); diff != "" {
				w.rt.Fatalf("purge of %q changed checkpoint %s (- want, + got):\n%s", path, c.Ref, diff)
			}
			w.held[c.Ref] = saved{c, want[c.Ref]}
			delete(want, c.Ref)
		}
	}
	if len(want) > 0 {
		w.rt.Fatalf("purge of %q lost %d checkpoints", path, len(want))
	}
	w.trash = map[string]saved{} // their new commits are not known here
	for _, p := range w.panes {
		for turn := range p.then {
			p.then[turn] = p.then[turn].without(path)
		}
	}
	if _, done := w.judge(o, outcome{}, nil, m); done {
		w.checkObjects()
	}
}

func (f files) without(path string) files {
	out := files{}
	for p, e := range f {
		if p != path && !strings.HasPrefix(p, path+"/") {
			out[p] = e
		}
	}
	return out
}

// tend does what the daemon does when nothing else is to be done.
func (w *world) tend() {
	m := w.look()
	w.must(w.store.Tend(w.t.Context()))
	w.judge(op{Do: "tend"}, outcome{}, nil, m)
	w.checkObjects()
}

func (w *world) prune() {
	older := rapid.SampledFrom([]time.Duration{0, time.Hour, time.Nanosecond}).Draw(w.rt, "age")
	w.run(op{Do: "prune", Older: older})
}

// loseState removes every file of ours that is no ref and no object.
func (w *world) loseState() {
	_ = os.RemoveAll(w.Path(".git/turnback"))
	w.store = w.open()
}

// collect runs git's garbage collection beside a save.
func (w *world) collect() {
	w.note("gc", nil)
	m := w.look()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = w.TryGit(append([]string{"-c", "gc.pruneExpire=now"}, "gc", "--prune=now", "--quiet")...)
	})
	o := op{Do: "save", Kind: checkpoint.KindManual, Pane: w.worker().pane}
	out, err := o.do(w.t.Context(), w.store)
	wg.Wait()
	w.judge(o, out, err, m)
	w.checkObjects()
}
