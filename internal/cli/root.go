package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/nearest"
)

// Execute runs one command line and returns the exit status of the process.
// What goes wrong has been printed when it returns.
func Execute(ctx context.Context, d Deps, args []string) int {
	root := NewRoot(d)
	root.SetArgs(args)
	return report(ctx, d, root.ExecuteContext(ctx), wantsJSON(args))
}

// The groups of commands in the help of the root.
const (
	groupFiles   = "files"
	groupWindows = "windows"
	groupSetup   = "setup"
	groupScripts = "scripts"
)

// NewRoot makes the whole tree of commands.
func NewRoot(d Deps) *cobra.Command {
	root := &cobra.Command{
		Use:   "turnback",
		Short: "Every turn of a coding agent saved, read, and taken back",
		Long: `turnback saves the files of a git work tree whenever a coding agent ends a turn,
shows what the turn changed, and puts the files back as an earlier turn left
them. Your index, HEAD, branches and stash stay as they are.

Start with a look at it:      turnback tour
Let Claude Code report to it: turnback setup claude`,
		Example: `  turnback checkpoint list          # one row per saved turn
  turnback checkpoint diff 2        # what turn 2 changed
  turnback checkpoint restore 1     # put the files back as turn 1 left them
  turnback undo                     # take back the newest turn`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	asGroup(root)
	root.SetIn(d.Streams.In)
	root.SetOut(d.Streams.Out)
	root.SetErr(d.Streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.Version = d.Version.Version
	root.SetVersionTemplate("turnback {{.Version}}\n")
	root.AddGroup(
		&cobra.Group{ID: groupFiles, Title: "Files and turns:"},
		&cobra.Group{ID: groupWindows, Title: "Windows and agents:"},
		&cobra.Group{ID: groupSetup, Title: "Setting up:"},
		&cobra.Group{ID: groupScripts, Title: "For scripts and agents:"},
	)
	addCommands(root, d)
	return root
}

func addCommands(root *cobra.Command, d Deps) {
	inGroup := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	inGroup(groupFiles, newCheckpoint(d), newUndo(d, "undo"), newUndo(d, "redo"))
	inGroup(groupWindows, newLs(d), newSetState(d), newGetState(d), newStatus(d), newDaemon(d))
	inGroup(groupSetup, newTour(d), newConfig(d), newDoctor(d), newVersion(d), newMan(d))
	inGroup(groupScripts, newListVerbs(d), newCall(d), newEvents(d))
	for _, c := range d.Commands {
		if c.Name() == "hook" {
			inGroup(groupScripts, c)
			continue
		}
		inGroup(groupSetup, c)
	}
	root.SetHelpCommandGroupID(groupSetup)
	root.SetCompletionCommandGroupID(groupSetup)
}

// asGroup makes cmd a holder of other commands: alone it prints its help, and an
// unknown command below it is wrong usage.
func asGroup(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		hint := api.Hint{DidYouMean: nearest.Word(args[0], names), Command: cmd.CommandPath() + " --help"}
		return api.Errorf(api.CodeInvalidParams, "%s has no command %q", cmd.CommandPath(), args[0]).WithHint(hint)
	}
	return cmd
}

// flagError turns what the flag parser says into wrong usage with a hint.
func flagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return valueError(cmd, wrong)
	}
	hint := api.Hint{Command: cmd.CommandPath() + " --help"}
	if name, found := strings.CutPrefix(err.Error(), "unknown flag: --"); found {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest.Word(name, names); near != "" {
			hint.DidYouMean = "--" + near
		}
	}
	return api.Errorf(api.CodeInvalidParams, "%s", err.Error()).WithHint(hint)
}
