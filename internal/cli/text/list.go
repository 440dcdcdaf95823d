package text

import (
	"io"
	"strconv"
	"strings"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// List writes the result of list-checkpoints. With all the table names the
// panes.
func (f Format) List(w io.Writer, r api.ListCheckpointsResult, all bool) error {
	var l lines
	f.listHead(&l, r, all)
	if len(r.Checkpoints) > 0 {
		l.table(f.listRows(r.Checkpoints, all))
	}
	for _, c := range r.Checkpoints {
		f.listRemarks(&l, c, all)
	}
	for _, n := range r.NotSaved {
		l.addf("%s%s", f.paneMark(n.Pane, all), notSaved(n))
	}
	if !r.Enabled {
		l.addf("Checkpoints are off: enabled = false in [agents.checkpoints] of the configuration.")
	}
	if r.Interrupted != "" {
		l.addf("%s", screen.Line(r.Interrupted))
	}
	return l.writeTo(w)
}

func (f Format) listHead(l *lines, r api.ListCheckpointsResult, all bool) {
	whose, where := f.ofPane(r.Pane), "in "+f.Name(r.Worktree)
	switch {
	case r.Notice != "":
		l.addf("No checkpoints: %s", screen.Line(r.Notice))
	case len(r.Checkpoints) > 0 && all:
		l.addf("Checkpoints of all panes, %s: %d", where, len(r.Checkpoints))
	case len(r.Checkpoints) > 0:
		l.addf("Checkpoints of %s, %s: %d", whose, where, len(r.Checkpoints))
	case all || r.Pane.Pane == "":
		l.addf("No checkpoints %s yet.", where)
	default:
		l.addf("No checkpoints of %s, %s yet.", whose, where)
	}
}

func (f Format) listRows(list []api.Checkpoint, all bool) [][]string {
	head := []string{"N", "TURN", "STATE", "TAKEN", "COMMIT", "LABEL"}
	if all {
		head = append([]string{"PANE", "SESSION", "WINDOW"}, head...)
	}
	rows := [][]string{head}
	for _, c := range list {
		row := []string{
			strconv.Itoa(c.N), number(c.Turn), dash(c.State), f.Taken(c.At), short(c.Commit), kindLabel(c),
		}
		if all {
			row = append([]string{f.Name(c.Pane), f.Name(dash(c.Session)), f.Name(dash(c.Window))}, row...)
		}
		rows = append(rows, row)
	}
	return rows
}

// kindLabel is a checkpoint's label with its kind before it, unless it is that
// of a turn.
func kindLabel(c api.Checkpoint) string {
	label := dash(screen.Line(c.Label))
	if c.Kind == "" || c.Kind == "turn" {
		return label
	}
	return c.Kind + ": " + label
}

func (f Format) listRemarks(l *lines, c api.Checkpoint, all bool) {
	mark := f.paneMark(c.Pane, all)
	if c.LeftOutCount > 0 || len(c.LeftOut) > 0 {
		l.addf("%scheckpoint %d left out: %s", mark, c.N, f.leftOut(c.LeftOut, c.LeftOutCount))
	}
	if c.Late {
		l.addf("%scheckpoint %d was saved late: it may hold edits of the next turn", mark, c.N)
	}
	if len(c.Uncertain) > 0 {
		names := make([]string, 0, len(c.Uncertain))
		for _, u := range c.Uncertain {
			names = append(names, f.rawName(u.Path, u.PathBase64))
		}
		l.addf("%scheckpoint %d uncertain, changed after the agent was let go: %s", mark, c.N, nameList(names, max(c.UncertainCount, len(names))))
	}
	if c.Damaged != "" {
		l.addf("%scheckpoint %d is damaged: %s", mark, c.N, screen.Line(c.Damaged))
	}
}

func (f Format) leftOut(list []api.LeftOut, total int) string {
	names := make([]string, 0, len(list))
	for _, p := range list {
		names = append(names, f.rawName(p.Path, p.PathBase64)+" ("+screen.Line(p.Reason)+")")
	}
	return nameList(names, max(total, len(list)))
}

// notSaved says what became of a turn without a checkpoint. Two reasons are
// whole answers: the turn is covered by another, or changed only what no
// checkpoint holds.
func notSaved(n api.NotSaved) string {
	reason := screen.Line(n.Reason)
	for _, answer := range []string{"not covered: ", "saved together with "} {
		if strings.HasPrefix(reason, answer) {
			return "turn " + strconv.Itoa(n.Turn) + " " + reason
		}
	}
	return "turn " + strconv.Itoa(n.Turn) + " not saved: " + reason
}

func (f Format) paneMark(pane string, all bool) string {
	if !all {
		return ""
	}
	return "pane " + f.Name(pane) + ": "
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}
