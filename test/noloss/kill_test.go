package noloss

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// childOp is the environment variable by which the test program makes one call
// and ends.
const childOp = "TURNBACK_TEST_NOLOSS_OP"

type childCall struct {
	Options options
	Op      op
}

func runChild(text string) {
	var c childCall
	if json.Unmarshal([]byte(text), &c) != nil {
		os.Exit(3)
	}
	s, err := openStore(context.Background(), c.Options)
	if err == nil {
		_, err = c.Op.do(context.Background(), s)
	}
	if err != nil {
		os.Exit(4)
	}
	os.Exit(0)
}

// dangerous draws an op that a kill is worth trying in.
func (w *world) dangerous() (op, bool) {
	p := w.worker()
	s, ok := w.choose()
	switch w.word("restore", "restore", "undo", "save", "begin", "end") {
	case "restore":
		return op{Do: "restore", Pane: s.Pane, N: s.N, How: "all"}, ok
	case "undo":
		return op{Do: "undo", Pane: p.pane, Turn: p.turn}, true
	case "begin":
		if p.open {
			return op{}, false
		}
		p.turn++
		return op{Do: "begin", Pane: p.pane, Turn: p.turn}, true
	case "end":
		if !p.open {
			return op{}, false
		}
		return w.turnOp(p, "done"), true
	}
	return op{Do: "save", Kind: checkpoint.KindManual, Pane: p.pane}, true
}

// stop ends a restore in this process at one of its steps, as a kill would.
func (w *world) stop() {
	s, ok := w.choose()
	if !ok {
		return
	}
	o := op{Do: "restore", Pane: s.Pane, N: s.N, How: "all", StopStep: rapid.IntRange(1, 12).Draw(w.rt, "at")}
	w.note("stop", o)
	m := w.look()
	_, err := o.do(w.t.Context(), w.store)
	if err != nil && !allowed(o, err) && !checkpoint.HasCode(err, checkpoint.Interrupted) && err.Error() != checkpoint.ErrStopped.Error() {
		w.note("stopped with", err.Error())
	}
	w.kills++
	w.recover(o, m)
}

// kill ends another process in the middle of a call.
func (w *world) kill() {
	o, ok := w.dangerous()
	if !ok {
		return
	}
	after := time.Duration(rapid.IntRange(5, 60).Draw(w.rt, "milliseconds")) * time.Millisecond
	w.note("kill", o)
	m := w.look()
	text, err := json.Marshal(childCall{w.options(), o})
	w.must(err)
	ctx, cancel := context.WithTimeout(w.t.Context(), after)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(w.Env(), childOp+"="+string(text))
	_ = cmd.Run()
	w.kills++
	w.store = w.open()
	w.recover(o, m)
}

// recover finds out what a killed op did, and finishes it.
func (w *world) recover(o op, m moment) {
	if diff := cmp.Diff(m.print, w.fingerprint()); diff != "" {
		w.rt.Fatalf("a killed %s changed the person's things:\n%s", o.Do, diff)
	}
	w.adopt(o, m)
	half, err := w.store.Interrupted()
	w.must(err)
	if half != nil {
		w.finish(o, m)
	}
	w.checkNoTemp("a killed " + o.Do)
	w.checkLost("a killed "+o.Do, m.disk, w.disk())
	if o.Do == "save" && o.Kind == checkpoint.KindTurn {
		w.retryEnd(o)
	}
}

// adopt takes over the checkpoints that a killed op made.
func (w *world) adopt(o op, m moment) {
	info, err := w.store.ListAll(w.t.Context())
	w.must(err)
	out := outcome{}
	for _, p := range info {
		for _, c := range p.Checkpoints {
			if _, ok := w.held[c.Ref]; ok {
				continue
			}
			if c.Damaged != "" {
				w.rt.Fatalf("a killed %s left checkpoint %s damaged: %s", o.Do, c.Ref, c.Damaged)
			}
			w.checkSaved("a killed "+o.Do, c, m)
			w.held[c.Ref] = saved{c, m.seen}
			out.made = append(out.made, c)
		}
	}
	if len(out.made) > 1 {
		w.rt.Fatalf("a killed %s made %d checkpoints", o.Do, len(out.made))
	}
	w.checkRefs(o, out)
}

// finish goes on with a killed restore, or takes it back.
func (w *world) finish(o op, m moment) {
	abort := rapid.Bool().Draw(w.rt, "abort")
	half := w.look()
	half.putAside(m)
	res, err := w.store.Finish(w.t.Context(), checkpoint.FinishRequest{Abort: abort})
	if err != nil {
		w.rt.Fatalf("finish (abort %v) a killed %s: %v", abort, o.Do, err)
	}
	w.judge(op{Do: "finish"}, outcome{made: []checkpoint.Checkpoint{*res.Safety}, restore: &res}, nil, half)
	if abort {
		w.equal("abort of a killed "+o.Do, m.disk, w.disk())
	}
	if s, ok := w.held[refOf(o)]; ok && !abort && o.Do == "restore" {
		w.checkFinished(s)
	}
}

func refOf(o op) string {
	return "refs/turnback/checkpoints/" + o.Pane.ID + "/" + strconv.Itoa(o.N)
}

// checkFinished compares the disk with the checkpoint after --continue.
func (w *world) checkFinished(s saved) {
	now, exec := w.disk(), w.execCounts()
	left, err := w.store.LeftOutAll(w.t.Context(), s.Checkpoint)
	w.must(err)
	for path, e := range s.files {
		unseen := now[path].Kind == gittest.Special // a continued restore leaves those too
		if !leftOut(left, path) && !unseen && !w.same(e, now[path], exec) && w.tracked()[path] != "160000" {
			w.rt.Fatalf("continued restore of %d: %q is %+v, want %+v", s.N, path, now[path], e)
		}
	}
}

// retryEnd saves the end of a turn again, as a daemon does that was killed: the
// same turn is not stored twice.
func (w *world) retryEnd(o op) {
	for _, p := range w.panes {
		if p.pane.ID != o.Pane.ID {
			continue
		}
		p.open = false
		w.run(o)
		same := 0
		for _, s := range w.held {
			if s.Kind == checkpoint.KindTurn && s.Pane.ID == o.Pane.ID && s.Turn == o.Turn && s.State == o.State {
				same++
			}
		}
		if same > 1 {
			w.rt.Fatalf("turn %d of %s is stored %d times", o.Turn, o.Pane.ID, same)
		}
	}
}
