package text

import (
	"encoding/base64"
	"fmt"
	"io"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Diff writes the result of checkpoint-diff: the summary line, and the table
// of files (stat) or the patch.
func (f Format) Diff(w io.Writer, r api.CheckpointDiffResult, stat bool, style screen.PatchStyle) error {
	var l lines
	l.addf("%s", f.diffHead(r))
	if r.Note != "" {
		l.addf("%s", screen.Line(r.Note))
	}
	if rows := f.statRows(r.Files, stat); len(rows) > 0 {
		l.table(rows)
	}
	if err := l.writeTo(w); err != nil || stat {
		return err
	}
	return screen.Patch(w, patchBytes(r), style)
}

func (f Format) diffHead(r api.CheckpointDiffResult) string {
	head := screen.Line(r.Subject) + " of " + f.ofPane(r.Pane)
	if r.Against != "" {
		head += ", against " + screen.Line(r.Against)
	}
	return fmt.Sprintf("%s: %s, +%d -%d", head, files(len(r.Files)), r.Added, r.Deleted)
}

// statRows lists every file, or only those that the patch does not show.
func (f Format) statRows(list []api.FileDiff, all bool) [][]string {
	var rows [][]string
	for _, d := range list {
		if all || d.Cut || d.BytesOnly {
			rows = append(rows, f.statRow(d))
		}
	}
	return rows
}

func (f Format) statRow(d api.FileDiff) []string {
	name := f.rawName(d.Path, d.PathBase64)
	if d.OldPath != "" {
		name = f.rawName(d.OldPath, d.OldPathBase64) + " -> " + name
	}
	row := []string{d.Status, name, fmt.Sprintf("+%d -%d", d.Added, d.Deleted)}
	switch {
	case d.Binary:
		row[2] = "binary"
	case d.BytesOnly:
		row[2] = "bytes on disk alone"
	case d.Submodule:
		row[2] = "submodule"
	}
	if d.Cut {
		row = append(row, "cut")
	}
	return row
}

func patchBytes(r api.CheckpointDiffResult) []byte {
	if r.PatchB64 != "" {
		if raw, err := base64.StdEncoding.DecodeString(r.PatchB64); err == nil {
			return raw
		}
	}
	return []byte(r.Patch)
}
