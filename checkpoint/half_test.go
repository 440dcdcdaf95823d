package checkpoint_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

var errNoRoom = errors.New("no room")

// TestTheFilesFollowTheirOtherHalf has what belongs to a restore fail when the
// files are in place.
func TestTheFilesFollowTheirOtherHalf(t *testing.T) {
	r, then := swaps(t)
	before := r.Tree()
	req := r.request(1)
	req.Half = &checkpoint.Half{Tag: "t1", Take: func() error {
		if diff := cmp.Diff(then, r.Tree()); diff != "" {
			t.Errorf("the files are not in place (- want, + got):\n%s", diff)
		}
		if i, err := r.store.Interrupted(); err != nil || i == nil || i.Half != "t1" {
			t.Errorf("the journal tells %+v, %v", i, err)
		}
		return errNoRoom
	}}
	if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, errNoRoom) {
		t.Errorf("restore: %v", err)
	}
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		t.Errorf("the files are not as they were (- want, + got):\n%s", diff)
	}
	if i, err := r.store.Interrupted(); err != nil || i != nil {
		t.Errorf("interrupted: %+v, %v", i, err)
	}
	taken := 0
	req.Half.Take = func() error { taken++; return nil }
	for want := 1; want <= 2; want++ { // the second time no file is to be changed
		if _, err := r.store.Restore(t.Context(), req); err != nil || taken != want {
			t.Errorf("taken %d times, want %d; %v", taken, want, err)
		}
	}
	req.DryRun = true
	if _, err := r.store.Restore(t.Context(), req); err != nil || taken != 2 {
		t.Errorf("a dry run takes it: %d, %v", taken, err)
	}
}

// TestAHalfIsFinishedWithTheFiles stops a restore at each step boundary, and where
// its other half is taken, before and after.
func TestAHalfIsFinishedWithTheFiles(t *testing.T) {
	steps := stepsOf(t)
	for _, k := range []int{1, steps / 2, steps, steps + 1, steps + 2} {
		for _, abort := range []bool{false, true} {
			t.Run(fmt.Sprintf("stop %d of %d, abort %v", k, steps+2, abort), func(t *testing.T) {
				halfFinishedAt(t, k, steps, abort)
			})
		}
	}
}

func halfFinishedAt(t *testing.T, k, steps int, abort bool) {
	r, then := swaps(t)
	before, n, taken := r.Tree(), 0, false
	req := r.request(1)
	req.Step = func(string) error {
		if n++; n == k {
			return checkpoint.ErrStopped
		}
		return nil
	}
	req.Half = &checkpoint.Half{Tag: "t1", Take: func() error {
		taken = k > steps+1
		return checkpoint.ErrStopped
	}}
	if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, checkpoint.ErrStopped) {
		t.Fatalf("restore: %v", err)
	}
	r.store = open(t, r.Repo, nil)
	finish := checkpoint.FinishRequest{Abort: abort, Half: func(string) error { return errNoRoom }}
	_, err := r.store.Finish(t.Context(), finish)
	if wantCode(t, err, checkpoint.Interrupted); !errors.Is(err, errNoRoom) {
		t.Errorf("finish: %v", err)
	}
	finish.Half = func(tag string) error {
		if tag != "t1" {
			t.Errorf("tag %q", tag)
		}
		taken = !abort
		return nil
	}
	if _, err := r.store.Finish(t.Context(), finish); err != nil {
		t.Fatalf("finish again: %v", err)
	}
	want := then
	if abort {
		want = before
	}
	if diff := cmp.Diff(want, r.Tree()); diff != "" || taken == abort {
		t.Errorf("taken %v; the files (- want, + got):\n%s", taken, diff)
	}
	if i, err := r.store.Interrupted(); err != nil || i != nil {
		t.Errorf("still interrupted: %+v, %v", i, err)
	}
}

func TestATagIsNoPath(t *testing.T) {
	r, _ := swaps(t)
	req := r.request(1)
	req.Half = &checkpoint.Half{Tag: "../x", Take: func() error { return checkpoint.ErrStopped }}
	req.Step = func(string) error { return nil }
	if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, checkpoint.ErrStopped) {
		t.Fatal(err)
	}
	if _, err := r.store.Interrupted(); err == nil || !strings.Contains(err.Error(), "is no tag") {
		t.Errorf("a journal with the tag ../x: %v", err)
	}
}
