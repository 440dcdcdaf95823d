package checkpoints

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

func newSave(d command.Deps) *cobra.Command {
	var (
		t     command.Target
		o     command.Output
		label string
	)
	cmd := &cobra.Command{
		Use:   "save",
		Short: "Save a checkpoint now",
		Long: `Save the work tree as it is now, also when nothing has changed. The checkpoint
is of kind manual and goes only by turnback checkpoint drop. In a work tree
without a window this makes one that is named manual.
` + command.ExitsWrite,
		Example: `  turnback checkpoint save -m "before the big rename"`,
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := d.Place(t, "")
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.SaveCheckpointResult) error {
				return errors.Join(f.Saved(w, r), d.Note(r.Interrupted))
			}
			return command.Invoke(cmd, d, o, "save-checkpoint", api.SaveCheckpointParams{Place: place, Label: label}, show)
		},
	}
	cmd.Flags().StringVarP(&label, "message", "m", "", "`LABEL` of the checkpoint")
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}

func newBranch(d command.Deps) *cobra.Command {
	var (
		t command.Target
		o command.Output
	)
	cmd := &cobra.Command{
		Use:   "branch N NAME",
		Short: "Make a branch of a checkpoint",
		Long: `Make a branch of checkpoint N: a new commit with the files of N on top of the
commit that HEAD was at then, in your name, with the label as its message.
Nothing else that is kept with a checkpoint goes with it. HEAD and the work tree
stay as they are.
` + command.ExitsWrite,
		Example: `  turnback checkpoint branch 2 retry-attempt`,
		Args:    command.ExactArgs("the checkpoint's number", "the branch's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := command.Number(args[0])
			if err != nil {
				return err
			}
			place, err := d.Place(t, "")
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.BranchCheckpointResult) error { return f.Branched(w, r) }
			params := api.BranchCheckpointParams{Place: place, N: n, Name: args[1]}
			return command.Invoke(cmd, d, o, "branch-checkpoint", params, show)
		},
	}
	cmd.ValidArgsFunction = d.CompleteNumbers(&t, 1)
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}
