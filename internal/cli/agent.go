package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/command"
)

func newAgent(d command.Deps) *cobra.Command {
	var f command.AgentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run a small coding agent of our own",
		Long: `Talk to a coding agent in this terminal, or with -p give it one task and get its
answer on standard output. It reads, writes and searches files, runs commands,
and asks before it writes or runs; --yes allows everything, for sandboxes. Its
turns are saved like those of any other agent.

The model is PROVIDER/NAME: anthropic/NAME with ANTHROPIC_API_KEY, openai/NAME
with OPENAI_API_KEY, each at another address with ANTHROPIC_BASE_URL or
OPENAI_BASE_URL; further endpoints that speak Chat Completions are named below
agent.endpoints in the configuration.

With --conversation, or conversation.checkpoint.enabled, the model can mark a
place in its conversation, explore, and put a report in the place of the
exploration. --rewind-files also puts the files back as they were.

Conversations are kept below $XDG_DATA_HOME/turnback/conversations.
` + command.ExitsWrite,
		Example: `  turnback agent --model anthropic/claude-sonnet-4-5
  turnback agent -p "make the tests pass" --yes --json
  turnback agent --continue`,
		Args: func(cmd *cobra.Command, args []string) error { return asLine(command.ExactArgs()(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := agentUsage(cmd, f); err != nil {
				return asLine(err)
			}
			return asLine(d.Agent(cmd.Context(), f))
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return asLine(command.FlagError(cmd, err)) })
	flags := cmd.Flags()
	flags.StringVarP(&f.Prompt, "prompt", "p", "", "do this `TASK` and end; - reads it from standard input")
	flags.StringVar(&f.Model, "model", "", "use this `MODEL`, PROVIDER/NAME")
	flags.Var(command.Given{Value: &f.Resume}, "resume", "go on with the conversation `ID`, or with a branch of one by the id of its last entry")
	flags.BoolVar(&f.Continue, "continue", false, "go on with the newest conversation of this directory")
	flags.BoolVar(&f.Fork, "fork", false, "go on with a copy of it")
	flags.BoolVar(&f.JSON, "json", false, "print one JSON object a line")
	flags.BoolVar(&f.Yes, "yes", false, "ask nothing, allow everything")
	flags.BoolVar(&f.Conversation, "conversation", false, "let the model use checkpoint and rewind")
	flags.BoolVar(&f.RewindFiles, "rewind-files", false, "a rewind puts the files back, too, or is refused")
	return cmd
}

// asLine makes an error a line of the output that --json asks for.
func asLine(err error) error {
	if err == nil {
		return nil
	}
	return command.LinesFailure{Err: err}
}

// agentUsage says which options do not go together.
func agentUsage(cmd *cobra.Command, f command.AgentFlags) error {
	switch {
	case f.Resume != "" && f.Continue:
		return command.UsageError(cmd, "--resume and --continue exclude each other")
	case f.Fork && f.Resume == "" && !f.Continue:
		return command.UsageError(cmd, "--fork goes with --resume or --continue")
	case cmd.Flags().Changed("prompt") && strings.TrimSpace(f.Prompt) == "":
		return command.UsageError(cmd, "the prompt is empty")
	case f.JSON && f.Prompt == "":
		return command.UsageError(cmd, "--json goes with --prompt")
	}
	return nil
}
