package command

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Target holds the flags that choose a window.
type Target struct{ Session, Window string }

// AddTo adds -s and -w to a command, with completion.
func (t *Target) AddTo(cmd *cobra.Command, d Deps) {
	cmd.Flags().VarP(Given{&t.Session}, "session", "s", "session `NAME` of the window")
	cmd.Flags().VarP(Given{&t.Window}, "window", "w", "`WINDOW`: its name, its id, or 4 or more characters of its id")
	MustComplete(cmd, "session", d.completeSessions)
	MustComplete(cmd, "window", d.completeWindows(t))
}

// Place is where the caller stands and which window it means. dir, if not
// empty, stands for the working directory.
func (d Deps) Place(t Target, dir string) (api.Place, error) {
	here, err := d.Dir()
	if err != nil {
		return api.Place{}, fmt.Errorf("find the working directory: %w", err)
	}
	if dir != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(here, dir)
	}
	if dir != "" {
		here = filepath.Clean(dir)
	}
	p := api.Place{Session: t.Session, Window: t.Window, Dir: here, PaneID: d.Getenv("TURNBACK_PANE_ID")}
	if d.Terminal != nil {
		p.TerminalKeys = d.Terminal()
	}
	return p, nil
}

// PlaceOfWriter is Place with the processes above the caller: an agent may
// restore its own window in the middle of its turn.
func (d Deps) PlaceOfWriter(t Target) (api.Place, error) {
	p, err := d.Place(t, "")
	if err == nil && d.Parents != nil {
		p.Ancestors = d.Parents()
	}
	return p, err
}

// MustComplete registers a completion; it fails only for a flag that does not exist.
func MustComplete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

// windows asks a daemon that listens; completion never starts one.
func (d Deps) windows(cmd *cobra.Command) []api.WindowInfo {
	var r api.ListWindowsResult
	if d.CallInto(cmd.Context(), DialOnly, "list-windows", nil, &r) != nil {
		return nil
	}
	return r.Windows
}

func (d Deps) completeSessions(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	seen := map[string]bool{}
	for _, w := range d.windows(cmd) {
		if !seen[w.Session] {
			seen[w.Session] = true
			names = append(names, cobra.CompletionWithDesc(screen.Line(w.Session), screen.Line(w.Worktree)))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (d Deps) completeWindows(t *Target) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, w := range d.windows(cmd) {
			if t.Session != "" && w.Session != t.Session {
				continue
			}
			about := screen.Line(fmt.Sprintf("%s, %s, in %s", w.ID, w.State, w.Worktree))
			names = append(names, cobra.CompletionWithDesc(screen.Line(w.Name), about))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteNumbers completes up to most checkpoint numbers (0: any number of them)
// with their labels.
func (d Deps) CompleteNumbers(t *Target, most int) cobra.CompletionFunc {
	return d.completeNumbers(t, most, false)
}

// CompleteTrash completes the numbers of checkpoints in the trash.
func (d Deps) CompleteTrash(t *Target) cobra.CompletionFunc { return d.completeNumbers(t, 0, true) }

func (d Deps) completeNumbers(t *Target, most int, trash bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		place, err := d.Place(*t, "")
		if err != nil || most > 0 && len(args) >= most {
			return nil, none
		}
		var r api.ListCheckpointsResult
		if d.CallInto(cmd.Context(), DialOnly, "list-checkpoints", api.ListCheckpointsParams{Place: place, Trash: trash}, &r) != nil {
			return nil, none
		}
		var numbers []string
		for _, c := range r.Checkpoints {
			numbers = append(numbers, cobra.CompletionWithDesc(strconv.Itoa(c.N), screen.Line(c.Label)))
		}
		return numbers, none | cobra.ShellCompDirectiveKeepOrder
	}
}
