package checkpoint_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/checkpoint/record"
)

// many makes count checkpoints, one a turn, in each of panes, as a year of work
// leaves them.
func (r *at) many(panes, count int) {
	r.t.Helper()
	head, tree := r.Git("rev-parse", "HEAD"), r.Git("rev-parse", "HEAD^{tree}")
	var b strings.Builder
	commit := func(ref, parent, message string) {
		fmt.Fprintf(&b, "commit %s\ncommitter %s <%s> %d +0000\ndata %d\n%s\n", ref, record.IdentityName, record.IdentityEmail, r.now.Unix(), len(message), message)
		if parent != "" {
			fmt.Fprintf(&b, "from %s\n", parent)
		}
		b.WriteString("\n")
	}
	for p := range panes {
		pane := checkpoint.Pane{ID: fmt.Sprintf("%08x", p+1), Window: "w", Session: "s"}
		for n := 1; n <= count; n++ {
			c := checkpoint.Checkpoint{
				N: n, Kind: checkpoint.KindTurn, Pane: pane, Turn: n, State: "done", Label: "a turn of many, with a label of common length",
				Worktree: r.Root, Head: head, Branch: "refs/heads/main", At: r.now.Add(time.Duration(n-count) * time.Minute),
				Base: &checkpoint.Base{Head: head, Tree: tree, Name: "HEAD " + head[:7]},
			}
			commit(record.CheckpointRef(pane.ID, n), head, record.Describe(&c, []string{record.RoleHead}))
		}
		state := record.PaneState{Pane: pane, Worktree: r.Root, HighestN: count, HighestTurn: count}
		commit(record.PanesRoot+pane.ID, "", state.Message())
	}
	r.GitInput(b.String(), "fast-import", "--quiet", "--force")
}

// timed is the quickest of a few runs.
func timed(f func()) time.Duration {
	best := time.Hour
	for range 3 {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// TestB107ThousandsOfCheckpoints has 5,000 checkpoints in 40 panes, and looks what
// they cost the person's git, a turn and a pass. The bounds are wide, for busy
// machines; figures are in docs/decisions.
func TestB107ThousandsOfCheckpoints(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 5,000 checkpoints; not with -short")
	}
	r := newClock(t, map[string]string{"a": "0\n"}, keeping(50))
	clone := r.Root + "-clone"
	r.Git("clone", "-q", r.Root, clone)
	gitRuns := func() map[string]time.Duration {
		return map[string]time.Duration{
			"status": timed(func() { r.Git("status", "--short") }),
			"fetch":  timed(func() { r.Git("-C", clone, "fetch", "-q") }),
			"turn":   timed(func() { r.take("t", func() { r.Write("a", fmt.Sprint(r.turn)) }) }),
		}
	}
	before := gitRuns()
	r.many(40, 125)
	loose := gitRuns()
	r.retainAll(t, "loose refs", 40*75)
	r.many(40, 125)
	r.Git("pack-refs", "--all")
	packed := gitRuns()
	for what, was := range before {
		t.Logf("%s: %v without, %v with 5,000 loose refs, %v packed", what, was, loose[what], packed[what])
		if now := packed[what]; now > 3*was+200*time.Millisecond {
			t.Errorf("%s took %v, and %v with 5,000 packed refs", what, was, now)
		}
	}
	_ = os.RemoveAll(clone)
}

func (r *at) retainAll(t *testing.T, what string, want int) {
	t.Helper()
	r.now = r.now.Add(25 * time.Hour) // the next pass is due
	passes, gone, longest := 0, 0, time.Duration(0)
	for {
		start := time.Now()
		n := len(r.retain())
		longest = max(longest, time.Since(start))
		if passes, gone = passes+1, gone+n; n == 0 {
			break
		}
	}
	t.Logf("%s: %d of 5,000 went in %d passes, the longest took %v", what, gone, passes, longest)
	if gone < want || longest > 30*time.Second {
		t.Errorf("%d went, want %d, in %v at once", gone, want, longest)
	}
	r.now = r.now.Add(25 * time.Hour)
	start := time.Now()
	r.retain()
	t.Logf("%s: a pass with nothing to do took %v", what, time.Since(start))
}
