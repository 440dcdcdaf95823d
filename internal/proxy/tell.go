package proxy

import (
	"context"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/api"
)

// Caller runs verbs of the daemon.
type Caller interface {
	Call(ctx context.Context, verb string, params, result any, progress func(api.Progress)) error
}

// How the daemon is told.
const (
	maxUntold = 1000            // more are not kept while there is no daemon
	tellWait  = 5 * time.Second // for one call
	tellPause = 2 * time.Second // after one that failed
	lastWait  = 2 * time.Second // for what is left when the proxy ends
)

// teller tells the daemon, in order and beside the requests. While there is no
// daemon it keeps the newest.
type teller struct {
	caller Caller // nil: nobody is told
	mu     sync.Mutex
	untold []told
	more   chan struct{} // has one when untold may hold something
}

type told struct {
	verb   string
	params any
}

func newTeller(caller Caller) *teller { return &teller{caller: caller, more: make(chan struct{}, 1)} }

func (t *teller) seen(p api.ConversationSeenParams) { t.add(told{"conversation-seen", p}) }

func (t *teller) figures(p api.ConversationFiguresParams) { t.add(told{"conversation-figures", p}) }

func (t *teller) add(what told) {
	if t.caller == nil {
		return
	}
	t.mu.Lock()
	t.untold = append(t.untold, what)
	if over := len(t.untold) - maxUntold; over > 0 {
		t.untold = t.untold[over:]
	}
	t.mu.Unlock()
	select {
	case t.more <- struct{}{}:
	default:
	}
}

func (t *teller) next() (told, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.untold) == 0 {
		return told{}, false
	}
	what := t.untold[0]
	t.untold = t.untold[1:]
	return what, true
}

func (t *teller) putBack(what told) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.untold) < maxUntold {
		t.untold = append([]told{what}, t.untold...)
	}
}

// run tells until ctx ends, and then for a short time what is left.
func (t *teller) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-t.more:
			t.drain(ctx, tellPause)
		}
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), lastWait)
	defer done()
	t.drain(last, lastWait)
}

func (t *teller) drain(ctx context.Context, pause time.Duration) {
	for ctx.Err() == nil {
		what, ok := t.next()
		if !ok {
			return
		}
		call, done := context.WithTimeout(ctx, tellWait)
		err := t.caller.Call(call, what.verb, what.params, nil, nil)
		done()
		if err == nil {
			continue
		}
		if refused(err) {
			continue // it would be refused again
		}
		t.putBack(what)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// refused says that a daemon was there and did not want what it was told.
func refused(err error) bool {
	e := api.AsError(err)
	return e.Code != api.CodeNoDaemon && e.Code != api.CodeInternal
}
