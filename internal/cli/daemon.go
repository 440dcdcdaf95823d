package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

func newDaemon(d command.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Start, stop and look at the daemon",
		Long: `The daemon keeps the windows and takes the checkpoints. Commands and hooks start
it when they need it, so there is rarely a reason to call these.`,
		Example: "  turnback daemon status\n  turnback daemon logs -f",
	}
	command.AsGroup(cmd)
	cmd.AddCommand(
		statusCommand(d, "start", "Start the daemon if none runs", command.StartDaemon,
			"Start the daemon if none runs, and show its status.\n"),
		newDaemonStop(d),
		statusCommand(d, "status", "Show the status of the daemon, start none", command.DialOnly,
			"Show the status of the daemon. None is started; without one the status is 3.\n"),
		newDaemonLogs(d), newDaemonRun(d),
	)
	return cmd
}

func newStatus(d command.Deps) *cobra.Command {
	return statusCommand(d, "status", "Show the daemon, its git, its configuration and its files", command.StartDaemon,
		`Show the daemon: process, version, socket, the git program that it uses, the
configuration file and whether it could be used, windows, open turns, saves that
run, and where log and state are. The daemon is started if none runs.
`)
}

func statusCommand(d command.Deps, name, short string, reach command.Reach, long string) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long + command.ExitsRead,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := d.Call(cmd.Context(), reach, "status", api.StatusParams{Version: d.Version.Version})
			if err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.StatusResult) error { return f.Status(w, r) }
			return command.Present(cmd, d, o, raw, show)
		},
	}
	o.AddTo(cmd)
	return cmd
}

func newDaemonRun(d command.Deps) *cobra.Command {
	return &cobra.Command{
		Use:    "run",
		Short:  "Run the daemon in the foreground",
		Hidden: true,
		Args:   command.MaxArgs(0),
		RunE:   func(cmd *cobra.Command, _ []string) error { return d.RunDaemon(cmd.Context()) },
	}
}

// stopped is the result of daemon stop.
type stopped struct {
	Stopped bool `json:"stopped"` // false: none was running
	PID     int  `json:"pid,omitempty"`
}

// stopPatience is how long daemon stop waits for the daemon's end: longer than
// the daemon gives itself for what is mid-turn.
const stopPatience = 45 * time.Second

func newDaemonStop(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon; open turns are saved first",
		Long: `Stop the daemon and wait until it is gone. Turns that are open are saved first.
The next command or hook starts it again.
` + command.ExitsRead,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := stopDaemon(cmd.Context(), d)
			if err != nil {
				return err
			}
			raw, err := json.Marshal(result)
			if err != nil {
				return err
			}
			return command.Present(cmd, d, o, raw, func(w io.Writer, _ text.Format, r stopped) error {
				said := "no daemon is running\n"
				if r.Stopped {
					said = fmt.Sprintf("daemon stopped, pid %d\n", r.PID)
				}
				_, err := io.WriteString(w, said)
				return err
			})
		},
	}
	o.AddTo(cmd)
	return cmd
}

func stopDaemon(ctx context.Context, d command.Deps) (stopped, error) {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	r, err := d.StopDaemon(ctx)
	switch {
	case noDaemon(err):
		return stopped{}, nil
	case errors.Is(err, context.DeadlineExceeded):
		return stopped{}, api.Errorf(api.CodeTimeout, "the daemon, pid %d, did not end within %s", r.PID, stopPatience)
	case err != nil:
		return stopped{}, err
	}
	return stopped{Stopped: true, PID: r.PID}, nil
}

func noDaemon(err error) bool {
	return err != nil && api.AsError(err).Code == api.CodeNoDaemon
}
