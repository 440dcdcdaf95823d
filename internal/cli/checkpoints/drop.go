package checkpoints

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

func newDrop(d command.Deps) *cobra.Command {
	var (
		t command.Target
		o command.Output
	)
	cmd := &cobra.Command{
		Use:   "drop N...",
		Short: "Delete checkpoints",
		Long: `Delete checkpoints of a window. Their numbers are not used again. The output
names each commit: until git's next gc, git branch NAME COMMIT keeps it.
` + command.ExitsWrite,
		Example: `  turnback checkpoint drop -w build 3 4`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.UsageError(cmd, "the checkpoint's number is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			params := api.DropCheckpointsParams{}
			for _, arg := range args {
				n, err := command.Number(arg)
				if err != nil {
					return err
				}
				params.Ns = append(params.Ns, n)
			}
			var err error
			if params.Place, err = d.Place(t, ""); err != nil {
				return err
			}
			return command.Invoke(cmd, d, o, "drop-checkpoints", params, showDropped)
		},
	}
	cmd.ValidArgsFunction = d.CompleteNumbers(&t, 0)
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}

func newPrune(d command.Deps) *cobra.Command {
	var (
		t command.Target
		o command.Output
		p api.PruneCheckpointsParams
	)
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old checkpoints of this repository",
		Long: `Delete the checkpoints that retention no longer keeps (the newest 50 turns of a
pane, see keep in the configuration), in all panes of this repository. With
--older-than also those that are older; manual ones stay.
` + command.ExitsWrite,
		Example: `  turnback checkpoint prune --dry-run
  turnback checkpoint prune --older-than 30d`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if p.Place, err = d.Place(t, ""); err != nil {
				return err
			}
			return command.Invoke(cmd, d, o, "prune-checkpoints", p, showDropped)
		},
	}
	cmd.Flags().StringVar(&p.OlderThan, "older-than", "", "also what is older than `AGE`: a number with d, h or m, such as 30d")
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "say what would go, and delete nothing")
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}

func showDropped(w io.Writer, f text.Format, r api.DropCheckpointsResult) error {
	return f.Dropped(w, r)
}
