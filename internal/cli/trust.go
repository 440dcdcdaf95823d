package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/cli/text"
)

// trustOptions are the flags of trust.
type trustOptions struct {
	command.Output
	show, remove, yes bool
}

func newTrust(d command.Deps) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Let filter programs of this repository run",
		Long: `A filter (filter=NAME in .gitattributes) is a program that git runs on the content
of files: Git LFS, git-crypt and others. Those of your own and the system's
configuration run when files are saved and restored. One that this repository's
own configuration defines does not, for it may have come with the repository: its
files are left out once they change. This lets the filters that are shown run, in
this repository, with these very programs and no others.

In a terminal they are shown and you are asked; without a terminal, with --yes or
with --json, they are trusted at once. --show only shows them. --remove takes back
all that was trusted in this repository.
` + command.ExitsWrite,
		Example: "  turnback trust --show\n  turnback trust\n  turnback trust --remove",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := d.Place(command.Target{}, "")
			if err != nil {
				return err
			}
			switch {
			case o.show && o.remove:
				return command.UsageError(cmd, "--show and --remove exclude each other")
			case o.show:
				return command.Invoke(cmd, d, o.Output, "list-filters", api.ListFiltersParams{Place: place}, showFilters)
			case o.remove:
				return command.Invoke(cmd, d, o.Output, "distrust-filters", api.ListFiltersParams{Place: place}, showDistrusted)
			}
			return trustFilters(cmd, d, o, place)
		},
	}
	cmd.Flags().BoolVar(&o.show, "show", false, "show the filters and which of them may run")
	cmd.Flags().BoolVar(&o.remove, "remove", false, "trust none of them any more")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	o.AddTo(cmd)
	return cmd
}

func showFilters(w io.Writer, f text.Format, r api.FiltersResult) error { return f.Filters(w, r) }

func showDistrusted(w io.Writer, f text.Format, r api.FiltersResult) error {
	said := "Nothing was trusted in " + f.Name(r.Worktree) + ".\n"
	if r.Changed {
		said = "No filter of the configuration of " + f.Name(r.Worktree) + " is trusted any more.\n"
	}
	_, err := io.WriteString(w, said)
	return err
}

// trustFilters shows what is to be trusted, asks, and has it trusted.
func trustFilters(cmd *cobra.Command, d command.Deps, o trustOptions, place api.Place) error {
	var seen api.FiltersResult
	if err := d.CallInto(cmd.Context(), command.StartDaemon, "list-filters", api.ListFiltersParams{Place: place}, &seen); err != nil {
		return err
	}
	params := api.TrustFiltersParams{Place: place, Filters: []api.FilterDriver{}}
	waiting := slices.DeleteFunc(slices.Clone(seen.Filters), func(f api.Filter) bool { return f.Runs })
	for _, f := range seen.Filters {
		if f.Trusted || !f.Runs {
			params.Filters = append(params.Filters, f.FilterDriver)
		}
	}
	if len(waiting) > 0 && d.Streams.InTerminal && d.Streams.OutTerminal && !o.yes && !o.JSON {
		agreed, err := askTrust(cmd, d, api.FiltersResult{Worktree: seen.Worktree, Filters: waiting})
		if err != nil || !agreed {
			return err
		}
	}
	show := func(w io.Writer, f text.Format, _ api.FiltersResult) error {
		return tellTrusted(w, f, seen.Worktree, waiting)
	}
	return command.Invoke(cmd, d, o.Output, "trust-filters", params, show)
}

// askTrust shows the filters and waits for an answer; anything but yes means no.
func askTrust(cmd *cobra.Command, d command.Deps, r api.FiltersResult) (bool, error) {
	if err := d.Format(cmd.Context(), r.Worktree).FilterPrograms(d.Streams.Out, r); err != nil {
		return false, err
	}
	agreed, err := screen.Confirm(d.Streams, "Let these programs run in this repository?")
	if err != nil || agreed {
		return agreed, err
	}
	_, err = fmt.Fprintln(d.Streams.Out, "Nothing is trusted that was not before.")
	return false, err
}

func tellTrusted(w io.Writer, f text.Format, worktree string, trusted []api.Filter) error {
	if len(trusted) == 0 {
		_, err := fmt.Fprintf(w, "No filter for %s waits for trust.\n", f.Name(worktree))
		return err
	}
	names := make([]string, 0, len(trusted))
	for _, x := range trusted {
		names = append(names, screen.Line(x.Name))
	}
	_, err := fmt.Fprintf(w, "Trusted in %s: %s\n", f.Name(worktree), strings.Join(names, ", "))
	return err
}
