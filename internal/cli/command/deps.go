// Package command is what every command of the command line is made with: what it
// needs from outside, the flags that several share, how it calls a verb, prints a
// result, and ends in an error.
package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/cli/text"
)

// Caller runs verbs, in the daemon or in this process. An error of a verb is an
// *api.Error. progress may be nil.
type Caller interface {
	Call(ctx context.Context, verb string, params, result any, progress func(api.Progress)) error
}

// Reach says how far a command goes to find a daemon.
type Reach int

// The ways to a daemon.
const (
	StartDaemon Reach = iota // start one when none listens; else in-process where the verb allows it
	DialOnly                 // talk to one that listens; else no_daemon
)

// Deps is what the commands need from outside. Main fills it.
type Deps struct {
	Streams  screen.Streams
	Environ  []string
	Getenv   func(string) string
	Dir      func() (string, error) // the working directory, absolute
	Now      func() time.Time       // its location is the person's time zone
	Version  Version
	Terminal func() []string // keys of the terminal that the caller runs in, best first
	Parents  func() []int    // the process that called this one, its parent, and so on

	Connect    func(context.Context, Reach) (Caller, error)
	Events     func(context.Context, func(api.Event) error) error  // starts a daemon when none listens
	StopDaemon func(context.Context) (api.StopDaemonResult, error) // returns when it is gone
	RunDaemon  func(context.Context) error
	LogFile    func() (string, error) // the daemon's log
	Tour       func(context.Context, TourOptions) error
	Git        func(context.Context) (Git, error)                // the git that would be used
	GitSetting func(ctx context.Context, dir, key string) string // a value of git's configuration; empty: not set
	Page       func(ctx context.Context, pager string, in io.Reader) error

	Agent func(context.Context, AgentFlags) error // runs our own agent to its end

	AgentChecks func() []Finding // what doctor finds out about the agents
	Commands    []*cobra.Command // commands that are built elsewhere: hook, setup
}

// Version is what is known about this build.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// Git is a git program.
type Git struct {
	Path    string
	Version string
	Oldest  string // the oldest version that will do; set with an error too
}

// TourOptions are the options of the tour command.
type TourOptions struct {
	Straight bool // do not wait for Enter between the steps
}

// AgentFlags are the options of the agent command.
type AgentFlags struct {
	Prompt       string
	Model        string
	Resume       string
	Continue     bool
	Fork         bool
	JSON         bool
	Yes          bool
	Conversation bool
	RewindFiles  bool
}

// Args gives the options as they stand on a command line.
func (f AgentFlags) Args() []string {
	var args []string
	for _, o := range []struct{ name, value string }{{"prompt", f.Prompt}, {"model", f.Model}, {"resume", f.Resume}} {
		if o.value != "" {
			args = append(args, "--"+o.name+"="+o.value)
		}
	}
	for _, o := range []struct {
		name string
		set  bool
	}{
		{"continue", f.Continue},
		{"fork", f.Fork},
		{"json", f.JSON},
		{"yes", f.Yes},
		{"conversation", f.Conversation},
		{"rewind-files", f.RewindFiles},
	} {
		if o.set {
			args = append(args, "--"+o.name)
		}
	}
	return args
}

// Call runs a verb and returns its result as the JSON that came.
func (d Deps) Call(ctx context.Context, reach Reach, verb string, params any) (json.RawMessage, error) {
	caller, err := d.Connect(ctx, reach)
	if err != nil {
		return nil, err
	}
	line := screen.NewProgress(d.Streams.Err, d.Streams.ErrTerminal, d.Now)
	defer line.Done()
	var raw json.RawMessage
	err = caller.Call(ctx, verb, params, &raw, func(p api.Progress) { line.Update(p.What, p.Done, p.Total) })
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// CallInto is Call with the result decoded.
func (d Deps) CallInto(ctx context.Context, reach Reach, verb string, params, result any) error {
	raw, err := d.Call(ctx, reach, verb, params)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("decode the result of %s: %w", verb, err)
	}
	return nil
}

// Format is how to write a text that holds shown. git's core.quotePath is asked
// only when there is a name that it is about.
func (d Deps) Format(ctx context.Context, shown string) text.Format {
	f := text.Format{Now: d.Now(), QuoteAll: true}
	if !screen.HasHigh(shown) || d.GitSetting == nil {
		return f
	}
	dir, err := d.Dir()
	if err != nil {
		return f
	}
	switch d.GitSetting(ctx, dir, "core.quotepath") {
	case "false", "no", "off", "0":
		f.QuoteAll = false
	}
	return f
}
