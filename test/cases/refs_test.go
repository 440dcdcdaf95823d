package cases

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/checkpoint"
)

// TestB107ThousandsOfRefs has 5,000 checkpoints of 40 other panes beside a pane
// that takes turns.
func TestB107ThousandsOfRefs(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n"})
	content := 0
	median := func() time.Duration {
		var took []time.Duration
		for range 7 {
			content++
			begun := time.Now()
			r.take(func() { r.Write("a", fmt.Sprintln(content)) })
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	before := median()
	message := r.Git("log", "-1", "--format=%B", "refs/turnback/checkpoints/00d333ce/1")
	head, tree := r.Git("rev-parse", "HEAD"), r.Git("rev-parse", "HEAD^{tree}")
	var stream strings.Builder
	for i := range 5000 {
		pane, n := fmt.Sprintf("%08x", i%40+1), i/40+1
		m := strings.NewReplacer("Turnback-N: 1\n", fmt.Sprintf("Turnback-N: %d\n", n), "Turnback-Pane: 00d333ce", "Turnback-Pane: "+pane).Replace(strings.TrimRight(message, "\n") + "\n")
		fmt.Fprintf(&stream, "commit refs/turnback/checkpoints/%s/%d\ncommitter turnback <turnback@localhost> 1 +0000\ndata %d\n%s\nfrom %s\nM 040000 %s \n\n", pane, n, len(m), m, head, tree)
	}
	r.GitInput(stream.String(), "fast-import", "--quiet")
	all, err := r.store.ListAll(t.Context())
	if err != nil || len(all) != 41 {
		t.Fatalf("%d panes, %v", len(all), err)
	}
	for _, p := range all {
		if c := p.Checkpoints[0]; c.Damaged != "" {
			t.Fatalf("%s: %s", c.Ref, c.Damaged)
		}
	}
	if after := median(); after > 3*before {
		t.Errorf("a turn took %v, with 5,000 checkpoints of others %v", before, after)
	}
	list, err := r.store.List(t.Context(), r.pane.ID)
	if err != nil || len(list.Checkpoints) != content {
		t.Errorf("%d checkpoints of %d, %v", len(list.Checkpoints), content, err)
	}
	report, err := r.store.Verify(t.Context(), checkpoint.VerifyRequest{})
	if err != nil || !report.OK() || report.Checkpoints != 5000+content {
		t.Errorf("verify: %d checkpoints, %+v, %v", report.Checkpoints, report.Findings, err)
	}
}
