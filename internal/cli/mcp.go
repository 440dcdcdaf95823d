package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/mcp"
)

func newMCP(d command.Deps) *cobra.Command {
	offered := false
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve checkpoint and rewind to an agent, by MCP",
		Long: `Serve the tools checkpoint and rewind over standard input and output, by the
Model Context Protocol. With checkpoint a model marks its conversation before an
exploration, with rewind it has the exploration replaced by a report.

The tools are served with --conversation, or when the configuration says
[conversation.checkpoint] enabled = true; otherwise there is none. Agents start
this command: turnback setup claude --conversation registers it, and
turnback run --conversation hands it to one run of an agent.

What is known of a conversation is kept by the daemon; this process may end and
start again at any time. It ends when standard input does.`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveMCP(cmd.Context(), d, func(ctx context.Context, o mcp.Options) error {
				return mcp.ServeConversation(ctx, o, offered || offersConversation(d))
			})
		},
	}
	cmd.Flags().BoolVar(&offered, "conversation", false, "serve the tools whatever the configuration says")
	cmd.AddCommand(newMCPFiles(d))
	return cmd
}

func newMCPFiles(d command.Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "files",
		Short: "Serve the checkpoints of this work tree to an agent, by MCP",
		Long: `Serve the tools list, show, diff and restore over standard input and output, by
the Model Context Protocol. They are about the checkpoints of the work tree that
the command was started in, and about no other. A restore has no way around a
refusal: that is left to the person.

It is a server of its own, so that an agent which is allowed to use checkpoint
and rewind without asking still asks before it restores. To register it:

  claude mcp add turnback-files -- turnback mcp files`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return serveMCP(cmd.Context(), d, mcp.ServeFiles) },
	}
}

// serveMCP serves on the streams of this process.
func serveMCP(ctx context.Context, d command.Deps, serve func(context.Context, mcp.Options) error) error {
	dir, err := d.Dir()
	if err != nil {
		return err
	}
	caller, err := d.Connect(ctx, command.StartDaemon)
	if err != nil {
		return err
	}
	o := mcp.Options{
		In: io.NopCloser(d.Streams.In), Out: unclosed{d.Streams.Out}, Caller: caller, Version: d.Version.Version,
		Dir: dir, Launch: d.Getenv("TURNBACK_LAUNCH"), PaneID: d.Getenv("TURNBACK_PANE_ID"),
	}
	if d.Parents != nil {
		o.Parents = d.Parents()
	}
	return serve(ctx, o)
}

// unclosed is a writer that outlives the server.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// offersConversation is what the configuration says; one that cannot be used
// offers nothing.
func offersConversation(d command.Deps) bool {
	path, err := config.Path(d.Getenv)
	if err != nil {
		return false
	}
	c, err := config.Load(path)
	return err == nil && c.Conversation.Checkpoint.Enabled
}
