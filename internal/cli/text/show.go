package text

import (
	"fmt"
	"io"
	"strconv"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Show writes all metadata of one checkpoint.
func (f Format) Show(w io.Writer, r api.ShowCheckpointResult) error {
	c := r.Checkpoint
	var l lines
	l.addf("Checkpoint %d of %s", c.N, f.ofPane(api.Pane{Session: c.Session, Pane: c.Pane}))
	rows := [][]string{
		{"label:", dash(screen.Line(c.Label))},
		{"kind:", dash(c.Kind)},
		{"turn:", number(c.Turn)},
		{"state:", dash(c.State)},
		{"taken:", c.At.In(f.Now.Location()).Format("2006-01-02 15:04:05 -0700")},
		{"commit:", dash(c.Commit)},
		{"tree:", dash(c.Tree)},
		{"HEAD:", dash(c.Head)},
		{"base:", f.base(c.Base)},
		{"ref:", dash(c.Ref)},
		{"window:", f.Name(dash(c.Window))},
		{"work tree:", f.Name(dash(c.Worktree))},
		{"agent:", dash(screen.Line(c.Agent))},
		{"agent session:", dash(screen.Line(c.AgentSession))},
		{"transcript:", dash(screen.Line(r.Transcript))},
		{"left out:", strconv.Itoa(max(c.LeftOutCount, len(r.LeftOutAll)))},
	}
	if c.Damaged != "" {
		rows = append(rows, []string{"damaged:", screen.Line(c.Damaged)})
	}
	l.table(rows)
	for _, p := range r.LeftOutAll {
		l.addf("  %s (%s)", f.rawName(p.Path, p.PathBase64), screen.Line(p.Reason))
	}
	return l.writeTo(w)
}

func (f Format) base(b *api.Base) string {
	if b == nil {
		return "-"
	}
	return fmt.Sprintf("%s (tree %s)", screen.Line(dash(b.Name)), short(b.Tree))
}

// Saved writes the result of save-checkpoint.
func (f Format) Saved(w io.Writer, r api.SaveCheckpointResult) error {
	var l lines
	l.addf("checkpoint %d saved in %s", r.Checkpoint.N, f.ofPane(r.Pane))
	f.listRemarks(&l, r.Checkpoint, false)
	return l.writeTo(w)
}

// Branched writes the result of branch-checkpoint.
func (f Format) Branched(w io.Writer, r api.BranchCheckpointResult) error {
	var l lines
	parent := "without a parent"
	if r.Parent != "" {
		parent = "on top of " + short(r.Parent)
	}
	l.addf("branch %s made at %s, %s", f.Name(r.Branch), short(r.Commit), parent)
	return l.writeTo(w)
}
