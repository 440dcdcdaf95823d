// Package connect gets a command or a hook to the verbs: through the daemon that
// listens, through one that it starts, or, for what needs no daemon, in the own
// process.
package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/verbs"
)

// How long a daemon is waited for, when Options do not say otherwise.
const (
	defaultStartWait = 3 * time.Second
	defaultReadWait  = 10 * time.Second
	defaultStopWait  = time.Minute
)

// tries is how often a call is sent to daemons that are about to stop: another is
// started, or waited for, in between.
const tries = 3

// Caller runs verbs, wherever they run.
type Caller interface {
	// Call runs verb with params, which is encoded as a JSON object (nil: none),
	// and decodes the result into result (nil: thrown away). progress may be
	// nil; it is not called after Call has returned. A failure of the verb is an
	// *api.Error; so is "no daemon", with CodeNoDaemon.
	Call(ctx context.Context, verb string, params, result any, progress func(api.Progress)) error
}

// Options say what Connect may do and with what.
type Options struct {
	Environ    []string // the caller's environment, as os.Environ gives it
	UID        int      // the user
	Executable string   // turnback's own program, absolute; empty: no daemon is started
	NoStart    bool     // use a daemon that listens, start none

	// Local makes the table of the verbs that run without a daemon. It is called
	// once, when it is needed first; nil: daemon.Local makes it.
	Local func(ctx context.Context) (*verbs.Table, error)

	StartWait time.Duration // how long a started daemon may take to listen; 0: 3 s
	ReadWait  time.Duration // how long a daemon may be silent about a verb that only reads; 0: 10 s
	StopWait  time.Duration // how long a daemon that was stopped may take to end; 0: 60 s
}

// Connect gives a Caller. It asks nothing of anybody yet: the daemon is looked
// for, and started if need be, at the first call, and again when it has gone
// away in between. With TURNBACK_NO_DAEMON=1 in the environment none is used or
// started.
func Connect(_ context.Context, o Options) (Caller, error) {
	o = o.withDefaults()
	if o.Local == nil {
		o.Local = func(context.Context) (*verbs.Table, error) { return daemon.Local(o.Environ, time.Now) }
	}
	return &caller{options: o, local: onceTable(o.Local)}, nil
}

func (o Options) withDefaults() Options {
	o.StartWait = cmp.Or(o.StartWait, defaultStartWait)
	o.ReadWait = cmp.Or(o.ReadWait, defaultReadWait)
	o.StopWait = cmp.Or(o.StopWait, defaultStopWait)
	return o
}

// onceTable makes the table once; after a failure the next call tries again.
func onceTable(build func(context.Context) (*verbs.Table, error)) func(context.Context) (*verbs.Table, error) {
	var mu sync.Mutex
	var table *verbs.Table
	return func(ctx context.Context) (*verbs.Table, error) {
		mu.Lock()
		defer mu.Unlock()
		if table != nil {
			return table, nil
		}
		var err error
		table, err = build(ctx)
		return table, err
	}
}

type caller struct {
	options Options
	local   func(context.Context) (*verbs.Table, error)
}

func (c *caller) Call(ctx context.Context, verb string, params, result any, progress func(api.Progress)) error {
	err := c.remote(ctx, verb, params, result, progress)
	var none *noDaemon
	if !errors.As(err, &none) {
		return err
	}
	table, err := c.local(ctx)
	if err != nil {
		return api.AsError(err)
	}
	if _, err := table.Lookup(verb); err != nil {
		return none.asError()
	}
	return runHere(ctx, table, verb, params, result, progress)
}

// remote calls the daemon. Without one, and nothing done, it is a *noDaemon.
func (c *caller) remote(ctx context.Context, verb string, params, result any, progress func(api.Progress)) error {
	socket, err := c.options.socket()
	if err != nil {
		return err
	}
	client := api.NewClient(socket)
	if reads(verb) {
		client = client.Patient(c.options.ReadWait)
	}
	for range tries {
		err = client.Call(ctx, verb, params, result, progress)
		if !errors.Is(err, api.ErrNotListening) {
			break
		}
		if err := c.options.start(ctx, socket); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, api.ErrSilent) && reads(verb):
		return &noDaemon{silent(socket)}
	case errors.Is(err, api.ErrNotListening) || errors.Is(err, api.ErrUnreachable):
		return &noDaemon{err}
	}
	return err
}

// reads reports whether a verb changes nothing, so that it does no harm to give
// a daemon up that is silent about it.
func reads(verb string) bool {
	switch verb {
	case "list-checkpoints", "show-checkpoint", "checkpoint-diff", "verify-checkpoints", "checkpoint-stats", "get-agent-state", "list-windows", "list-verbs", "list-filters", "status":
		return true
	}
	return false
}

// silent says that the daemon of this socket hangs.
func silent(socket api.Socket) error {
	return api.Errorf(api.CodeNoDaemon, "%v", api.ErrSilent).WithHint(api.Hint{
		Detail: "end the process that listens at " + socket.Path + "; the next command starts another",
	})
}

// socket is where to look for a daemon; a *noDaemon when none is to be used.
func (o Options) socket() (api.Socket, error) {
	getenv := daemon.Getenv(o.Environ)
	if v := getenv("TURNBACK_NO_DAEMON"); v != "" && v != "0" {
		e := api.Errorf(api.CodeNoDaemon, "no daemon is used: TURNBACK_NO_DAEMON is set")
		return api.Socket{}, &noDaemon{e.WithHint(api.Hint{Param: "TURNBACK_NO_DAEMON", Detail: "unset TURNBACK_NO_DAEMON"})}
	}
	socket, err := api.SocketRules{Getenv: getenv, UID: o.UID}.Find()
	if err != nil {
		return socket, &noDaemon{err}
	}
	return socket, nil
}

// runHere runs a verb in this process; params and result go through JSON as they
// do over the socket, so that both ways take and give the same.
func runHere(ctx context.Context, table *verbs.Table, verb string, params, result any, progress func(api.Progress)) error {
	if params == nil {
		params = struct{}{}
	}
	data, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode the parameters of %s: %w", verb, err)
	}
	value, err := table.Run(ctx, verb, data, progress)
	if err != nil || result == nil {
		return err
	}
	data, err = json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the result of %s: %w", verb, err)
	}
	if err := json.Unmarshal(data, result); err != nil {
		return fmt.Errorf("decode the result of %s: %w", verb, err)
	}
	return nil
}

// noDaemon says that no daemon can be had, and that nothing was done.
type noDaemon struct{ cause error }

func (n *noDaemon) Error() string { return n.cause.Error() }

func (n *noDaemon) Unwrap() error { return n.cause }

func (n *noDaemon) asError() *api.Error {
	var known *api.Error
	if errors.As(n.cause, &known) && known.Hint != nil {
		e := *known
		e.Code = api.CodeNoDaemon
		return &e
	}
	e := api.Errorf(api.CodeNoDaemon, "no daemon can be had: %v", n.cause)
	if errors.Is(n.cause, api.ErrNotListening) {
		e.Message = "no daemon is running"
	}
	return e.WithHint(api.Hint{Command: "turnback daemon start"})
}
