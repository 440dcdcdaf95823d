package command

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/nearest"
)

// AsGroup makes cmd a holder of other commands: alone it prints its help, and an
// unknown command below it is wrong usage.
func AsGroup(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		hint := api.Hint{DidYouMean: nearest.Word(args[0], names), Command: cmd.CommandPath() + " --help"}
		return api.Errorf(api.CodeInvalidParams, "%s has no command %q", cmd.CommandPath(), args[0]).WithHint(hint)
	}
	return cmd
}

// FlagError turns what the flag parser says into wrong usage with a hint.
func FlagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return valueError(cmd, wrong)
	}
	hint := api.Hint{Command: cmd.CommandPath() + " --help"}
	if name, found := strings.CutPrefix(err.Error(), "unknown flag: --"); found {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest.Word(name, names); near != "" {
			hint.DidYouMean = "--" + near
		}
	}
	return api.Errorf(api.CodeInvalidParams, "%s", err.Error()).WithHint(hint)
}
