package connect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/files"
)

// Start makes sure that a daemon listens. The error is an *api.Error with
// CodeNoDaemon when none can be had.
func Start(ctx context.Context, o Options) error {
	o = o.withDefaults()
	socket, err := o.socket()
	if err == nil {
		err = o.start(ctx, socket)
	}
	return known(err)
}

// Stop asks the daemon that listens to stop, and returns when it has, or with
// ctx's error. The error is an *api.Error: with CodeNoDaemon when none listens,
// with CodeTimeout when it does not answer, or does not end.
func Stop(ctx context.Context, o Options) (api.StopDaemonResult, error) {
	var result api.StopDaemonResult
	o = o.withDefaults()
	socket, err := o.socket()
	if err != nil {
		return result, known(err)
	}
	client := api.NewClient(socket).Patient(o.ReadWait)
	err = client.Call(ctx, "stop-daemon", nil, &result, nil)
	switch {
	case errors.Is(err, api.ErrNotListening) || errors.Is(err, api.ErrUnreachable):
		return result, known(&noDaemon{err})
	case err != nil:
		return result, err
	}
	wait, cancel := context.WithTimeout(ctx, o.StopWait)
	defer cancel()
	err = waitGone(wait, client, result.PID)
	if wait.Err() != nil && ctx.Err() == nil {
		e := api.Errorf(api.CodeTimeout, "the daemon, process %d, has not ended within %s", result.PID, o.StopWait)
		err = e.WithHint(api.Hint{Command: "turnback daemon logs", Detail: "it was told to stop"})
	}
	return result, err
}

// waitGone waits until nobody holds the daemon's lock, or another daemon than
// the one with this pid answers.
func waitGone(ctx context.Context, client *api.Client, pid int) error {
	ticker := time.NewTicker(pollMost)
	defer ticker.Stop()
	for {
		lock, err := files.TryLock(client.Socket().LockPath())
		if err != nil {
			return fmt.Errorf("wait for the daemon's end: %w", err)
		}
		if lock != nil {
			return lock.Unlock()
		}
		var now api.StatusResult
		if client.Call(ctx, "status", nil, &now, nil) == nil && now.PID != pid {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the daemon's end: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// Events hands every event to each, in order, until ctx ends or each returns an
// error, which is returned. A daemon that stops is io.EOF. None that listens, and
// none that could be started, is an *api.Error with CodeNoDaemon.
func Events(ctx context.Context, o Options, each func(api.Event) error) error {
	o = o.withDefaults()
	socket, err := o.socket()
	if err != nil {
		return known(err)
	}
	client := api.NewClient(socket).Patient(o.ReadWait)
	stream, err := client.Subscribe(ctx)
	if errors.Is(err, api.ErrNotListening) {
		if err := o.start(ctx, socket); err != nil {
			return known(err)
		}
		stream, err = client.Subscribe(ctx)
	}
	if err != nil {
		if errors.Is(err, api.ErrNotListening) || errors.Is(err, api.ErrUnreachable) {
			err = &noDaemon{err}
		}
		if errors.Is(err, api.ErrSilent) {
			err = &noDaemon{silent(socket)}
		}
		return known(err)
	}
	defer stream.Close()
	for {
		e, err := stream.Next()
		if err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
	}
}

// known makes a *noDaemon the error that people see.
func known(err error) error {
	var none *noDaemon
	if errors.As(err, &none) {
		return none.asError()
	}
	return err
}
