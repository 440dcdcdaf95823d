package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

type diffOptions struct {
	target
	output
	stat, worktree, binary, noPager bool
	context                         int
	paths                           []string
	color                           string
}

func newDiff(d Deps) *cobra.Command {
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
` + exitsRead,
		Example: `  turnback checkpoint diff                      # the newest turn
  turnback checkpoint diff -w build 2 --stat
  turnback checkpoint diff -w build 2 --path api/retry.go --context 5
  turnback checkpoint diff 1..3
  turnback checkpoint diff 2 | git apply -R     # take back turn 2 alone`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd, d, o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.stat, "stat", false, "only the names and counts")
	f.BoolVar(&o.worktree, "worktree", false, "compare with the files on disk now")
	f.StringArrayVar(&o.paths, "path", nil, "only the file or folder `PATH`, relative to the root of the work tree (may be repeated)")
	o.context = 3
	f.Var(&within{value: &o.context, max: 20}, "context", "`LINES` around each change, 0 to 20")
	f.BoolVar(&o.binary, "binary", false, "binary files as patches too (on its own when stdout is no terminal)")
	f.StringVar(&o.color, "color", "auto", "`WHEN` to colour: auto, always or never")
	f.BoolVar(&o.noPager, "no-pager", false, "do not page")
	cmd.ValidArgsFunction = d.completeNumbers(&o.target, 1)
	o.target.addTo(cmd, d)
	o.output.addTo(cmd)
	mustComplete(cmd, "color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runDiff(cmd *cobra.Command, d Deps, o diffOptions, args []string) error {
	if err := oneOf("color", o.color, "auto", "always", "never"); err != nil {
		return err
	}
	params, err := diffParams(cmd, d, o, args)
	if err != nil {
		return err
	}
	raw, err := d.call(cmd.Context(), StartDaemon, "checkpoint-diff", params)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(d.Streams.Out, raw)
	}
	var r api.CheckpointDiffResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("decode the result: %w", err)
	}
	style := screen.PatchStyle{
		Colour:  d.colour(cmd.Context(), o.color),
		Visible: d.Streams.OutTerminal,
	}
	var b bytes.Buffer
	if err := d.format(cmd.Context(), string(raw)).Diff(&b, r, o.stat, style); err != nil {
		return err
	}
	return errors.Join(d.page(cmd.Context(), &b, !o.noPager), d.note(r.Interrupted))
}

func diffParams(cmd *cobra.Command, d Deps, o diffOptions, args []string) (api.CheckpointDiffParams, error) {
	p := api.CheckpointDiffParams{Worktree: o.worktree, Stat: o.stat}
	p.Paths, p.PathsBase64 = wirePaths(o.paths)
	p.Binary = o.binary || !d.Streams.OutTerminal && !o.stat && !o.json
	if cmd.Flags().Changed("context") {
		p.Context = &o.context
	}
	var err error
	if p.Place, err = d.place(o.target, ""); err != nil || len(args) == 0 {
		return p, err
	}
	from, to, pair := strings.Cut(args[0], "..")
	if !pair {
		p.N, err = number(args[0])
		return p, err
	}
	if o.worktree {
		return p, usageError(cmd, "--worktree compares one checkpoint, not %q", args[0])
	}
	if p.From, err = number(from); err != nil {
		return p, err
	}
	p.To, err = number(to)
	return p, err
}
