package daemon

import (
	"sync"

	"github.com/turnback/turnback/internal/api"
)

// queueLength is how many events wait for one reader before the next are lost.
const queueLength = 256

// bus hands events to its readers. It never waits for one: a reader that is too
// slow loses events and is told how many.
type bus struct {
	mu      sync.Mutex
	readers map[*reader]struct{}
}

func newBus() *bus { return &bus{readers: map[*reader]struct{}{}} }

// publish gives e to every reader.
func (b *bus) publish(e api.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.readers {
		r.put(e)
	}
}

// subscribe makes a reader that gets every event published from now on.
func (b *bus) subscribe() *reader {
	r := &reader{wake: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers[r] = struct{}{}
	return r
}

func (b *bus) unsubscribe(r *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.readers, r)
}

// reader is one reader's queue.
type reader struct {
	wake chan struct{} // holds a token when there may be something to take

	mu    sync.Mutex
	queue []api.Event
	lost  api.Event // a "dropped" event; Count 0: nothing was lost since the last one
}

func (r *reader) put(e api.Event) {
	r.mu.Lock()
	if len(r.queue) < queueLength {
		r.queue = append(r.queue, e)
	} else {
		r.lost = api.Event{Type: "dropped", At: e.At, Count: r.lost.Count + 1}
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take empties the queue. What was lost, was lost after all that is in it.
func (r *reader) take() []api.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.queue
	if r.lost.Count > 0 {
		out = append(out, r.lost)
	}
	r.queue, r.lost = nil, api.Event{}
	return out
}
