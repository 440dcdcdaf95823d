package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// replaced gives a change of a message that puts another value in the place of a
// trailer's.
func replaced(name, value string) func(string) string {
	return func(m string) string {
		var out strings.Builder
		for line := range strings.Lines(m) {
			if strings.HasPrefix(line, "Turnback-"+name+": ") {
				line = "Turnback-" + name + ": " + value + "\n"
			}
			out.WriteString(line)
		}
		return out.String()
	}
}

// TestAnIDInATrailerIsNoOption has options of git where ids should be.
func TestAnIDInATrailerIsNoOption(t *testing.T) {
	for _, trailer := range []string{"Base-Tree", "Base-Head", "Head"} {
		t.Run(trailer, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			c := r.take("one", func() { r.Write("a", "2\n") })
			outside := filepath.Join(t.TempDir(), "outside")
			r.handOver(1, c.Tree, replaced(trailer, "--output="+outside))
			if list := r.list(); len(list) != 1 || list[0].Damaged == "" {
				t.Errorf("list is %+v", list)
			}
			_, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: 1})
			wantCode(t, err, checkpoint.Damaged)
			_, err = r.store.Undo(t.Context(), checkpoint.RestoreRequest{Pane: r.pane, Turn: r.turn, State: "done"})
			if err == nil {
				t.Error("undo goes back to an option")
			}
			_, err = r.store.Restore(t.Context(), r.request(1))
			wantCode(t, err, checkpoint.Damaged)
			if _, err := os.Lstat(outside); err == nil {
				t.Error("git wrote a file outside of the repository")
			}
		})
	}
}

// TestASymbolicRefOfOursMovesNoBranch has refs of ours that stand for a branch of
// the person's.
func TestASymbolicRefOfOursMovesNoBranch(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("a", "2\n") })
	r.Git("branch", "precious")
	r.Git("symbolic-ref", "refs/turnback/checkpoints/00d333ce/2", "refs/heads/precious")
	r.Git("symbolic-ref", "refs/turnback/checkpoints/00d333ce/3", "refs/turnback/checkpoints/00d333ce/1")
	r.Git("symbolic-ref", "refs/turnback/checkpoints/00d333ce/4", "refs/turnback/checkpoints/00d333ce/4")
	r.Git("symbolic-ref", "refs/turnback/checkpoints/00d333ce/5", "refs/heads/absent")
	r.Git("symbolic-ref", "refs/turnback/panes/00d333ce", "refs/heads/precious")
	before := r.Git("for-each-ref", "refs/heads")
	for _, c := range r.list()[1:] {
		if c.Damaged == "" {
			t.Errorf("%s is a checkpoint", c.Ref)
		}
	}
	r.take("two", func() { r.Write("a", "3\n") })
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{2, 3}); err != nil {
		t.Error(err)
	}
	r.restore(1)
	if diff := cmp.Diff(before, r.Git("for-each-ref", "refs/heads")); diff != "" {
		t.Errorf("branches (- before, + after):\n%s", diff)
	}
	if got := r.Git("for-each-ref", "--format=%(symref)", "refs/turnback/panes"); got != "" {
		t.Errorf("the pane's ref still stands for %q", got)
	}
}

// TestARefOfOursThatHoldsNoCommit has tags, trees and blobs where a commit should be.
func TestARefOfOursThatHoldsNoCommit(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("a", "2\n") })
	r.Git("tag", "-a", "-m", "Turnback-N: 2", "v1")
	for n, object := range []string{"v1", "HEAD^{tree}", "HEAD:a", "HEAD"} {
		r.Git("update-ref", fmt.Sprintf("refs/turnback/checkpoints/00d333ce/%d", n+2), r.Git("rev-parse", object))
	}
	r.Git("update-ref", "refs/turnback/panes/00d333ce", r.Git("rev-parse", "HEAD:a"))
	r.Git("update-ref", "refs/turnback/checkpoints/00d333ce/007", r.Git("rev-parse", "refs/turnback/checkpoints/00d333ce/1"))
	list := r.list()
	if len(list) != 5 {
		t.Fatalf("%d checkpoints: %+v", len(list), list)
	}
	for _, c := range list[1:] {
		if c.Damaged == "" || strings.Contains(c.Damaged, "missing") {
			t.Errorf("checkpoint %d is damaged for %q", c.N, c.Damaged)
		}
		_, err := r.store.Restore(t.Context(), r.request(c.N))
		wantCode(t, err, checkpoint.Damaged)
	}
	if c := r.take("two", func() { r.Write("a", "3\n") }); c.N != 6 {
		t.Errorf("the next one is %d", c.N)
	}
	r.restore(1)
}

// handOverPane puts a commit with the message that change makes at the pane's ref.
func (r *room) handOverPane(change func(message string) string) {
	r.t.Helper()
	raw := change(r.Git("cat-file", "commit", "refs/turnback/panes/"+r.pane.ID) + "\n")
	r.Git("update-ref", "refs/turnback/panes/"+r.pane.ID, r.GitInput(raw, "hash-object", "-t", "commit", "-w", "--stdin", "--literally"))
}

// TestAPaneThatLiesCostsNoCheckpoint has the pane's ref say what cannot be.
func TestAPaneThatLiesCostsNoCheckpoint(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"a number at the end of all numbers": replaced("Highest-N", "9223372036854775807"),
		"a number below zero":                replaced("Highest-N", "-5"),
		"a turn at the end of all turns":     replaced("Highest-Turn", "9223372036854775807"),
		"another pane":                       replaced("Pane", "ffffffff"),
		"an option for a tree":               replaced("Restored-Tree", "--output=x"),
		"an option for a tree left":          func(m string) string { return m + "Turnback-Undone: 1:1:--output=x\n" },
		"a broken list":                      func(m string) string { return m + "Turnback-Undone: 1:1\n" },
		"a giant message":                    func(m string) string { return m + "Turnback-X: " + strings.Repeat("x", 8<<20) + "\n" },
		"no end of line":                     func(m string) string { return strings.TrimSuffix(m, "\n") + "\x00\n" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			r.take("one", func() { r.Write("a", "2\n") })
			r.restore(1)
			r.handOverPane(change)
			info, err := r.store.List(t.Context(), r.pane.ID)
			if err != nil || info.HighestN != 2 || info.HighestTurn != 1 {
				t.Errorf("number %d, turn %d, %v", info.HighestN, info.HighestTurn, err)
			}
			if _, err := r.store.ListAll(t.Context()); err != nil {
				t.Error(err)
			}
			if c := r.take("two", func() { r.Write("a", "3\n") }); c.N != 3 || c.Turn != 2 {
				t.Errorf("checkpoint %d of turn %d", c.N, c.Turn)
			}
			r.restore(1)
		})
	}
}

// TestReplacedObjectsStayThoseOfTheCheckpoint has refs/replace give git another file
// and another commit in the place of what a checkpoint holds.
func TestReplacedObjectsStayThoseOfTheCheckpoint(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n"})
	one := r.take("one", func() { r.Write("a", "1\n") })
	two := r.take("two", func() { r.Write("a", "2\n") })
	blob := func(c *checkpoint.Checkpoint) string { return strings.TrimSpace(r.Git("rev-parse", c.Commit+":a")) }
	r.Git("replace", blob(one), blob(two))
	r.Git("replace", one.Commit, two.Commit)
	if got := r.list()[0]; got.Label != one.Label || got.Tree != one.Tree {
		t.Errorf("checkpoint 1 is %+v", got)
	}
	r.restore(1)
	r.holds(map[string]string{"a": "1\n"})
}
