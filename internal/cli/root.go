// Package cli is the command line. A command parses its arguments, calls one
// verb through a command.Caller, and prints the result; what happens lies behind
// the verb. Constructors take everything from outside in a command.Deps.
package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/checkpoints"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/conversations"
)

// Execute runs one command line and returns the exit status of the process.
// What goes wrong has been printed when it returns.
func Execute(ctx context.Context, d command.Deps, args []string) int {
	root := NewRoot(d)
	root.SetArgs(args)
	return command.Report(ctx, d, root.ExecuteContext(ctx), command.WantsJSON(args))
}

// The groups of commands in the help of the root.
const (
	groupFiles   = "files"
	groupWindows = "windows"
	groupSetup   = "setup"
	groupScripts = "scripts"
)

// NewRoot makes the whole tree of commands.
func NewRoot(d command.Deps) *cobra.Command {
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
	command.AsGroup(root)
	root.SetIn(d.Streams.In)
	root.SetOut(d.Streams.Out)
	root.SetErr(d.Streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return command.FlagError(cmd, err) })
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

func addCommands(root *cobra.Command, d command.Deps) {
	inGroup := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	inGroup(groupFiles, checkpoints.New(d), checkpoints.NewUndo(d, "undo"), checkpoints.NewUndo(d, "redo"))
	inGroup(groupWindows, newAgent(d), newLs(d), conversations.New(d), newSetState(d), newGetState(d), newStatus(d), newDaemon(d))
	inGroup(groupSetup, newTour(d), newConfig(d), newTrust(d), newDoctor(d), newVersion(d), newMan(d))
	inGroup(groupScripts, newListVerbs(d), newCall(d), newEvents(d), newMCP(d), newPlugin(d))
	for _, c := range d.Commands {
		switch c.Name() {
		case "run":
			inGroup(groupWindows, c)
		case "hook", "mcp", "proxy":
			inGroup(groupScripts, c)
		default:
			inGroup(groupSetup, c)
		}
	}
	root.SetHelpCommandGroupID(groupSetup)
	root.SetCompletionCommandGroupID(groupSetup)
}
