// Package checkpoints holds the commands about saved turns: turnback checkpoint
// and all below it, undo and redo.
package checkpoints

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

// New makes turnback checkpoint with its commands.
func New(d command.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "checkpoint",
		Aliases: []string{"cp"},
		Short:   "List, read and restore the saved turns of a window",
		Long: `A checkpoint is the state of a work tree at the end of an agent's turn: tracked
files as they are on disk, and untracked files that git does not ignore. Each is
a commit under refs/turnback/checkpoints/PANE/N. git push does not push it.

Which window is meant: the one of -s and -w; else the pane that the command
runs in; else the pane known for this terminal; else, for commands that only
read, the most recently active pane whose work tree holds this directory.
`,
		Example: `  turnback checkpoint list -w build
  turnback checkpoint diff -w build 2 --stat
  turnback checkpoint restore -w build 1`,
	}
	command.AsGroup(cmd)
	cmd.AddCommand(
		newList(d), newShow(d), newDiff(d), newRestore(d), newRevert(d),
		newSave(d), newDrop(d), newUntrash(d), newPrune(d), newPurge(d), newBranch(d), newVerify(d),
	)
	return cmd
}

func newList(d command.Deps) *cobra.Command {
	var (
		t command.Target
		o command.Output
		p api.ListCheckpointsParams
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the checkpoints of a window, oldest first",
		Long: `List the checkpoints of a window, oldest first: number, turn, the state that the
turn ended in, when it was taken, the commit, and the label (the turn's prompt).

Kinds other than the end of a turn stand before the label: "start: " for what
changed between two turns, "safety: " for the state before a restore, "manual: "
for turnback checkpoint save. Below the table stand the places that a checkpoint
left out, and the turns that were not saved, with the reasons.

--trash lists what turnback checkpoint drop took away and untrash can bring back.
` + command.ExitsRead,
		Example: `  turnback checkpoint list
  turnback checkpoint list -s api -w build
  turnback checkpoint list --all --json`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if p.Place, err = d.Place(t, ""); err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.ListCheckpointsResult) error {
				if p.Trash {
					return f.Trash(w, r, p.All)
				}
				return f.List(w, r, p.All)
			}
			return command.Invoke(cmd, d, o, "list-checkpoints", p, show)
		},
	}
	cmd.Flags().BoolVar(&p.All, "all", false, "every pane of this repository, those that are gone too")
	cmd.Flags().BoolVar(&p.Trash, "trash", false, "the checkpoints that were dropped and can come back")
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}

func newShow(d command.Deps) *cobra.Command {
	var (
		t command.Target
		o command.Output
	)
	cmd := &cobra.Command{
		Use:   "show N",
		Short: "Show all that is known about a checkpoint",
		Long: `Show everything that is kept with a checkpoint: commit, tree, HEAD and base, the
agent and its session, and every place that was left out.
` + command.ExitsRead,
		Example: `  turnback checkpoint show 2
  turnback checkpoint show -w build 2 --json`,
		Args: command.ExactArgs("the checkpoint's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := command.Number(args[0])
			if err != nil {
				return err
			}
			place, err := d.Place(t, "")
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.ShowCheckpointResult) error {
				return errors.Join(f.Show(w, r), d.Note(r.Interrupted))
			}
			return command.Invoke(cmd, d, o, "show-checkpoint", api.ShowCheckpointParams{Place: place, N: n}, show)
		},
	}
	cmd.ValidArgsFunction = d.CompleteNumbers(&t, 1)
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}
