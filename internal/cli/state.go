package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

// stateNames are the states as a person may report them.
func stateNames() []string {
	return []string{"none", "working", "needs_input", "idle", "done", "errored", "unknown"}
}

func newSetState(d command.Deps) *cobra.Command {
	var (
		t   command.Target
		o   command.Output
		p   api.SetAgentStateParams
		dir string
	)
	cmd := &cobra.Command{
		Use:   "set-agent-state STATE",
		Short: "Report what an agent does",
		Long: `Report the state of an agent: none, working, needs_input, idle, done, errored or
unknown. It is for scripts, and for agents without hooks; turnback setup does it
for the agents that have them.

A turn begins with working after a rest, or with a --prompt, which becomes the
label. It ends with done, idle, errored or none, and is saved then. needs_input
pauses it, and saves too. A window that does not exist is made; its directory is
--dir, else the current one.

The command returns when the checkpoint that the report caused is taken, at most
after 2 s, and prints what became of it: "checkpoint 1 saved", "nothing
changed", "still saving", or "not saved: " with the reason. It prints nothing
when none was due.
` + command.ExitsWrite,
		Example: `  turnback set-agent-state working -s api -w build --prompt "Add a retry"
  turnback set-agent-state done -s api -w build`,
		Args: command.ExactArgs("the state"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if p.Place, err = d.Place(t, dir); err != nil {
				return err
			}
			p.State = args[0]
			show := func(w io.Writer, f text.Format, r api.SetAgentStateResult) error { return f.SetState(w, r) }
			return command.Invoke(cmd, d, o, "set-agent-state", p, show)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&p.Message, "message", "m", "", "`TEXT` that the agent says about the state")
	f.StringVar(&p.Prompt, "prompt", "", "`TEXT` of the prompt that starts a turn")
	f.StringVar(&p.Agent, "agent", "", "`NAME` of the agent")
	f.StringVar(&dir, "dir", "", "`DIR` of the window, instead of the current one")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return stateNames(), cobra.ShellCompDirectiveNoFileComp
	}
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}

func newGetState(d command.Deps) *cobra.Command {
	var (
		t command.Target
		o command.Output
	)
	cmd := &cobra.Command{
		Use:   "get-agent-state",
		Short: "Show what an agent does",
		Long: `Show the state of a window's agent, where it is known from, since when it holds,
the open or newest turn, and the agent's name.
` + command.ExitsRead,
		Example: "  turnback get-agent-state -w build --json",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := d.Place(t, "")
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.GetAgentStateResult) error { return f.State(w, r) }
			return command.Invoke(cmd, d, o, "get-agent-state", api.GetAgentStateParams{Place: place}, show)
		},
	}
	t.AddTo(cmd, d)
	o.AddTo(cmd)
	return cmd
}
