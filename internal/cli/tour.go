package cli

import (
	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/command"
)

func newTour(d command.Deps) *cobra.Command {
	var o command.TourOptions
	var noPause bool
	cmd := &cobra.Command{
		Use:   "tour",
		Short: "See it work on a scratch repository, in under a minute",
		Long: `Make a scratch repository, let a scripted agent take three turns in it, and then
list, diff, restore and undo them, with the real commands as they run. It uses a
daemon of its own below a temporary folder and leaves nothing behind, also when
it is interrupted. Needed is git.

In a terminal Enter goes on to the next step; otherwise, and with --no-pause, it
runs straight through.

Exit status: 0 done, 1 a step failed.`,
		Example: "  turnback tour\n  turnback tour --no-pause",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Straight = o.Straight || noPause || !d.Streams.InTerminal || !d.Streams.OutTerminal
			return d.Tour(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&noPause, "no-pause", false, "run straight through")
	cmd.Flags().BoolVarP(&o.Straight, "yes", "y", false, "the same as --no-pause")
	return cmd
}
