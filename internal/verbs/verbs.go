// Package verbs is the table of everything that can be asked of turnback: a
// name, the grant it needs, its parameters, result and errors, and the function
// that answers. The daemon serves the table over its socket; a command without a
// daemon runs the same functions in its own process.
package verbs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/nearest"
)

// The grants. A verb that is only ever about the caller's own pane has GrantOwn.
const (
	GrantOwn   = ""
	GrantRead  = "read"
	GrantWrite = "write"
	GrantAdmin = "admin"
)

// Verb is one row of the table.
type Verb struct {
	Name    string     // kebab-case
	Grant   string     // one of the Grant constants
	Summary string     // one line, for list-verbs and the docs
	Params  func() any // makes a pointer to an empty parameter struct; nil: none
	Errors  []string   // the codes it can fail with, besides invalid_params and internal
	Example string     // parameters as JSON

	// Run answers a call. The result is a value that encoding/json takes, and
	// its error best an *api.Error. It may be called by several goroutines at
	// once and must return soon after ctx ends.
	Run func(ctx context.Context, call Call) (any, error)
}

// Call is what a verb is asked.
type Call struct {
	Params   any                // the pointer that Verb.Params made, filled in
	Progress func(api.Progress) // never nil; may be called by one goroutine at a time, until Run returns
}

// Table holds verbs by name. It does not change once made.
type Table struct {
	byName map[string]Verb
	names  []string // sorted
}

// NewTable makes a table. A verb that is not wholly described, or has the name
// of another, is an error.
func NewTable(all ...Verb) (*Table, error) {
	t := &Table{byName: make(map[string]Verb, len(all))}
	for _, v := range all {
		if err := v.check(); err != nil {
			return nil, fmt.Errorf("verb %q: %w", v.Name, err)
		}
		if _, taken := t.byName[v.Name]; taken {
			return nil, fmt.Errorf("verb %q stands twice in the table", v.Name)
		}
		t.byName[v.Name] = v
		t.names = append(t.names, v.Name)
	}
	slices.Sort(t.names)
	return t, nil
}

func (v Verb) check() error {
	grants := []string{GrantOwn, GrantRead, GrantWrite, GrantAdmin}
	switch {
	case v.Name == "" || strings.Trim(v.Name, "abcdefghijklmnopqrstuvwxyz-") != "":
		return fmt.Errorf("not a verb's name")
	case !slices.Contains(grants, v.Grant):
		return fmt.Errorf("no such grant: %q", v.Grant)
	case v.Summary == "":
		return fmt.Errorf("no summary")
	case v.Run == nil:
		return fmt.Errorf("nothing to run")
	}
	if v.Params != nil {
		if _, err := fieldsOf(v.Params()); err != nil {
			return err
		}
	}
	if v.Example != "" {
		if err := Decode([]byte(v.Example), v.params()); err != nil {
			return fmt.Errorf("its example: %w", err)
		}
	}
	return nil
}

func (v Verb) params() any {
	if v.Params == nil {
		return &struct{}{}
	}
	return v.Params()
}

// Names lists the verbs, sorted.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// Lookup finds a verb; the error is unknown_verb with the nearest name.
func (t *Table) Lookup(name string) (Verb, error) {
	v, ok := t.byName[name]
	if !ok {
		e := api.Errorf(api.CodeUnknownVerb, "there is no verb %q", name)
		return v, e.WithHint(api.Hint{
			Command:    "turnback list-verbs",
			DidYouMean: nearest.Word(name, t.names),
		})
	}
	return v, nil
}

// Run decodes data, a JSON object, strictly into the parameters of the verb
// called name, and runs it. progress may be nil. The error is always an
// *api.Error; a result is never nil.
func (t *Table) Run(ctx context.Context, name string, data []byte, progress func(api.Progress)) (any, error) {
	v, err := t.Lookup(name)
	if err != nil {
		return nil, err
	}
	call := Call{Params: v.params(), Progress: progress}
	if call.Progress == nil {
		call.Progress = func(api.Progress) {}
	}
	if err := Decode(data, call.Params); err != nil {
		return nil, err
	}
	result, err := v.Run(ctx, call)
	if err != nil {
		return nil, api.AsError(err)
	}
	if result == nil {
		result = struct{}{}
	}
	return result, nil
}

// List describes every verb, sorted by name.
func (t *Table) List() []api.VerbInfo {
	out := make([]api.VerbInfo, 0, len(t.names))
	for _, name := range t.names {
		v := t.byName[name]
		fields, err := fieldsOf(v.params())
		if err != nil {
			panic(err) // NewTable took it, so it has fields
		}
		info := api.VerbInfo{Name: v.Name, Grant: v.Grant, Summary: v.Summary, Errors: v.Errors, Example: v.Example}
		info.Params = append([]api.Field{}, fields...)
		out = append(out, info)
	}
	return out
}
