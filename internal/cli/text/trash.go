package text

import (
	"fmt"
	"io"
	"strconv"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Dropped writes the result of drop-checkpoints and prune-checkpoints.
func (f Format) Dropped(w io.Writer, r api.DropCheckpointsResult) error {
	var l lines
	verb := "dropped"
	if r.DryRun {
		verb = "would drop"
	}
	trash, gone := "", 0
	for _, d := range r.Dropped {
		l.addf("%s checkpoint %d of pane %s (%s): %s", verb, d.N, f.Name(d.Pane), short(d.Commit), dash(screen.Line(d.Label)))
		if d.Trash {
			if trash == "" {
				trash = " -w " + f.Name(d.Pane)
			}
			trash += " " + strconv.Itoa(d.N)
		} else {
			gone++
		}
	}
	if len(r.Dropped) == 0 {
		l.addf("nothing to drop")
	}
	if trash != "" {
		l.addf("The trash keeps it for 7 days. To bring it back, run: turnback checkpoint untrash%s", trash)
	}
	if gone > 0 && !r.DryRun {
		l.addf("Until git's next gc, git branch NAME COMMIT keeps what a dropped checkpoint holds.")
	}
	return l.writeTo(w)
}

// Untrashed writes the result of untrash-checkpoints.
func (f Format) Untrashed(w io.Writer, r api.UntrashCheckpointsResult) error {
	var l lines
	for _, c := range r.Checkpoints {
		l.addf("checkpoint %d of %s is back (%s): %s", c.N, f.ofPane(r.Pane), short(c.Commit), kindLabel(c))
	}
	return l.writeTo(w)
}

// Trash writes the checkpoints in the trash. With all the table names the panes.
func (f Format) Trash(w io.Writer, r api.ListCheckpointsResult, all bool) error {
	var l lines
	whose := "of " + f.ofPane(r.Pane)
	if all {
		whose = "of all panes"
	}
	if len(r.Checkpoints) == 0 {
		l.addf("The trash %s, in %s, is empty.", whose, f.Name(r.Worktree))
		return l.writeTo(w)
	}
	l.addf("Trash %s, in %s: %d", whose, f.Name(r.Worktree), len(r.Checkpoints))
	rows := f.listRows(r.Checkpoints, all)
	for i := range rows {
		label := len(rows[i]) - 1
		until := "UNTIL"
		if i > 0 {
			until = "-"
			if u := r.Checkpoints[i-1].Until; u != nil {
				until = u.In(f.Now.Location()).Format("Jan _2 15:04")
			}
		}
		rows[i] = append(rows[i][:label:label], until, rows[i][label])
	}
	l.table(rows)
	for _, c := range r.Checkpoints {
		if c.Damaged != "" {
			l.addf("%scheckpoint %d is damaged: %s", f.paneMark(c.Pane, all), c.N, screen.Line(c.Damaged))
		}
	}
	return l.writeTo(w)
}

// Stats writes the result of checkpoint-stats.
func (f Format) Stats(w io.Writer, r api.CheckpointStatsResult) error {
	var l lines
	l.addf("Checkpoints in %s hold %s that nothing else does, and %s of files.", f.Name(r.Worktree), size(r.Bytes), size(r.FileBytes))
	rows := [][]string{{"PANE", "SESSION", "WINDOW", "CHECKPOINTS", "SIZE"}}
	for _, p := range r.Panes {
		rows = append(rows, []string{f.Name(p.Pane), f.Name(dash(p.Session)), f.Name(dash(p.Window)), strconv.Itoa(p.Checkpoints), size(p.Bytes)})
	}
	if r.Trashed > 0 {
		rows = append(rows, []string{"trash", "-", "-", strconv.Itoa(r.Trashed), size(r.TrashBytes)})
	}
	if len(rows) > 1 {
		l.table(rows)
	}
	return l.writeTo(w)
}

// size is a number of bytes for people, 1 kB being 1,000 bytes.
func size(n int64) string {
	units := []string{"kB", "MB", "GB", "TB"}
	if n < 1000 {
		return count(int(n), "byte")
	}
	x, unit := float64(n)/1000, 0
	for x >= 999.95 && unit < len(units)-1 {
		x /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %s", x, units[unit])
}
