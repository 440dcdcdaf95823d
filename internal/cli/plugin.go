package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/plugin"
	"github.com/turnback/turnback/internal/terminal"
)

func newPlugin(d command.Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "plugin AGENT",
		Short: "Answer turnback's plugin in an agent",
		Long: `Answer the plugin that turnback run --conversation gives to opencode and pi, which
starts this command. It asks in lines of JSON on standard input and gets as many on
standard output: the history as it is to be sent, the answers of the tools
checkpoint and rewind, and what a model is to be told that comes to rest with a
checkpoint open. docs/json.md has the lines.

It ends when standard input does.`,
		Args:      command.ExactArgs("AGENT"),
		ValidArgs: plugin.Agents(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(plugin.Agents(), args[0]) {
				return api.Errorf(api.CodeInvalidParams, "there is no plugin for %q", args[0]).
					WithHint(api.Hint{Param: "agent", Accepted: plugin.Agents()})
			}
			place, err := d.PlaceOfWriter(command.Target{})
			if err != nil {
				return err
			}
			caller, err := d.Connect(cmd.Context(), command.StartDaemon)
			if err != nil {
				return err
			}
			o := plugin.Options{Agent: args[0], Launch: d.Getenv("TURNBACK_LAUNCH"), Place: place, Daemon: caller, Now: d.Now}
			if len(place.Ancestors) > 0 {
				o.AgentPID = place.Ancestors[0]
				o.AgentStarted, _ = terminal.ProcessStart(o.AgentPID) // empty: not known
			}
			return plugin.Serve(cmd.Context(), o, d.Streams.In, d.Streams.Out)
		},
	}
}
