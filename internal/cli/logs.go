package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
)

func newDaemonLogs(d command.Deps) *cobra.Command {
	var (
		count  int
		follow bool
	)
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Print the daemon's log",
		Long: `Print the newest lines of the daemon's log: JSON, one record a line, without
prompts and without environment variables. No daemon is needed.

Exit status: 0 done, 1 failed, 2 wrong usage.`,
		Example: "  turnback daemon logs -n 20\n  turnback daemon logs -f",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 0 {
				return command.UsageError(cmd, "--lines does not take %d", count)
			}
			path, err := d.LogFile()
			if err != nil {
				return err
			}
			return printLog(cmd.Context(), d.Streams, path, count, follow)
		},
	}
	cmd.Flags().IntVarP(&count, "lines", "n", 100, "print the last `N` lines; 0: all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	return cmd
}

const logLook = 200 * time.Millisecond

func printLog(ctx context.Context, s screen.Streams, path string, count int, follow bool) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !follow {
		return api.Errorf(api.CodeInternal, "there is no log yet: %s", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the log: %w", err)
	}
	if err := writeLog(s, lastLines(data, count)); err != nil || !follow {
		return err
	}
	for at := int64(len(data)); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logLook):
		}
		if at, err = moreLog(s, path, at); err != nil {
			return err
		}
	}
}

// moreLog writes what the file has from at on, and returns where it ended. A
// file that became shorter was rotated, and is read from its start.
func moreLog(s screen.Streams, path string, at int64) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return at, fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < at {
		at = 0
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return at, fmt.Errorf("read the log: %w", err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return at, fmt.Errorf("read the log: %w", err)
	}
	return at + int64(len(data)), writeLog(s, data)
}

func writeLog(s screen.Streams, data []byte) error {
	shown := string(data)
	if s.OutTerminal {
		shown = screen.Block(shown)
	}
	_, err := io.WriteString(s.Out, shown)
	return err
}

func lastLines(data []byte, count int) []byte {
	if count == 0 {
		return data
	}
	at := len(data)
	for ; count > 0 && at > 0; count-- {
		at = bytes.LastIndexByte(data[:at-1], '\n') + 1
	}
	return data[at:]
}
