package text

import (
	"cmp"
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
	rows = append(rows, f.keptRows(r)...)
	if c.Damaged != "" {
		rows = append(rows, []string{"damaged:", screen.Line(c.Damaged)})
	}
	l.table(rows)
	for _, p := range r.LeftOutAll {
		l.addf("  %s (%s)", f.rawName(p.Path, p.PathBase64), screen.Line(p.Reason))
	}
	return l.writeTo(w)
}

// keptRows tell of what is kept beside the tree, and of other panes' turns.
func (f Format) keptRows(r api.ShowCheckpointResult) [][]string {
	var rows [][]string
	words := map[string]string{
		"raw": "raw bytes:", "crlf": "CRLF:", "modes": "permissions:", "folders": "empty folders:", "without": "not there:", "rules": "ignore rules:",
		"index": "staged:", "lfs": "LFS content:", "overwritten": "written over:",
	}
	for _, k := range r.Kept {
		rows = append(rows, []string{cmp.Or(words[k.What], screen.Line(k.What)+":"), f.keptItems(k.Count, k.Items)})
	}
	if r.Checkpoint.Late {
		rows = append(rows, []string{"late:", "saved after the agent was let go"})
	}
	if len(r.Uncertain) > 0 {
		rows = append(rows, []string{"uncertain:", f.keptItems(len(r.Uncertain), r.Uncertain)})
	}
	var with []string
	for _, t := range r.With {
		with = append(with, fmt.Sprintf("turn %d of pane %s", t.Turn, f.Name(t.Pane)))
	}
	if len(with) > 0 {
		rows = append(rows, []string{"at the same time:", nameList(with, len(with))}, []string{"named by tools:", f.keptItems(len(r.Named), r.Named)})
	}
	return rows
}

func (f Format) keptItems(total int, items []api.KeptItem) string {
	names := make([]string, 0, len(items))
	for _, i := range items {
		name := f.rawName(i.Path, i.PathBase64)
		switch {
		case i.Path == "":
			name = screen.Line(i.Detail)
		case i.Detail != "":
			name += " (" + screen.Line(i.Detail) + ")"
		}
		names = append(names, name)
	}
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", total, nameList(names, total))
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
