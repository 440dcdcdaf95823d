// Package mcp has the two MCP servers through which another agent's model
// reaches turnback: one with the tools checkpoint and rewind of its conversation,
// one with the checkpoints of its work tree. They are two, so that an agent which
// lets the model use the first without asking does not let it restore files.
//
// A server keeps nothing: every call goes to the daemon, so it may be ended and
// started again in the middle of a session.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/turnback/turnback/internal/api"
)

// maxLine bounds a message from the client, in bytes: far above the longest
// report that is taken, so that a longer one gets its proper refusal.
const maxLine = 64 << 20

// Caller runs verbs, in the daemon or in this process. An error of a verb is an
// *api.Error.
type Caller interface {
	Call(ctx context.Context, verb string, params, result any, progress func(api.Progress)) error
}

// Options are what a server works with.
type Options struct {
	In      io.ReadCloser  // messages of the client, one JSON value a line
	Out     io.WriteCloser // messages to it, and nothing else
	Caller  Caller
	Version string // of this program
	Dir     string // the client's directory, absolute
	Launch  string // the public id of the launch that this process belongs to; empty: none
	PaneID  string // TURNBACK_PANE_ID; empty: none
	Parents []int  // the process that started this one, its parent, and so on
}

// tool is a tool with what answers a call of it.
type tool struct {
	sdk.Tool
	answer func(context.Context, *sdk.CallToolRequest) (answer, error)
}

// answer is what a call comes to. An error beside it is told to the model as
// well, in its own words.
type answer struct {
	texts   []string
	details any // an object; nil: none
	failed  bool
}

// serve runs a server until the client is gone or ctx ends, which is no error.
func serve(ctx context.Context, o Options, instructions string, tools []tool) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "turnback", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // also where there are none; they never change
	})
	for _, t := range tools {
		server.AddTool(&t.Tool, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			a, err := t.answer(ctx, r)
			if err != nil {
				a = failure(err)
			}
			return a.result(), nil
		})
	}
	wire := newDrain(ctx, o.In, o.Out)
	err := server.Run(ctx, &sdk.IOTransport{Reader: wire, Writer: wire, MaxLineLength: maxLine})
	if err == nil || ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("serve MCP: %w", err)
}

func (a answer) result() *sdk.CallToolResult {
	r := &sdk.CallToolResult{IsError: a.failed, StructuredContent: a.details, Content: []sdk.Content{}}
	for _, text := range a.texts {
		r.Content = append(r.Content, &sdk.TextContent{Text: text})
	}
	return r
}

// failure is an error as a model reads it, with what helps.
func failure(err error) answer {
	e := api.AsError(err)
	text := e.Message
	if e.Hint != nil {
		if e.Hint.Detail != "" {
			text += "\n" + e.Hint.Detail
		}
		if e.Hint.Command != "" {
			text += "\nTo see more: " + e.Hint.Command
		}
	}
	return answer{texts: []string{text}, failed: true}
}

// arguments reads what a model gave a tool. Names that are not known are passed
// over; a value of another type is an error that names it.
func arguments(r *sdk.CallToolRequest, into any) error {
	raw := r.Params.Arguments
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	err := json.Unmarshal(raw, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return api.Errorf(api.CodeInvalidParams, "%s has to be of type %s, not %s", wrong.Field, wrong.Type, wrong.Value)
	}
	if err != nil {
		return api.Errorf(api.CodeInvalidParams, "the arguments are no JSON object")
	}
	return nil
}

// schema is the JSON schema of a tool's arguments.
type schema struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required,omitempty"`
}

type property struct {
	Type        string    `json:"type"`
	Description string    `json:"description"`
	Items       *property `json:"items,omitempty"`
	Minimum     int       `json:"minimum,omitempty"`
}

func object(required []string, properties map[string]property) schema {
	return schema{Type: "object", Properties: properties, Required: required}
}
