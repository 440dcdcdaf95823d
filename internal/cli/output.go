package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/cli/text"
)

// output is how a command prints its result.
type output struct{ json bool }

// addTo adds --json to a command.
func (o *output) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result, or the error, as one JSON value")
}

// printer writes a result of type R for a person.
type printer[R any] func(w io.Writer, f text.Format, r R) error

// invoke runs a verb and prints its result, as JSON or for a person.
func invoke[R any](cmd *cobra.Command, d Deps, o output, verb string, params any, show printer[R]) error {
	raw, err := d.call(cmd.Context(), StartDaemon, verb, params)
	if err != nil {
		return err
	}
	return present(cmd, d, o, raw, show)
}

// present prints a result that is there as JSON already.
func present[R any](cmd *cobra.Command, d Deps, o output, raw json.RawMessage, show printer[R]) error {
	if o.json {
		return writeJSON(d.Streams.Out, raw)
	}
	var r R
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("decode the result: %w", err)
	}
	return show(d.Streams.Out, d.format(cmd.Context(), string(raw)), r)
}

// note tells, beside the result and not in the midst of it, what else a person
// should know. Empty is nothing.
func (d Deps) note(words string) error {
	if words == "" {
		return nil
	}
	_, err := fmt.Fprintf(d.Streams.Err, "note: %s\n", screen.Line(words))
	return err
}

// writeJSON writes one JSON value, indented, and a line feed.
func writeJSON(w io.Writer, value any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
