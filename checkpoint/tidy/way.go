package tidy

import (
	"context"
	"sync"
)

// Way is what is tidied right now, for others to cut short.
type Way struct {
	mu   sync.Mutex
	stop []context.CancelFunc
}

// Begin gives the context of what can be cut short.
func (t *Way) Begin(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = append(t.stop, cancel)
	return ctx, cancel
}

// Clear cuts short what began and has not ended.
func (t *Way) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, stop := range t.stop {
		stop()
	}
	t.stop = nil
}
