package checkpoint_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/turnback/turnback/checkpoint"
)

func keeping(n int) func(o *checkpoint.Options) {
	return func(o *checkpoint.Options) {
		o.Limits = func() checkpoint.Limits {
			l := checkpoint.DefaultLimits()
			l.Keep = n
			return l
		}
	}
}

func (r *at) retain() []checkpoint.Checkpoint {
	r.t.Helper()
	gone, err := r.store.Retain(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return gone
}

// TestASaveLeavesTheLimitsToRetain looks that a save deletes nothing itself, until
// far too much is there.
func TestASaveLeavesTheLimitsToRetain(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, keeping(2))
	wantNumbers(t, r.retain())
	turn := func() { r.take("t", func() { r.Write("a", fmt.Sprint(r.turn)) }) }
	for range 4 {
		turn()
	}
	wantNumbers(t, r.list(), 1, 2, 3, 4)
	wantNumbers(t, r.retain(), 1, 2)
	wantNumbers(t, r.list(), 3, 4)
	turn()
	wantNumbers(t, r.retain(), 3)
	wantNumbers(t, r.retain())
	for range 19 {
		turn()
	}
	if n := len(r.list()); n != 21 {
		t.Errorf("%d checkpoints, want 21", n)
	}
	turn()
	turn()
	turn()
	if n := len(r.list()); n > 23 {
		t.Errorf("nothing calls Retain, and the pane grew to %d", n)
	}
}

// TestB106TheOldestIsRestored has a limit of five and five turns: the safety
// checkpoint and its target outlive the pass.
func TestB106TheOldestIsRestored(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, keeping(5))
	for i := range 5 {
		r.take("t", func() { r.Write("a", fmt.Sprint(i)) })
	}
	req := r.request(1)
	req.Step = func(string) error {
		if gone := r.retain(); len(gone) > 0 {
			t.Errorf("a pass in the middle of the restore took %v", numbersOf(gone))
		}
		return nil
	}
	res, err := r.store.Restore(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	r.take("sixth", func() { r.Write("a", "6") })
	wantNumbers(t, r.retain(), 1)
	r.restore(res.Safety.N)
}

// TestB106WhatAKilledRestoreNeedsStays lowers the limit while a restore of the oldest
// is killed, and not yet finished.
func TestB106WhatAKilledRestoreNeedsStays(t *testing.T) {
	limits := checkpoint.DefaultLimits()
	r := newClock(t, map[string]string{"a": "0\n"}, func(o *checkpoint.Options) {
		o.Limits = func() checkpoint.Limits { return limits }
	})
	for i := range 5 {
		r.take("t", func() { r.Write("a", fmt.Sprint(i)) })
	}
	req := r.request(1)
	req.Step = func(string) error { return checkpoint.ErrStopped }
	if _, err := r.store.Restore(t.Context(), req); err == nil {
		t.Fatal("the restore was not stopped")
	}
	limits.Keep = 1
	r.now = r.now.Add(25 * time.Hour)
	wantNumbers(t, r.retain(), 2, 3, 4)
	if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{}); err != nil {
		t.Fatal(err)
	}
	r.holds(map[string]string{"a": "0"})
	r.now = r.now.Add(25 * time.Hour)
	wantNumbers(t, r.retain(), 1)
}

// TestB106ASafetyCheckpointLetsNotGoOfItsTarget has a pane that is far past its
// limit, so that the save of the safety checkpoint lets go of what is old.
func TestB106ASafetyCheckpointLetsNotGoOfItsTarget(t *testing.T) {
	limits := checkpoint.DefaultLimits()
	r := newClock(t, map[string]string{"a": "0\n"}, func(o *checkpoint.Options) {
		o.Limits = func() checkpoint.Limits { return limits }
	})
	for i := range 25 {
		r.take("t", func() { r.Write("a", fmt.Sprint(i)) })
	}
	limits.Keep = 1
	r.restore(3)
	r.holds(map[string]string{"a": "2"})
	wantNumbers(t, r.list(), 3, 25, 26)
}

func TestGonePanesKeepTheirNewestTurn(t *testing.T) {
	gone := map[string]bool{}
	r := newClock(t, map[string]string{"a": "0\n"}, func(o *checkpoint.Options) {
		o.Gone = func(string) func(string) bool { return func(pane string) bool { return gone[pane] } }
	})
	for i := range 3 {
		r.take("t", func() { r.Write("a", fmt.Sprint(i)) })
	}
	r.now = r.now.Add(31 * 24 * time.Hour)
	wantNumbers(t, r.retain())
	gone[r.pane.ID] = true
	r.now = r.now.Add(25 * time.Hour)
	wantNumbers(t, r.retain(), 1, 2)
	wantNumbers(t, r.list(), 3)
}

// TestNoNumberIsGivenTwiceAfterThePanesRefIsLost has the limits ask for the newest
// checkpoint of a pane, of whose highest number nothing else is left.
func TestNoNumberIsGivenTwiceAfterThePanesRefIsLost(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, func(o *checkpoint.Options) {
		o.Gone = func(string) func(string) bool { return func(string) bool { return true } }
	})
	for i := range 2 {
		r.take("t", func() { r.Write("a", fmt.Sprint(i)) })
	}
	r.restore(1)
	r.Git("update-ref", "-d", "refs/turnback/panes/"+r.pane.ID)
	r.now = r.now.Add(31 * 24 * time.Hour)
	wantNumbers(t, r.retain(), 1)
	if c := r.take("t", func() { r.Write("a", "2") }); c.N <= 3 {
		t.Errorf("checkpoint %d was there before", c.N)
	}
}

func TestRetainGivesWayToOthers(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, keeping(1))
	linked := r.AddWorktree("linked")
	other := open(t, linked, nil)
	for i := range 3 {
		r.take("t", func() { r.Write("a", fmt.Sprint(i)) })
	}
	linked.Write("new", "n\n")
	asked := false
	_, err := other.Save(t.Context(), checkpoint.SaveRequest{
		Kind: checkpoint.KindManual, Pane: checkpoint.Pane{ID: "bbbbbbbb"}, Always: true, Progress: func(_, _ int64) {
			asked = true
			if gone := r.retain(); len(gone) > 0 {
				t.Errorf("went on beside a save in another work tree: %v", numbersOf(gone))
			}
		},
	})
	if err != nil || !asked {
		t.Fatalf("saved, %v; a pass was tried: %v", err, asked)
	}
	wantNumbers(t, r.retain(), 1, 2)
}

// TestTheHighestNumberStaysWithoutThePanesRef drops nothing that alone remembers
// a number.
func TestTheHighestNumberStaysWithoutThePanesRef(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, keeping(1))
	r.take("one", func() { r.Write("a", "1\n") })
	for range 22 {
		r.restore(1)
	}
	r.Git("update-ref", "-d", "refs/turnback/panes/"+r.pane.ID)
	r.now = r.now.Add(31 * 24 * time.Hour)
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		o.Now = func() time.Time { return r.now }
		o.Gone = func(string) func(string) bool { return func(string) bool { return true } }
	})
	if n := len(r.retain()); n != 21 {
		t.Errorf("%d went, want 21", n)
	}
	wantNumbers(t, r.list(), 1, 23)
}

// TestASaveCutsTendingShort has a save come while the panes that are gone are
// looked for.
func TestASaveCutsTendingShort(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("a", "1\n") })
	saving := make(chan error, 1)
	started := false
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		o.Gone = func(string) func(string) bool {
			if !started {
				started = true
				store := r.store
				go func() {
					_, err := store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true})
					saving <- err
				}()
				for range 200 { // until the save waits
					time.Sleep(time.Millisecond)
				}
			}
			return func(string) bool { return false }
		}
	})
	if err := r.store.Tend(t.Context()); err != nil {
		t.Errorf("tend: %v", err)
	}
	if err := <-saving; err != nil {
		t.Errorf("the save: %v", err)
	}
	if r.Exists(".git/turnback/retained") {
		t.Error("tending went on beside the save")
	}
	if err := r.store.Tend(t.Context()); err != nil {
		t.Errorf("tend: %v", err)
	}
	if !r.Exists(".git/turnback/retained") {
		t.Error("the next time did not do it")
	}
}
