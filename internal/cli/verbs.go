package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

func newListVerbs(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "list-verbs",
		Short: "List what the daemon can be asked",
		Long: `List the verbs of the daemon: the grant that each needs, what it does, and its
parameters, in brackets those that may be left out. PLACE stands for those that
say which window is meant: session, window, dir, pane_id, terminal_keys and
ancestors. --json has all of them, with types, errors and examples.
` + command.ExitsRead,
		Example: "  turnback list-verbs\n  turnback list-verbs --json",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			show := func(w io.Writer, f text.Format, r api.ListVerbsResult) error { return f.Verbs(w, r) }
			return command.Invoke(cmd, d, o, "list-verbs", struct{}{}, show)
		},
	}
	o.AddTo(cmd)
	return cmd
}

func newCall(d command.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call VERB [JSON]",
		Short: "Run a verb and print its result as JSON",
		Long: `Run a verb of the daemon with the parameters of a JSON object (- reads it from
stdin; without it, there are none) and print the result, or the error, as one
JSON value. Nothing is filled in: a verb about a window wants "dir", or
"session" and "window".
` + command.ExitsWrite,
		Example: `  turnback call status
  turnback call list-checkpoints '{"dir":"/home/u/src/api","window":"build"}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.UsageError(cmd, "the verb is missing")
			}
			return command.MaxArgs(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			params, err := callParams(d, args[1:])
			if err != nil {
				return command.JSONFailure{Err: err}
			}
			raw, err := d.Call(cmd.Context(), command.StartDaemon, args[0], params)
			if err != nil {
				return command.JSONFailure{Err: err}
			}
			return command.WriteJSON(d.Streams.Out, raw)
		},
	}
	cmd.Flags().Bool("json", true, "the result is always JSON")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var r api.ListVerbsResult
		if len(args) > 0 || d.CallInto(cmd.Context(), command.DialOnly, "list-verbs", struct{}{}, &r) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, v := range r.Verbs {
			names = append(names, cobra.CompletionWithDesc(v.Name, v.Summary))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// callParams checks that the parameters are one JSON object. The verb checks
// the rest.
func callParams(d command.Deps, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	data := []byte(args[0])
	if args[0] == "-" {
		var err error
		if data, err = io.ReadAll(io.LimitReader(d.Streams.In, api.MaxBody+1)); err != nil {
			return nil, fmt.Errorf("read the parameters: %w", err)
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		hint := api.Hint{Accepted: []string{`a JSON object, such as {"dir":"/src/api"}`}, Command: "turnback list-verbs"}
		return nil, api.Errorf(api.CodeInvalidParams, "the parameters are no JSON object").WithHint(hint)
	}
	return bytes.TrimSpace(data), nil
}
