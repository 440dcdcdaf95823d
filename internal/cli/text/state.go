package text

import (
	"fmt"
	"io"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// SetState writes the answer to set-agent-state: what became of the save that
// the state caused, the state that stands when the report lost, or nothing
// when no save was due.
func (f Format) SetState(w io.Writer, r api.SetAgentStateResult) error {
	var l lines
	if !r.Applied {
		l.addf("not applied: %s stands", dash(screen.Line(r.State)))
	}
	switch {
	case r.Checkpoint != nil:
		l.addf("checkpoint %d saved", r.Checkpoint.N)
		f.listRemarks(&l, *r.Checkpoint, false)
	case r.NotSaved != "":
		l.addf("not saved: %s", screen.Line(r.NotSaved))
	case r.Pending:
		l.addf("still saving")
	case r.Unchanged:
		l.addf("nothing changed")
	}
	return l.writeTo(w)
}

// State writes the result of get-agent-state.
func (f Format) State(w io.Writer, r api.GetAgentStateResult) error {
	rows := [][]string{
		{"state:", dash(screen.Line(r.State))},
		{"source:", dash(screen.Line(r.Source))},
		{"since:", f.Taken(r.Since)},
		{"turn:", number(r.Turn)},
		{"agent:", dash(screen.Line(r.Agent))},
	}
	if r.Message != "" {
		rows = append(rows, []string{"message:", screen.Line(r.Message)})
	}
	return screen.Table(w, rows)
}

// Windows writes the result of list-windows: sessions with their windows
// below, in the order they come in.
func (f Format) Windows(w io.Writer, r api.ListWindowsResult) error {
	var l lines
	if len(r.Windows) == 0 {
		l.addf("No windows yet. A window comes with the first report of an agent; turnback setup --help says how.")
		return l.writeTo(w)
	}
	var sessions []string
	members := map[string][][]string{}
	for _, win := range r.Windows {
		if _, known := members[win.Session]; !known {
			sessions = append(sessions, win.Session)
		}
		members[win.Session] = append(members[win.Session], f.windowRow(win))
	}
	var rows [][]string
	for _, s := range sessions {
		rows = append(rows, members[s]...)
	}
	// One table for all, so that the columns of the sessions line up.
	var b lines
	b.table(rows)
	rest := b.b.String()
	for _, s := range sessions {
		l.addf("%s", f.Name(s))
		rest = l.take(rest, len(members[s]))
	}
	return l.writeTo(w)
}

func (f Format) windowRow(win api.WindowInfo) []string {
	turn := "no turn"
	if win.Turn > 0 {
		turn = fmt.Sprintf("turn %d", win.Turn)
	}
	if win.TurnOpen {
		turn += " open"
	}
	state := glyph(win.State) + " " + dash(screen.Line(win.State))
	if win.Gone {
		state = "  gone"
	}
	return []string{"  " + f.Name(win.Name), f.Name(win.ID), state, turn, f.Name(win.Worktree)}
}

func glyph(state string) string {
	switch state {
	case "working":
		return "●"
	case "needs_input":
		return "▲"
	case "idle":
		return "○"
	case "done":
		return "■"
	case "errored":
		return "×"
	default:
		return " "
	}
}
