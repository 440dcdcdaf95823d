package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
)

func newEvents(d command.Deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Follow what happens in all windows",
		Long: `Print an event a line as it happens: changes of state, turns that start and end,
checkpoints saved and not saved, restores. It goes on until it is interrupted or
the daemon stops. With --json each line is one JSON value.
` + command.ExitsRead,
		Example: "  turnback events --json",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := d.Events(cmd.Context(), func(e api.Event) error { return writeEvent(cmd.Context(), d, e, asJSON) })
			if errors.Is(err, io.EOF) || cmd.Context().Err() != nil {
				return nil
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON value a line")
	return cmd
}

func writeEvent(ctx context.Context, d command.Deps, e api.Event, asJSON bool) error {
	if !asJSON {
		return d.Format(ctx, "").Event(d.Streams.Out, e)
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	_, err = d.Streams.Out.Write(append(line, '\n'))
	return err
}
