package text

import (
	"fmt"
	"io"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Verified writes the result of verify-checkpoints and mend-checkpoints.
func (f Format) Verified(w io.Writer, r api.VerifyCheckpointsResult) error {
	var l lines
	sum := fmt.Sprintf("Looked at %s of %s in %s, %s",
		count(r.Checkpoints, "checkpoint"), count(r.Panes, "pane"), f.Name(r.Worktree), count(r.Objects, "object"))
	if len(r.Findings) == 0 {
		l.addf("%s: all can be had.", sum)
		return l.writeTo(w)
	}
	l.addf("%s:", sum)
	var rows [][]string
	mends := false
	for _, x := range r.Findings {
		rows = append(rows, []string{x.Severity, f.aboutFinding(x), screen.Line(x.What)})
		for _, more := range findingMore(x) {
			rows = append(rows, []string{"", "", more})
		}
		mends = mends || x.Mend != "" && !x.Mended && x.Failed == ""
	}
	l.table(rows)
	if mends {
		l.addf("To have done what helps, run: turnback checkpoint verify --mend")
	}
	return l.writeTo(w)
}

func (f Format) aboutFinding(x api.VerifyFinding) string {
	switch {
	case x.N > 0:
		return fmt.Sprintf("checkpoint %d of pane %s", x.N, f.Name(x.Pane))
	case x.Pane != "":
		return "pane " + f.Name(x.Pane)
	case x.Ref != "":
		return f.Name(x.Ref)
	case x.File != "":
		return f.Name(x.File)
	}
	return "-"
}

// findingMore tells what helps, or how that went.
func findingMore(x api.VerifyFinding) []string {
	var more []string
	switch {
	case x.Mended:
		more = append(more, "mended: "+screen.Line(x.Mend))
	case x.Failed != "":
		more = append(more, "not mended: "+screen.Line(x.Failed))
	case x.Mend != "":
		more = append(more, "mend: "+screen.Line(x.Mend))
	}
	if x.Command != "" {
		more = append(more, "run: "+screen.Line(x.Command))
	}
	return more
}
