package text

import (
	"fmt"
	"io"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/shell"
)

// Restore writes the result of a restore of any kind.
func (f Format) Restore(w io.Writer, r api.RestoreResult) error {
	var l lines
	if r.ConversationOnly {
		l.addf("The files of %s are as they were.", f.ofPane(r.Pane))
	} else if r.DryRun {
		f.dryRun(&l, r)
	} else {
		l.addf("%s in %s: %s written, %d removed.", did(r), f.ofPane(r.Pane), things(r, len(r.Written)), len(r.Removed))
		if r.Safety > 0 {
			l.addf("Checkpoint %d holds the %s as it was before. %s", r.Safety, held(r), f.wayBack(r))
		}
	}
	if len(r.Overwritten) > 0 {
		what := "written over, held by the safety checkpoint"
		if r.DryRun {
			what = "would be written over"
		}
		l.addf("ignored by git and %s: %s", what, f.paths(r.Overwritten))
	}
	if len(r.Kept) > 0 {
		l.addf("kept: unknown to checkpoint %d: %s", r.N, f.paths(r.Kept))
	}
	if len(r.Skipped) > 0 {
		l.addf("skipped: %s", f.paths(r.Skipped))
	}
	if len(r.Uncertain) > 0 {
		l.addf("uncertain, saved after the agent was let go: %s", f.paths(r.Uncertain))
	}
	if r.HeadHolds != "" {
		l.addf("HEAD still holds %s.", screen.Line(r.HeadHolds))
	}
	conversationBack(&l, r.N, r.Conversation)
	for _, note := range r.Notes {
		l.addf("%s", screen.Line(note))
	}
	if !r.More && (r.Action == "undo" || r.Action == "redo") {
		l.addf("No further turn to %s.", r.Action)
	}
	return l.writeTo(w)
}

// conversationBack tells what became of the conversation, and how to go on with
// it.
func conversationBack(l *lines, n int, c *api.ConversationBack) {
	switch {
	case c == nil:
	case c.Resume == "":
		l.addf("The conversation, session %s of %s, would be put back to where it was at checkpoint %d.", screen.Line(c.From), screen.Line(c.Agent), n)
	case c.Copy:
		stays := screen.Line(c.From) + " stays as it is."
		if c.Kept {
			stays = "it is from turnback's own copy, for the transcript of " + screen.Line(c.From) + " cannot be had."
		}
		l.addf("A copy of the conversation that ends at checkpoint %d is session %s; %s", n, screen.Line(c.Session), stays)
		l.addf("To go on with it, run: %s", screen.Line(c.Resume))
	default:
		l.addf("The conversation is where it was at checkpoint %d: session %s, entry %s.", n, screen.Line(c.Session), screen.Line(c.Entry))
		l.addf("To go on with it, run: %s", screen.Line(c.Resume))
		if c.Left != "" && c.Left != c.Entry {
			l.addf("What was said since is kept: turnback agent --resume %s/%s goes back there.", screen.Line(c.Session), screen.Line(c.Left))
		}
	}
}

// things counts what a restore writes.
func things(r api.RestoreResult, n int) string {
	switch {
	case !r.Staged:
		return files(n)
	case n == 1:
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// held is what a safety checkpoint is saved for.
func held(r api.RestoreResult) string {
	if r.Staged {
		return "index"
	}
	return "work tree"
}

// did is what was done, as the start of a sentence.
func did(r api.RestoreResult) string {
	switch r.Action {
	case "undo":
		return fmt.Sprintf("Took back turn %d", r.Turn)
	case "redo":
		return fmt.Sprintf("Put back turn %d", r.Turn)
	case "revert":
		return fmt.Sprintf("Took back what checkpoint %d changed", r.N)
	case "continue":
		return fmt.Sprintf("Finished the restore of checkpoint %d", r.N)
	case "abort":
		return fmt.Sprintf("Gave up the restore of checkpoint %d", r.N)
	default:
		if r.Staged {
			return fmt.Sprintf("Restored the index of checkpoint %d", r.N)
		}
		return fmt.Sprintf("Restored checkpoint %d", r.N)
	}
}

// wayBack is the command that takes the restore back.
func (f Format) wayBack(r api.RestoreResult) string {
	target := fmt.Sprintf("-s %s -w %s", shell.Word(screen.Line(r.Session)), shell.Word(r.Pane.Pane))
	switch r.Action {
	case "undo":
		return "To put the turn back, run: turnback redo " + target
	case "redo":
		return "To take the turn back, run: turnback undo " + target
	default:
		if r.Staged {
			target += " --staged"
		}
		return fmt.Sprintf("To undo, run: turnback checkpoint restore %s %d", target, r.Safety)
	}
}

func (f Format) dryRun(l *lines, r api.RestoreResult) {
	what := fmt.Sprintf("Restoring checkpoint %d", r.N)
	if r.Staged {
		what = fmt.Sprintf("Restoring the index of checkpoint %d", r.N)
	}
	switch r.Action {
	case "undo":
		what = fmt.Sprintf("Taking back turn %d", r.Turn)
	case "redo":
		what = fmt.Sprintf("Putting back turn %d", r.Turn)
	case "revert":
		what = fmt.Sprintf("Taking back what checkpoint %d changed", r.N)
	}
	l.addf("%s in %s would write %s and remove %d. Nothing was changed.",
		what, f.ofPane(r.Pane), things(r, len(r.Written)), len(r.Removed))
	var rows [][]string
	for _, p := range r.Written {
		rows = append(rows, []string{"write", f.Name(p)})
	}
	for _, p := range r.Removed {
		rows = append(rows, []string{"remove", f.Name(p)})
	}
	l.table(rows)
}
