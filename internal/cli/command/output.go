package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/cli/text"
)

// Exit statuses, as each command's help lists them.
const (
	ExitsRead = `
Exit status: 0 done, 1 failed, 2 wrong usage, 3 no daemon could be had.`
	ExitsWrite = `
Exit status: 0 done, 1 failed, 2 wrong usage, 3 no daemon could be had,
4 refused; a refusal changes nothing.`
)

// Output is how a command prints its result.
type Output struct{ JSON bool }

// AddTo adds --json to a command.
func (o *Output) AddTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print the result, or the error, as one JSON value")
}

// Printer writes a result of type R for a person.
type Printer[R any] func(w io.Writer, f text.Format, r R) error

// Invoke runs a verb and prints its result, as JSON or for a person.
func Invoke[R any](cmd *cobra.Command, d Deps, o Output, verb string, params any, show Printer[R]) error {
	raw, err := d.Call(cmd.Context(), StartDaemon, verb, params)
	if err != nil {
		return err
	}
	return Present(cmd, d, o, raw, show)
}

// Present prints a result that is there as JSON already.
func Present[R any](cmd *cobra.Command, d Deps, o Output, raw json.RawMessage, show Printer[R]) error {
	if o.JSON {
		return WriteJSON(d.Streams.Out, raw)
	}
	var r R
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("decode the result: %w", err)
	}
	return show(d.Streams.Out, d.Format(cmd.Context(), string(raw)), r)
}

// Note tells, beside the result and not in the midst of it, what else a person
// should know. Empty is nothing.
func (d Deps) Note(words string) error {
	if words == "" {
		return nil
	}
	_, err := fmt.Fprintf(d.Streams.Err, "note: %s\n", screen.Line(words))
	return err
}

// WriteJSON writes one JSON value, indented, and a line feed.
func WriteJSON(w io.Writer, value any) error {
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
