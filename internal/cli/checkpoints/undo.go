package checkpoints

import (
	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
)

const undoLong = `Take back the newest turn of this pane that changed files and is not taken back
yet: the files become what they were when the turn began. Again takes back the
turn before. turnback redo goes forward.

It stops when files were changed since by others than the agent (edited_since):
--keep-edits takes back the turn's own changes and keeps these edits, by a merge,
--discard-edits goes back all the same. And it stops wherever turnback checkpoint
restore does. A safety checkpoint is saved first. Commits that the agent made
stay: the output names the one that HEAD still holds.
`

const redoLong = `Put back the turn that the newest undo took back. It goes forward until the next
turn, or until a file is edited. A safety checkpoint is saved first.
`

// NewUndo makes turnback undo, or redo.
func NewUndo(d command.Deps, verb string) *cobra.Command {
	var (
		t command.Target
		o command.Output
		p api.UndoParams
	)
	cmd := &cobra.Command{
		Use:   verb,
		Short: "Take back the newest turn of this window",
		Long:  undoLong + command.ExitsWrite,
		Example: `  turnback undo
  turnback undo -w build --dry-run`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.KeepEdits && p.DiscardEdits {
				return command.UsageError(cmd, "--keep-edits and --discard-edits exclude each other")
			}
			if p.Mine && p.AllPanes {
				return command.UsageError(cmd, "--mine and --all-panes exclude each other")
			}
			var err error
			if p.Place, err = d.PlaceOfWriter(t); err != nil {
				return err
			}
			return command.Invoke(cmd, d, o, verb, p, showRestore)
		},
	}
	if verb == "redo" {
		cmd.Short = "Put back the turn that undo took back"
		cmd.Long = redoLong + command.ExitsWrite
		cmd.Example = "  turnback redo\n  turnback redo -w build"
	}
	f := cmd.Flags()
	f.BoolVar(&p.DryRun, "dry-run", false, "say what would be written, removed and kept, and change nothing")
	f.BoolVar(&p.Force, "force", false, "also while an agent works in the work tree")
	f.BoolVar(&p.Here, "here", false, "also when HEAD is on another branch now")
	f.BoolVar(&p.KeepEdits, "keep-edits", false, "keep what was edited since")
	f.BoolVar(&p.DiscardEdits, "discard-edits", false, "go back also where files were edited since")
	f.BoolVar(&p.Mine, "mine", false, "only this pane's files, where other panes changed some meanwhile")
	f.BoolVar(&p.AllPanes, "all-panes", false, "all files, also those that other panes changed meanwhile")
	f.BoolVar(&p.Overwrite, "overwrite", false, "also over files that git ignores; the safety checkpoint holds them")
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}
