package checkpoints

import (
	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
)

func newRevert(d command.Deps) *cobra.Command {
	var (
		t selection
		o command.Output
		p api.RevertCheckpointParams
	)
	cmd := &cobra.Command{
		Use:   "revert N",
		Short: "Take back only what turn N changed, keep the later turns",
		Long: `Take back only what checkpoint N changed, as turnback checkpoint diff N shows it,
and keep what was changed later. Files are merged line by line: later edits of
other lines stay.

Where later edits are in the same lines, nothing is written: the files are named
(conflicts), and you can leave them out by naming the others with --path. A
safety checkpoint is saved first. It refuses wherever turnback checkpoint
restore does; where turns of other panes changed some of the files while this one
went on, --mine takes back the changes of this pane alone, --all-panes all.
` + command.ExitsWrite,
		Example: `  turnback checkpoint revert 2 --dry-run
  turnback checkpoint revert -w build 2
  turnback checkpoint revert 2 --path api/retry.go`,
		Args: command.ExactArgs("the checkpoint's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if p.N, err = command.Number(args[0]); err != nil {
				return err
			}
			if err = pickOne(cmd, "mine", "all-panes"); err != nil {
				return err
			}
			if p.Place, err = d.PlaceOfWriter(t.Target); err != nil {
				return err
			}
			p.Paths, p.PathsBase64 = t.wirePaths()
			return command.Invoke(cmd, d, o, "revert-checkpoint", p, showRestore)
		},
	}
	cmd.ValidArgsFunction = d.CompleteNumbers(&t.Target, 1)
	t.addTo(cmd, d)
	addCare(cmd, &p.DryRun, &p.Force, &p.Here, &p.Overwrite, "also when N comes from another work tree or branch")
	addWhose(cmd, &p.Mine, &p.AllPanes, "meanwhile")
	o.AddTo(cmd)
	return cmd
}
