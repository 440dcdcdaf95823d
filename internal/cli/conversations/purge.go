package conversations

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/cli/text"
)

func newPurge(d command.Deps) *cobra.Command {
	var (
		o   command.Output
		yes bool
	)
	cmd := &cobra.Command{
		Use:   "purge SESSION",
		Short: "Remove what turnback keeps of a conversation",
		Long: `Remove what turnback keeps of a conversation: what is known of it, and the copy
of its transcript, which is not made again. Of turnback's own agent the session
itself is removed, with all its branches; one that is open is refused with its
process. Files of other agents stay as they are, and so do checkpoints of the
work tree, with the first line of a prompt as their label. There is no way back.

In a terminal it asks first, unless --yes or --json is given. SESSION is its id,
or 4 or more characters of its beginning.
` + command.ExitsWrite,
		Example:           "  turnback conversation purge 5f2c",
		Args:              command.ExactArgs("SESSION"),
		ValidArgsFunction: completeSessions(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.Streams.InTerminal && d.Streams.OutTerminal && !yes && !o.JSON {
				agreed, err := screen.Confirm(d.Streams, "Remove what turnback keeps of conversation "+screen.Line(args[0])+"? There is no way back.")
				if err == nil && !agreed {
					_, err = fmt.Fprintln(d.Streams.Out, "Nothing was removed.")
				}
				if err != nil || !agreed {
					return err
				}
			}
			show := func(w io.Writer, f text.Format, r api.ConversationPurgeResult) error {
				return f.ConversationPurged(w, r)
			}
			return command.Invoke(cmd, d, o, "conversation-purge", api.ConversationParams{Session: args[0]}, show)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	o.AddTo(cmd)
	return cmd
}
