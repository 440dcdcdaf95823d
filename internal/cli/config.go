package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
	"github.com/turnback/turnback/internal/config"
)

func newConfig(d command.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Find and check the configuration",
		Long: `The configuration is a TOML file. The daemon reads it when it starts and again
when it changes; a file that cannot be used leaves the last good values in
place, and turnback status says so.

  [agents.checkpoints]
  enabled = true             # false takes no checkpoints
  keep = 50                  # turns per pane, 1 to 1000
  max_untracked_mb = 50      # a larger untracked file is left out (-1: none)
  max_new_untracked_mb = 500 # new untracked bytes in one save
  at_turn_start = true       # also save what changed between two turns
  gone_days = 30             # a pane gone so long keeps only its newest turn
  allow_home = false         # a work tree at $HOME or /`,
	}
	command.AsGroup(cmd)
	cmd.AddCommand(newConfigCheck(d), newConfigPath(d))
	return cmd
}

func newConfigPath(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "path",
		Short: "Print where the configuration file is, or would be",
		Long:  "Print where the configuration file is, or would be.\n\nExit status: 0 done, 1 failed.",
		Args:  command.MaxArgs(0),
		RunE: func(*cobra.Command, []string) error {
			path, err := config.Path(d.Getenv)
			if err != nil {
				return err
			}
			if o.JSON {
				return command.WriteJSON(d.Streams.Out, map[string]string{"path": path})
			}
			_, err = fmt.Fprintln(d.Streams.Out, path)
			return err
		},
	}
	o.AddTo(cmd)
	return cmd
}

// configCheck is the result of config check.
type configCheck struct {
	Path     string           `json:"path"`
	OK       bool             `json:"ok"`
	Problems []config.Problem `json:"problems"`
}

func newConfigCheck(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration file",
		Long: `Check the configuration file and print everything that is wrong with it, with
line and key. A file that is absent is fine: the defaults hold.

Exit status: 0 it can be used, 1 it cannot.`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := checkConfig(d)
			if err != nil {
				return err
			}
			raw, err := json.Marshal(result)
			if err != nil {
				return err
			}
			if err := command.Present(cmd, d, o, raw, showConfigCheck); err != nil {
				return err
			}
			if !result.OK {
				return command.SilentFailure{Status: api.CodeInternal.ExitStatus()}
			}
			return nil
		},
	}
	o.AddTo(cmd)
	return cmd
}

func checkConfig(d command.Deps) (configCheck, error) {
	path, err := config.Path(d.Getenv)
	if err != nil {
		return configCheck{}, err
	}
	result := configCheck{Path: path, OK: true, Problems: []config.Problem{}}
	_, err = config.Load(path)
	if broken, ok := errors.AsType[*config.Error](err); ok {
		result.OK, result.Problems = false, broken.Problems
		return result, nil
	}
	return result, err
}

func showConfigCheck(w io.Writer, f text.Format, r configCheck) error {
	if r.OK {
		_, err := fmt.Fprintf(w, "%s: ok\n", f.Name(r.Path))
		return err
	}
	for _, p := range r.Problems {
		if _, err := fmt.Fprintf(w, "%s: %s\n", f.Name(r.Path), text.Problem(p.String(), p.Accepted)); err != nil {
			return err
		}
	}
	return nil
}
