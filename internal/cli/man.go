package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/manpage"
)

func newMan(d command.Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a folder",
		Long: `Write a manual page for turnback and for each of its commands into DIR, which is
made if it is absent.

Exit status: 0 done, 1 failed, 2 wrong usage.`,
		Example: "  turnback man ~/.local/share/man/man1\n  man turnback-checkpoint-restore",
		Args:    command.ExactArgs("the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make the folder: %w", err)
			}
			pages := manpage.Pages(cmd.Root(), d.Version.Version)
			for _, p := range pages {
				if err := os.WriteFile(filepath.Join(args[0], p.Name), []byte(p.Text), 0o644); err != nil {
					return fmt.Errorf("write a page: %w", err)
				}
			}
			_, err := fmt.Fprintf(d.Streams.Out, "%d manual pages written to %s\n", len(pages), args[0])
			return err
		},
	}
}
