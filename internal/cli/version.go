package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

// release is the version of a build that carries none of its own.
const release = "0.1.0-dev"

// VersionOf is the version of the program that info describes; nil: nothing is
// known about it.
func VersionOf(info *debug.BuildInfo) command.Version {
	v := command.Version{Version: release, Go: runtime.Version()}
	if info == nil {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = s.Value[:min(len(s.Value), 12)] + v.Commit
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Commit += " with changes"
		}
	}
	return v
}

func newVersion(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print the version of this program, the commit it was built from, and its Go.",
		Args:  command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := json.Marshal(d.Version)
			if err != nil {
				return err
			}
			return command.Present(cmd, d, o, raw, func(w io.Writer, _ text.Format, v command.Version) error {
				commit := v.Commit
				if commit != "" {
					commit += ", "
				}
				_, err := fmt.Fprintf(w, "turnback %s (%s%s)\n", v.Version, commit, v.Go)
				return err
			})
		},
	}
	o.AddTo(cmd)
	return cmd
}
