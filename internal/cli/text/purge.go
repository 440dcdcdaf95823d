package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/shell"
)

// Purged writes the result of purge-checkpoints.
func (f Format) Purged(w io.Writer, r api.PurgeCheckpointsResult) error {
	var l lines
	path := f.rawName(r.Path, r.PathBase64)
	switch {
	case len(r.Rewritten)+len(r.Dropped) == 0:
		l.addf("No checkpoint in %s holds %s.", f.Name(r.Worktree), path)
	case r.DryRun:
		l.addf("Would purge %s from %s in %s. Nothing was changed.", path, count(len(r.Rewritten), "checkpoint"), f.Name(r.Worktree))
	default:
		l.addf("Purged %s from %s in %s.", path, count(len(r.Rewritten), "checkpoint"), f.Name(r.Worktree))
	}
	f.purgedList(&l, "rewritten", r.Rewritten)
	f.purgedList(&l, "dropped, for they are damaged and hold it", r.Dropped)
	f.purgedList(&l, "damaged, so that nobody can tell whether they hold it", r.Unknown)
	would := map[bool]string{true: "would be removed", false: "removed"}[r.DryRun]
	for _, c := range r.Transcripts {
		l.addf("%s: the copy of the transcript of %s, session %s", would, screen.Line(c.Agent), screen.Line(c.Session))
	}
	for _, c := range r.Conversations {
		l.addf("stays, and may hold something of it: conversation %s of %s; turnback conversation purge %s removes it",
			screen.Line(c.Session), dash(screen.Line(c.Agent)), shell.Word(c.Session))
	}
	for _, s := range r.Still {
		l.addf("%d of %s can still be reached from %s.", s.Files, count(r.Files, "content"), s.Where)
	}
	if r.OnDisk {
		l.addf("%s is on the disk: the next checkpoint has it again, unless git ignores it.", path)
	}
	f.purgedObjects(&l, r)
	return l.writeTo(w)
}

// purgedList names checkpoints, a pane a line.
func (f Format) purgedList(l *lines, what string, list []api.PurgedCheckpoint) {
	var panes []string
	numbers := map[string][]string{}
	for _, c := range list {
		if numbers[c.Pane] == nil {
			panes = append(panes, c.Pane)
		}
		numbers[c.Pane] = append(numbers[c.Pane], fmt.Sprint(c.N))
	}
	for _, p := range panes {
		l.addf("%s: pane %s, checkpoints %s", what, f.Name(p), nameList(numbers[p], len(numbers[p])))
	}
}

func (f Format) purgedObjects(l *lines, r api.PurgeCheckpointsResult) {
	switch {
	case r.DryRun || len(r.Rewritten)+len(r.Dropped) == 0 && r.Removed == 0:
	case r.Removed > 0:
		l.addf("Removed %s.", count(r.Removed, "object"))
	case len(r.HeldBy) == 0 && r.Left == 0 && len(r.Still) == 0:
		l.addf("Its objects stay until git's next gc; --now removes those that nothing reaches.")
	}
	if r.Left > 0 {
		l.addf("%s could not be removed: written again meanwhile, or in an alternate.", count(r.Left, "object"))
	}
	if len(r.HeldBy) > 0 {
		l.addf("Unreachable commits of yours hold some of it until git's gc: %s", screen.Line(strings.Join(r.HeldBy, ", ")))
	}
}
