package checkpoints

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

type restoreOptions struct {
	selection
	command.Output
	api.RestoreCheckpointParams
	goOn, giveUp bool
}

func newRestore(d command.Deps) *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore N",
		Short: "Put the files back as checkpoint N has them",
		Long: `Put the files of the work tree back as checkpoint N has them.

First the work tree is saved as a safety checkpoint; restoring that one takes
the restore back. Then the files that differ are written, and the files that
checkpoint N does not have are removed. Ignored files, places that a checkpoint
leaves out, the index and HEAD stay as they are: git status shows the restored
files as changes.

A restore refuses, before it changes anything,
  - while an agent of this or of another pane works in the work tree (--force);
  - when other panes' turns changed files since N: --mine puts back the files of
    this pane alone, --all-panes all of them;
  - when it would write over a file that git ignores (--overwrite: the safety
    checkpoint holds it then), over an unreadable one, or over a nested
    repository: move those out of the way;
  - when N was taken in another work tree, or HEAD is on another branch than
    then (--here);
  - when N is damaged, a file changes under the restore, or the disk is full.

With --conversation the agent's conversation is put back to the end of that turn
too, both or neither: in turnback agent the session goes on from there, of Claude
Code a copy that ends there becomes a new session. The command that resumes it is
printed; nothing is lost of the conversation. --conversation-only leaves the files
as they are.

With --staged it puts back the index as it was then, and nothing else. It refuses
while git holds the index's lock, or a merge, rebase or the like is under way.

A restore that was killed is told by the next command; --continue finishes it
and --abort takes it back, the conversation too.
` + command.ExitsWrite,
		Example: `  turnback checkpoint restore -w build 1
  turnback checkpoint restore 1 --dry-run
  turnback checkpoint restore 1 --path api/retry.go --path docs
  turnback checkpoint restore 1 --conversation
  turnback checkpoint restore --abort`,
		Args: command.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRestore(cmd, d, o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.Staged, "staged", false, "the index alone, and no file")
	f.BoolVar(&o.Conversation, "conversation", false, "the agent's conversation too")
	f.BoolVar(&o.ConversationOnly, "conversation-only", false, "the agent's conversation, and no file")
	f.BoolVar(&o.goOn, "continue", false, "finish a restore that was killed")
	f.BoolVar(&o.giveUp, "abort", false, "take back a restore that was killed")
	cmd.ValidArgsFunction = d.CompleteNumbers(&o.Target, 1)
	o.selection.addTo(cmd, d)
	addCare(cmd, &o.DryRun, &o.Force, &o.Here, &o.Overwrite, "also when N comes from another work tree or branch")
	addWhose(cmd, &o.Mine, &o.AllPanes, "since")
	o.Output.AddTo(cmd)
	return cmd
}

func runRestore(cmd *cobra.Command, d command.Deps, o restoreOptions, args []string) error {
	place, err := d.PlaceOfWriter(o.Target)
	if err != nil {
		return err
	}
	if o.goOn || o.giveUp {
		return finishRestore(cmd, d, o, args, place)
	}
	if len(args) == 0 {
		return command.UsageError(cmd, "the checkpoint's number is missing")
	}
	p := o.RestoreCheckpointParams
	if p.N, err = command.Number(args[0]); err != nil {
		return err
	}
	if err = errors.Join(pickOne(cmd, "mine", "all-panes"), pickOne(cmd, "conversation", "conversation-only")); err != nil {
		return err
	}
	if p.Staged && (p.Mine || p.AllPanes || p.Overwrite || p.Conversation || p.ConversationOnly) {
		return command.UsageError(cmd, "--staged goes with none of --mine, --all-panes, --overwrite and --conversation")
	}
	if p.ConversationOnly && len(o.paths) > 0 {
		return command.UsageError(cmd, "--conversation-only goes with no --path")
	}
	p.Place = place
	p.Paths, p.PathsBase64 = o.wirePaths()
	return command.Invoke(cmd, d, o.Output, "restore-checkpoint", p, showRestore)
}

func finishRestore(cmd *cobra.Command, d command.Deps, o restoreOptions, args []string, place api.Place) error {
	verb, flag := "continue-restore", "--continue"
	if o.giveUp {
		verb, flag = "abort-restore", "--abort"
	}
	if err := pickOne(cmd, "continue", "abort"); err != nil {
		return err
	}
	switch {
	case len(args) > 0:
		return command.UsageError(cmd, "%s takes no checkpoint number", flag)
	case o.DryRun || o.Here || o.Mine || o.AllPanes || o.Overwrite || o.Staged || o.Conversation || o.ConversationOnly || len(o.paths) > 0:
		return command.UsageError(cmd, "%s goes with no other flag than --force", flag)
	}
	return command.Invoke(cmd, d, o.Output, verb, api.FinishRestoreParams{Place: place, Force: o.Force}, showRestore)
}

func showRestore(w io.Writer, f text.Format, r api.RestoreResult) error { return f.Restore(w, r) }
