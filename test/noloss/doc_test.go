// Package noloss drives a work tree through random histories of edits, git
// commands, turns of two panes, restores and kills, and after every step of ours
// looks whether something is lost. docs/no-loss.md says what is claimed and how to
// run it.
package noloss

import (
	"flag"
	"os"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/turnback/turnback/internal/testutil/seed"
)

func TestMain(m *testing.M) {
	if op := os.Getenv(childOp); op != "" {
		runChild(op)
	}
	os.Exit(seed.Main(m))
}

// TestNothingIsLost holds after every step of ours, whatever came before:
//   - every byte that was on disk is on disk still, or comes back from a
//     checkpoint;
//   - what a checkpoint held when it was taken is what git holds of it, until it
//     is dropped, or goes by a limit that is told;
//   - the person's index, HEAD, refs, stash, reflogs, config and hooks are as they
//     were;
//   - a restore gives exactly what the checkpoint held, and restoring its safety
//     checkpoint gives exactly what was there before.
func TestNothingIsLost(t *testing.T) {
	var steps, histories, refused, kills atomic.Int64
	longest := 40
	if n := flag.Lookup("rapid.checks"); n != nil && n.Value.String() != "100" {
		longest = 80
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt)
		defer w.end()
		table := w.steps()
		for range rapid.IntRange(5, longest).Draw(rt, "steps") {
			rapid.SampledFrom(table).Draw(rt, "step").run()
			steps.Add(1)
		}
		w.checkObjects()
		histories.Add(1)
		refused.Add(w.refused)
		kills.Add(w.kills)
	})
	t.Logf("%d steps in %d histories: %d refusals, %d kills", steps.Load(), histories.Load(), refused.Load(), kills.Load())
}
