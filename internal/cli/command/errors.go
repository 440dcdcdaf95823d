package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/nearest"
)

// exitInterrupted is the status of a command that a signal ended, as shells have it.
const exitInterrupted = 130

// exitUnread is the status of a command whose output nobody reads any more: that
// of a process which SIGPIPE ended, as shells have it.
const exitUnread = 141

// SilentFailure ends a command with a status; what there is to say was said.
type SilentFailure struct{ Status int }

func (f SilentFailure) Error() string { return "exit status " + strconv.Itoa(f.Status) }

// JSONFailure is an error of a command that speaks JSON without being asked to.
type JSONFailure struct{ Err error }

func (f JSONFailure) Error() string { return f.Err.Error() }
func (f JSONFailure) Unwrap() error { return f.Err }

// LinesFailure is an error of a command that prints lines of JSON when it is asked
// for JSON: the error is one of them.
type LinesFailure struct{ Err error }

func (f LinesFailure) Error() string { return f.Err.Error() }
func (f LinesFailure) Unwrap() error { return f.Err }

// Report prints an error, if there is one, and returns the exit status.
func Report(ctx context.Context, d Deps, err error, asJSON bool) int {
	if err == nil {
		return 0
	}
	if silent, ok := errors.AsType[SilentFailure](err); ok {
		return silent.Status
	}
	if unread(err) {
		return exitUnread
	}
	e := api.AsError(err)
	status := e.Code.ExitStatus()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		e, status = api.Errorf(api.CodeInternal, "stopped by a signal"), exitInterrupted
	}
	if _, lines := errors.AsType[LinesFailure](err); lines && asJSON {
		if writeLine(d.Streams.Out, e) == nil {
			return status
		}
	}
	if _, speaksJSON := errors.AsType[JSONFailure](err); asJSON || speaksJSON {
		if WriteJSON(d.Streams.Out, map[string]*api.Error{"error": e}) == nil {
			return status
		}
	}
	shown := fmt.Sprint(e.Message, e.Hint)
	_, _ = io.WriteString(d.Streams.Err, d.Format(context.WithoutCancel(ctx), shown).Error(e))
	return status
}

// writeLine prints an error as one line among others.
func writeLine(w io.Writer, e *api.Error) error {
	return json.NewEncoder(w).Encode(struct {
		Type string `json:"type"`
		*api.Error
	}{"error", e})
}

// unread reports that the reader of an output has gone, as head does when it has
// enough. Of that nothing is said. A socket that breaks is something else.
func unread(err error) bool {
	file, ok := errors.AsType[*fs.PathError](err)
	return ok && errors.Is(file.Err, syscall.EPIPE)
}

// WantsJSON looks for --json, so that a command line that does not parse is
// answered in JSON too.
func WantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// UsageError is wrong usage of cmd.
func UsageError(cmd *cobra.Command, format string, args ...any) error {
	return api.Errorf(api.CodeInvalidParams, format, args...).WithHint(api.Hint{Command: cmd.CommandPath() + " --help"})
}

// ExactArgs wants one argument for each of names.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return UsageError(cmd, "%s is missing", names[len(args)])
		case len(args) > len(names):
			return UsageError(cmd, "unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// MaxArgs allows up to n arguments.
func MaxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return UsageError(cmd, "unexpected argument %q", args[n])
		}
		return nil
	}
}

// Number reads a checkpoint number.
func Number(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		hint := api.Hint{Param: "n", Accepted: []string{"a whole number from 1 up"}, Command: "turnback checkpoint list"}
		return 0, api.Errorf(api.CodeInvalidParams, "%q is no checkpoint number", arg).WithHint(hint)
	}
	return n, nil
}

// valueError is what a flag says about a value that it does not take, in the
// words of the command line.
func valueError(cmd *cobra.Command, err *pflag.InvalidValueError) error {
	f := err.GetFlag()
	takes := ""
	switch v := f.Value.(type) {
	case *Within:
		takes = v.accepted()
	default:
		switch f.Value.Type() {
		case "int":
			takes = "a whole number"
		case "bool":
			takes = "true or false"
		}
	}
	if takes == "" {
		return UsageError(cmd, "--%s does not take %q", f.Name, err.GetValue())
	}
	return UsageError(cmd, "--%s takes %s, not %q", f.Name, takes, err.GetValue())
}

// Within is a flag that takes a whole number from min to max.
type Within struct {
	Value    *int
	Min, Max int
}

// Set reads the number.
func (w *Within) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < w.Min || n > w.Max {
		return errors.New("it takes " + w.accepted())
	}
	*w.Value = n
	return nil
}

func (w *Within) String() string   { return strconv.Itoa(*w.Value) }
func (w *Within) Type() string     { return "int" }
func (w *Within) accepted() string { return fmt.Sprintf("a whole number from %d to %d", w.Min, w.Max) }

// Given is a flag that takes a text, and none that is empty: a variable of a script
// that is not set would have the choice made for it.
type Given struct{ Value *string }

// Set takes the text.
func (g Given) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*g.Value = text
	return nil
}

func (g Given) String() string { return "" }

// Type is that of a plain text.
func (g Given) Type() string { return "string" }

// OneOf checks a flag that takes one of a few words.
func OneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	hint := api.Hint{Param: flag, Accepted: words, DidYouMean: nearest.Word(value, words)}
	return api.Errorf(api.CodeInvalidParams, "--%s does not take %q", flag, value).WithHint(hint)
}
