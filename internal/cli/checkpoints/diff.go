package checkpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
)

type diffOptions struct {
	selection
	command.Output
	stat, worktree, binary, noPager bool
	context                         int
	color                           string
}

func newDiff(d command.Deps) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [N | A..B]",
		Short: "Show what a turn changed",
		Long: `Show what the turn of checkpoint N changed: N against the work tree as the turn
found it. Without N, the newest checkpoint is meant. A..B compares two
checkpoints, and --worktree compares N with the files as they are now.

The first line says what is compared and sums up. The patch below is one that
git apply takes; on a terminal it is coloured and goes through git's pager. A
diff that is too long for a review is cut: the files that are left out keep
their row, with "cut" at its end, and the sums cover them.
` + command.ExitsRead,
		Example: `  turnback checkpoint diff                      # the newest turn
  turnback checkpoint diff -w build 2 --stat
  turnback checkpoint diff -w build 2 --path api/retry.go --context 5
  turnback checkpoint diff 1..3
  turnback checkpoint diff 2 | git apply -R     # take back turn 2 alone`,
		Args: command.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd, d, o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.stat, "stat", false, "only the names and counts")
	f.BoolVar(&o.worktree, "worktree", false, "compare with the files on disk now")
	o.context = 3
	f.Var(&command.Within{Value: &o.context, Max: 20}, "context", "`LINES` around each change, 0 to 20")
	f.BoolVar(&o.binary, "binary", false, "binary files as patches too (on its own when stdout is no terminal)")
	f.StringVar(&o.color, "color", "auto", "`WHEN` to colour: auto, always or never")
	f.BoolVar(&o.noPager, "no-pager", false, "do not page")
	cmd.ValidArgsFunction = d.CompleteNumbers(&o.Target, 1)
	o.selection.addTo(cmd, d)
	o.Output.AddTo(cmd)
	command.MustComplete(cmd, "color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runDiff(cmd *cobra.Command, d command.Deps, o diffOptions, args []string) error {
	if err := command.OneOf("color", o.color, "auto", "always", "never"); err != nil {
		return err
	}
	params, err := diffParams(cmd, d, o, args)
	if err != nil {
		return err
	}
	raw, err := d.Call(cmd.Context(), command.StartDaemon, "checkpoint-diff", params)
	if err != nil {
		return err
	}
	if o.JSON {
		return command.WriteJSON(d.Streams.Out, raw)
	}
	var r api.CheckpointDiffResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("decode the result: %w", err)
	}
	style := screen.PatchStyle{
		Colour:  d.Colour(cmd.Context(), o.color),
		Visible: d.Streams.OutTerminal,
	}
	var b bytes.Buffer
	if err := d.Format(cmd.Context(), string(raw)).Diff(&b, r, o.stat, style); err != nil {
		return err
	}
	return errors.Join(d.ShowPaged(cmd.Context(), &b, !o.noPager), d.Note(r.Interrupted))
}

func diffParams(cmd *cobra.Command, d command.Deps, o diffOptions, args []string) (api.CheckpointDiffParams, error) {
	p := api.CheckpointDiffParams{Worktree: o.worktree, Stat: o.stat}
	p.Paths, p.PathsBase64 = o.wirePaths()
	p.Binary = o.binary || !d.Streams.OutTerminal && !o.stat && !o.JSON
	if cmd.Flags().Changed("context") {
		p.Context = &o.context
	}
	var err error
	if p.Place, err = d.Place(o.Target, ""); err != nil || len(args) == 0 {
		return p, err
	}
	from, to, pair := strings.Cut(args[0], "..")
	if !pair {
		p.N, err = command.Number(args[0])
		return p, err
	}
	if o.worktree {
		return p, command.UsageError(cmd, "--worktree compares one checkpoint, not %q", args[0])
	}
	if p.From, err = command.Number(from); err != nil {
		return p, err
	}
	p.To, err = command.Number(to)
	return p, err
}
