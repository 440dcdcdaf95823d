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
		p api.DropCheckpointsParams
	)
	cmd := &cobra.Command{
		Use:   "drop N...",
		Short: "Move checkpoints to the trash",
		Long: `Move checkpoints of a window to the trash, where they stay for 7 days: turnback
checkpoint list --trash lists them, turnback checkpoint untrash brings them back.
Their numbers are not used again.

With --now they are deleted at once, also those that are in the trash already.
The output names each commit: until git's next gc, git branch NAME COMMIT keeps it.
` + command.ExitsWrite,
		Example: `  turnback checkpoint drop -w build 3 4
  turnback checkpoint drop --now 3`,
		Args: someNumbers,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if p.Ns, err = numbers(args); err != nil {
				return err
			}
			if p.Place, err = d.Place(t, ""); err != nil {
				return err
			}
			return command.Invoke(cmd, d, o, "drop-checkpoints", p, showDropped)
		},
	}
	cmd.Flags().BoolVar(&p.Now, "now", false, "delete them at once, do not keep them in the trash")
	cmd.ValidArgsFunction = d.CompleteNumbers(&t, 0)
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}

func newUntrash(d command.Deps) *cobra.Command {
	var (
		t command.Target
		o command.Output
		p api.UntrashCheckpointsParams
	)
	cmd := &cobra.Command{
		Use:   "untrash N...",
		Short: "Bring checkpoints back from the trash",
		Long: `Bring checkpoints of a window back that turnback checkpoint drop moved to the
trash, under their old numbers.
` + command.ExitsWrite,
		Example: `  turnback checkpoint list --trash
  turnback checkpoint untrash -w build 3 4`,
		Args: someNumbers,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if p.Ns, err = numbers(args); err != nil {
				return err
			}
			if p.Place, err = d.Place(t, ""); err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.UntrashCheckpointsResult) error { return f.Untrashed(w, r) }
			return command.Invoke(cmd, d, o, "untrash-checkpoints", p, show)
		},
	}
	cmd.ValidArgsFunction = d.CompleteTrash(&t)
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}

// someNumbers wants one argument or more.
func someNumbers(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return command.UsageError(cmd, "the checkpoint's number is missing")
	}
	return nil
}

// numbers reads checkpoint numbers.
func numbers(args []string) ([]int, error) {
	ns := make([]int, 0, len(args))
	for _, arg := range args {
		n, err := command.Number(arg)
		if err != nil {
			return nil, err
		}
		ns = append(ns, n)
	}
	return ns, nil
}

func newPrune(d command.Deps) *cobra.Command {
	var (
		t command.Target
		o command.Output
		p api.PruneCheckpointsParams

		stats bool
	)
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old checkpoints of this repository",
		Long: `Delete the checkpoints that retention no longer keeps (the newest 50 turns of a
pane, see keep in the configuration; of a pane that is gone for gone_days only
its newest), in all panes of this repository. With --older-than also those that
are older; manual ones stay.

--stats deletes nothing: it tells how many bytes on the disk the checkpoints hold
that no branch, tag, reflog or index needs.
` + command.ExitsWrite,
		Example: `  turnback checkpoint prune --dry-run
  turnback checkpoint prune --older-than 30d
  turnback checkpoint prune --stats`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if p.Place, err = d.Place(t, ""); err != nil {
				return err
			}
			if !stats {
				return command.Invoke(cmd, d, o, "prune-checkpoints", p, showDropped)
			}
			if p.OlderThan != "" || p.DryRun {
				return command.UsageError(cmd, "--stats goes with neither --older-than nor --dry-run: it deletes nothing")
			}
			show := func(w io.Writer, f text.Format, r api.CheckpointStatsResult) error { return f.Stats(w, r) }
			return command.Invoke(cmd, d, o, "checkpoint-stats", api.CheckpointStatsParams{Place: p.Place}, show)
		},
	}
	cmd.Flags().StringVar(&p.OlderThan, "older-than", "", "also what is older than `AGE`: a number with d, h or m, such as 30d")
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "say what would go, and delete nothing")
	cmd.Flags().BoolVar(&stats, "stats", false, "tell how many bytes the checkpoints hold, and delete nothing")
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}

func showDropped(w io.Writer, f text.Format, r api.DropCheckpointsResult) error {
	return f.Dropped(w, r)
}
