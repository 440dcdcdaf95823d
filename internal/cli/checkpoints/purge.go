package checkpoints

import (
	"encoding/base64"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

func newPurge(d command.Deps) *cobra.Command {
	var (
		o    command.Output
		p    api.PurgeCheckpointsParams
		path string
	)
	cmd := &cobra.Command{
		Use:   "purge --path PATH",
		Short: "Take a path out of every checkpoint",
		Long: `Take a file, or a folder with all in it, out of every checkpoint of this
repository: of all panes, in the trash, out of what is kept beside them and of the
bases of turns. For a secret that got into them, say. Numbers, labels and times
stay; restoring one leaves the path alone from then on. There is no way back.
Copies of agents' transcripts that may hold something of it are removed whole.
Sessions of turnback's own agent, and goals and reports that other agents gave,
stay; those that may hold something of it are named.

The output tells where its bytes can still be reached: branches, reflogs, the
index. Objects that nothing reaches stay until git's next gc; --now removes them.
` + command.ExitsWrite,
		Example: `  turnback checkpoint purge --path secret.env --dry-run
  turnback checkpoint purge --path secret.env --now`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			switch {
			case path == "":
				return command.UsageError(cmd, "--path is missing")
			case utf8.ValidString(path):
				p.Path = path
			default:
				p.PathBase64 = base64.StdEncoding.EncodeToString([]byte(path))
			}
			if p.Place, err = d.PlaceOfWriter(command.Target{}); err != nil {
				return err
			}
			show := func(w io.Writer, f text.Format, r api.PurgeCheckpointsResult) error { return f.Purged(w, r) }
			return command.Invoke(cmd, d, o, "purge-checkpoints", p, show)
		},
	}
	f := cmd.Flags()
	f.StringVar(&path, "path", "", "the file or folder `PATH`, relative to the root of the work tree")
	f.BoolVar(&p.Now, "now", false, "remove the objects too, as far as nothing can reach them")
	f.BoolVar(&p.DryRun, "dry-run", false, "say what would be purged, and change nothing")
	f.BoolVar(&p.Force, "force", false, "also while an agent works in a work tree of the repository")
	o.AddTo(cmd)
	return cmd
}
