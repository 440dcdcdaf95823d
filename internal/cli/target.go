package cli

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// target holds the flags that choose a window.
type target struct{ session, window string }

// addTo adds -s and -w to a command, with completion.
func (t *target) addTo(cmd *cobra.Command, d Deps) {
	cmd.Flags().StringVarP(&t.session, "session", "s", "", "session `NAME` of the window")
	cmd.Flags().StringVarP(&t.window, "window", "w", "", "`WINDOW`: its name, its id, or 4 or more characters of its id")
	mustComplete(cmd, "session", d.completeSessions)
	mustComplete(cmd, "window", d.completeWindows(t))
}

// place is where the caller stands and which window it means. dir, if not
// empty, stands for the working directory.
func (d Deps) place(t target, dir string) (api.Place, error) {
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
	p := api.Place{Session: t.session, Window: t.window, Dir: here, PaneID: d.Getenv("TURNBACK_PANE_ID")}
	if d.Terminal != nil {
		p.TerminalKeys = d.Terminal()
	}
	return p, nil
}

// placeOfWriter is place with the processes above the caller: an agent may
// restore its own window in the middle of its turn.
func (d Deps) placeOfWriter(t target) (api.Place, error) {
	p, err := d.place(t, "")
	if err == nil && d.Parents != nil {
		p.Ancestors = d.Parents()
	}
	return p, err
}

// mustComplete registers a completion; it fails only for a flag that does not exist.
func mustComplete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

// windows asks a daemon that listens; completion never starts one.
func (d Deps) windows(cmd *cobra.Command) []api.WindowInfo {
	var r api.ListWindowsResult
	if d.callInto(cmd.Context(), DialOnly, "list-windows", nil, &r) != nil {
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

func (d Deps) completeWindows(t *target) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, w := range d.windows(cmd) {
			if t.session != "" && w.Session != t.session {
				continue
			}
			about := screen.Line(fmt.Sprintf("%s, %s, in %s", w.ID, w.State, w.Worktree))
			names = append(names, cobra.CompletionWithDesc(screen.Line(w.Name), about))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNumbers completes up to most checkpoint numbers with their labels.
func (d Deps) completeNumbers(t *target, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		place, err := d.place(*t, "")
		if err != nil || most > 0 && len(args) >= most {
			return nil, none
		}
		var r api.ListCheckpointsResult
		if d.callInto(cmd.Context(), DialOnly, "list-checkpoints", api.ListCheckpointsParams{Place: place}, &r) != nil {
			return nil, none
		}
		var numbers []string
		for _, c := range r.Checkpoints {
			numbers = append(numbers, cobra.CompletionWithDesc(strconv.Itoa(c.N), screen.Line(c.Label)))
		}
		return numbers, none | cobra.ShellCompDirectiveKeepOrder
	}
}
