package git

import (
	"context"
	"sync"
)

// sharing keeps a reader of objects that is done with for the next who needs one.
type sharing struct {
	mu    sync.Mutex
	users int // of ShareReader; 0: nothing is kept
	idle  *Objects
}

// ShareReader has readers of objects that come one after the other use the same git
// process, until the function that it gives is called. What such a reader reads,
// it reads also when the context is cancelled for which it was got.
func (r *Repo) ShareReader() (end func()) {
	s := r.readers
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 && s.idle != nil {
			_ = s.idle.end() // what it gave was checked
			s.idle = nil
		}
	}
}

// WarmReader starts a process that is to be shared, so that it is there when one is
// needed.
func (r *Repo) WarmReader(ctx context.Context) error {
	o, err := r.ReadObjects(ctx)
	if err != nil {
		return err
	}
	return o.Close()
}

// take gives the reader that is kept; nil: there is none. It tells whether readers
// are shared.
func (s *sharing) take() (o *Objects, shared bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, s.idle = s.idle, nil
	return o, s.users > 0
}

// keep takes o back, if readers are shared and there is none yet.
func (s *sharing) keep(o *Objects) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 || s.idle != nil || o.spoiled {
		return false
	}
	s.idle = o
	return true
}
