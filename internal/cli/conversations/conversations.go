// Package conversations has the commands about the conversations of agents.
package conversations

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/cli/text"
)

const sessionArgument = `SESSION is its id, or 4 or more characters of its beginning; without it the
newest one of this directory is meant.
`

// New makes `turnback conversation`.
func New(d command.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conversation",
		Short: "See where agents marked and rewound their conversations",
		Long: `A model may mark its conversation, explore, and go on with a report in place of
the exploration. These commands tell where that happened and what it saved.`,
	}
	command.AsGroup(cmd)
	cmd.AddCommand(newList(d), newShow(d), newStats(d), newExport(d), newAbandon(d), newPurge(d))
	return cmd
}

// whichConversations are the flags of the commands about several.
type whichConversations struct {
	command.Output
	all bool
}

func (o *whichConversations) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.all, "all", false, "not only those of this directory")
	o.AddTo(cmd)
}

func (o whichConversations) params(d command.Deps) (api.ConversationListParams, error) {
	if o.all {
		return api.ConversationListParams{}, nil
	}
	dir, err := d.Dir()
	return api.ConversationListParams{Dir: dir}, err
}

func newList(d command.Deps) *cobra.Command {
	var o whichConversations
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the conversations with checkpoints",
		Long: `List the conversations in which a checkpoint was opened, or whose requests went
through the proxy, and all those of turnback's own agent, the newest first.
` + command.ExitsRead,
		Example: "  turnback conversation list\n  turnback conversation list --all --json",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := o.params(d)
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.ConversationListResult) error { return f.Conversations(w, r) }
			return command.Invoke(cmd, d, o.Output, "conversation-list", p, show)
		},
	}
	o.addTo(cmd)
	return cmd
}

func newStats(d command.Deps) *cobra.Command {
	var o whichConversations
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Tell how many tokens rewinds saved",
		Long: `Tell, of each conversation and of all, how many tokens were sent and how many it
would have been without rewinds. What was sent is the provider's own figure; the
other is estimated from the sizes of the requests, and marked with ~.
` + command.ExitsRead,
		Example: "  turnback conversation stats --all",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := o.params(d)
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.ConversationStatsResult) error {
				return f.ConversationStats(w, r)
			}
			return command.Invoke(cmd, d, o.Output, "conversation-stats", p, show)
		},
	}
	o.addTo(cmd)
	return cmd
}

// oneConversation is what a call about one conversation takes.
func oneConversation(d command.Deps, args []string) (api.ConversationParams, error) {
	if len(args) > 0 && args[0] == "" {
		return api.ConversationParams{}, api.Errorf(api.CodeInvalidParams, "%q names no conversation", args[0]).
			WithHint(api.Hint{Param: "session", Command: "turnback conversation list"})
	}
	if len(args) > 0 {
		return api.ConversationParams{Session: args[0]}, nil
	}
	dir, err := d.Dir()
	return api.ConversationParams{Dir: dir}, err
}

func newShow(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "show [SESSION]",
		Short: "Show the checkpoints of a conversation",
		Long: `Show the checkpoints of a conversation with what became of them, its figures, and
why a request went out as it came last. Of turnback's own agent the whole tree is
shown: prompts, checkpoints, the reports of rewinds, and the branches that they
left, each with the command that goes back there.
` + sessionArgument + command.ExitsRead,
		Example:           "  turnback conversation show\n  turnback conversation show 5f2c",
		Args:              command.MaxArgs(1),
		ValidArgsFunction: completeSessions(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := oneConversation(d, args)
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.ConversationShowResult) error { return f.Conversation(w, r) }
			return command.Invoke(cmd, d, o, "conversation-show", p, show)
		},
	}
	o.AddTo(cmd)
	return cmd
}

func newAbandon(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "abandon [SESSION]",
		Short: "Close the open checkpoint of a conversation without a report",
		Long: `Close the open checkpoint of a conversation without a report. The agent is
reminded of it no more, and its rewind is refused; what was explored stays in the
conversation. A session that turnback's own agent has open is refused: type
/abandon in it.
` + sessionArgument + command.ExitsWrite,
		Example:           "  turnback conversation abandon",
		Args:              command.MaxArgs(1),
		ValidArgsFunction: completeSessions(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := oneConversation(d, args)
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.ConversationAbandonResult) error {
				return f.ConversationAbandoned(w, r)
			}
			return command.Invoke(cmd, d, o, "conversation-abandon", p, show)
		},
	}
	o.AddTo(cmd)
	return cmd
}

// completeSessions completes the id of a conversation; it never starts a daemon.
func completeSessions(d command.Deps) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		var r api.ConversationListResult
		if len(args) > 0 || d.CallInto(cmd.Context(), command.DialOnly, "conversation-list", api.ConversationListParams{}, &r) != nil {
			return nil, none
		}
		var ids []string
		for _, s := range r.Sessions {
			about := s.Agent + " " + s.Title
			if s.Open != nil {
				about = s.Agent + ", open: " + s.Open.Goal
			}
			ids = append(ids, cobra.CompletionWithDesc(screen.Line(s.Session), screen.Line(about)))
		}
		return ids, none | cobra.ShellCompDirectiveKeepOrder
	}
}
