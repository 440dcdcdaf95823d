package checkpoints

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/command"
)

// selection is the window that a command is about, and which of its files.
type selection struct {
	command.Target
	paths []string
}

func (s *selection) addTo(cmd *cobra.Command, d command.Deps) {
	s.Target.AddTo(cmd, d)
	cmd.Flags().StringArrayVar(&s.paths, "path", nil, "only the file or folder `PATH`, relative to the root of the work tree (may be repeated)")
}

// wirePaths divides the paths into those that JSON can hold as they are and, in
// base64, those that are not UTF-8.
func (s *selection) wirePaths() (text, raw []string) {
	for _, p := range s.paths {
		if utf8.ValidString(p) {
			text = append(text, p)
		} else {
			raw = append(raw, base64.StdEncoding.EncodeToString([]byte(p)))
		}
	}
	return text, raw
}

// addCare adds the flags of all commands that change the work tree. here says what
// --here allows.
func addCare(cmd *cobra.Command, dryRun, force, hereToo, overwrite *bool, here string) {
	f := cmd.Flags()
	f.BoolVar(dryRun, "dry-run", false, "say what would be written, removed and kept, and change nothing")
	f.BoolVar(force, "force", false, "also while an agent works in the work tree")
	f.BoolVar(hereToo, "here", false, here)
	f.BoolVar(overwrite, "overwrite", false, "also over files that git ignores; the safety checkpoint holds them")
}

// addWhose adds the flags about files that other panes changed; when says when they
// did. A command checks them with pickOne.
func addWhose(cmd *cobra.Command, mine, allPanes *bool, when string) {
	f := cmd.Flags()
	f.BoolVar(mine, "mine", false, "only this pane's files, where other panes changed some "+when)
	f.BoolVar(allPanes, "all-panes", false, "all files, also those that other panes changed "+when)
}

// addEdits adds the flags about edits since. A command checks them with pickOne.
func addEdits(cmd *cobra.Command, keep, discard *bool) {
	f := cmd.Flags()
	f.BoolVar(keep, "keep-edits", false, "keep what was edited since")
	f.BoolVar(discard, "discard-edits", false, "go back also where files were edited since")
}

// pickOne refuses two flags that exclude each other.
func pickOne(cmd *cobra.Command, a, b string) error {
	given := func(name string) bool { return cmd.Flags().Lookup(name).Value.String() == "true" }
	if given(a) && given(b) {
		return command.UsageError(cmd, "--%s and --%s exclude each other", a, b)
	}
	return nil
}
