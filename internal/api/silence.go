package api

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// ErrSilent says that something accepted a call and then gave no sign of life.
var ErrSilent = errors.New("the daemon does not answer")

// defaultPatience is how long a client bears silence.
const defaultPatience = 45 * time.Second

// looks is how often a watch looks before it gives up. A process that was
// stopped itself for a while finds one look due when it goes on, not all.
const looks = 4

// watch ends a call's context, with ErrSilent, when nothing comes for too long
// while it is waited for.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	every   time.Duration // between two looks
	waiting atomic.Bool   // somebody waits for the daemon
	quiet   atomic.Int32  // looks in a row without a sign of life
	ended   chan struct{} // closed when nothing is looked at any more
}

func newWatch(ctx context.Context, patience time.Duration) *watch {
	w := &watch{every: patience / looks, ended: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.waiting.Store(true)
	go w.run()
	return w
}

// run ends with the context, which stop sees to.
func (w *watch) run() {
	defer close(w.ended)
	timer := time.NewTimer(w.every)
	defer timer.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-timer.C:
		}
		if w.waiting.Load() && w.quiet.Add(1) >= looks {
			w.cancel(ErrSilent)
		}
		timer.Reset(w.every)
	}
}

// alive notes a sign of life.
func (w *watch) alive() {
	w.waiting.Store(false)
	w.quiet.Store(0)
}

func (w *watch) stop() {
	w.cancel(context.Canceled)
	<-w.ended
}

// silent reports whether the watch has given up.
func (w *watch) silent() bool { return errors.Is(context.Cause(w.ctx), ErrSilent) }

// reader is r with every byte a sign of life.
func (w *watch) reader(r io.Reader) io.Reader { return watched{Reader: r, watch: w} }

type watched struct {
	io.Reader
	watch *watch
}

func (r watched) Read(p []byte) (int, error) {
	r.watch.waiting.Store(true)
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.watch.alive()
	}
	return n, err
}
