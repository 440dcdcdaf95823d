// Package tool has what our agent can do in a work tree: read, write, edit, run,
// search. Each tool takes arguments as a model wrote them and gives back text.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
)

// Names of the tools that the loop has a hand in itself.
const (
	Task      = "task"
	FindTools = "find_tools"
)

// Tool is one tool.
type Tool struct {
	provider.Tool
	// Writes says that it can change files: calls of it run one after another, in
	// the order of the model's, and the work tree is saved before.
	Writes bool
	// Hidden tools are offered once find_tools has found them.
	Hidden bool
	// Line tells a call in one line, for a person.
	Line func(args json.RawMessage) string
	// Paths are the files that a call names, absolute; nil: none.
	Paths func(args json.RawMessage) []string
	// Run does it. An error is what the model reads in place of a result.
	Run func(ctx context.Context, call Call) (Result, error)
}

// Call is a call of a tool.
type Call struct {
	ID        string
	Arguments json.RawMessage
}

// Result is what a tool gave.
type Result struct {
	Parts []session.Part // texts and images
	Loads []string       // tools that the model can call from now on
}

// Said is a result of one text.
func Said(format string, args ...any) Result {
	return Result{Parts: []session.Part{session.Text(fmt.Sprintf(format, args...))}}
}

// Ask is a question to the person: may this be done?
type Ask struct {
	Tool string // whose calls an "always" is about
	Line string // what is about to be done, in one line
	// Whole is all of it, where the line leaves something out that the person has
	// to see; else empty.
	Whole string
	// Diff shows what changes in a file; nil: no file tool asks.
	Diff func() string
	// Outside says that it reaches out of the work tree.
	Outside bool
}

// ErrDenied is for what the person does not want to be done.
var ErrDenied = errors.New("the user does not want this to be done; ask what to do instead")

// decode reads the arguments of a call. Those that are not known are an error
// that the model can learn from.
func decode(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("the arguments are not as the tool takes them: %w", err)
	}
	return nil
}

// field is one text of a call's arguments; empty when it is not there.
func field(raw json.RawMessage, name string) string {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	text, _ := fields[name].(string)
	return text
}

// schema is an object of texts.
func schema(required []string, names ...string) json.RawMessage {
	properties := map[string]any{}
	for i := 0; i+1 < len(names); i += 2 {
		properties[names[i]] = map[string]string{"type": "string", "description": names[i+1]}
	}
	raw, _ := json.Marshal(map[string]any{ // plain texts always encode
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	return raw
}

// Schema is that of a tool that takes one text.
func Schema(name, description string) json.RawMessage {
	return schema([]string{name}, name, description)
}
