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
			err := pickOne(cmd, "keep-edits", "discard-edits")
			if err == nil {
				err = pickOne(cmd, "mine", "all-panes")
			}
			if err != nil {
				return err
			}
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
	t.AddTo(cmd, d)
	addCare(cmd, &p.DryRun, &p.Force, &p.Here, &p.Overwrite, "also when HEAD is on another branch now")
	addWhose(cmd, &p.Mine, &p.AllPanes, "meanwhile")
	addEdits(cmd, &p.KeepEdits, &p.DiscardEdits)
	o.AddTo(cmd)
	return cmd
}
