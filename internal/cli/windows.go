package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

func newLs(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List sessions, windows and what their agents do",
		Long: `List the sessions and their windows: name, id, state of the agent, newest turn,
and work tree. A session has the name of its work tree; a window comes with the
first report of an agent.

● working   ▲ needs_input   ○ idle   ■ done   × errored
` + command.ExitsRead,
		Example: "  turnback ls\n  turnback ls --json",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			show := func(w io.Writer, f text.Format, r api.ListWindowsResult) error { return f.Windows(w, r) }
			return command.Invoke(cmd, d, o, "list-windows", struct{}{}, show)
		},
	}
	o.AddTo(cmd)
	return cmd
}
