package cli

import (
	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
)

const undoLong = `Take back the newest turn of this pane that changed files and is not taken back
yet: the files become what they were when the turn began. Again takes back the
turn before. turnback redo goes forward.

It stops when files were changed since by others than the agent (edited_since),
and wherever turnback checkpoint restore does. A safety checkpoint is saved
first. Commits that the agent made stay: the output names the one that HEAD
still holds.
`

const redoLong = `Put back the turn that the newest undo took back. It goes forward until the next
turn, or until a file is edited. A safety checkpoint is saved first.
`

func newUndo(d Deps, verb string) *cobra.Command {
	var (
		t target
		o output
		p api.UndoParams
	)
	cmd := &cobra.Command{
		Use:   verb,
		Short: "Take back the newest turn of this window",
		Long:  undoLong + exitsWrite,
		Example: `  turnback undo
  turnback undo -w build --dry-run`,
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if p.Place, err = d.placeOfWriter(t); err != nil {
				return err
			}
			return invoke(cmd, d, o, verb, p, showRestore)
		},
	}
	if verb == "redo" {
		cmd.Short = "Put back the turn that undo took back"
		cmd.Long = redoLong + exitsWrite
		cmd.Example = "  turnback redo\n  turnback redo -w build"
	}
	f := cmd.Flags()
	f.BoolVar(&p.DryRun, "dry-run", false, "say what would be written, removed and kept, and change nothing")
	f.BoolVar(&p.Force, "force", false, "also while an agent works in the work tree")
	f.BoolVar(&p.Here, "here", false, "also when HEAD is on another branch now")
	t.addTo(cmd, d)
	o.addTo(cmd)
	return cmd
}
