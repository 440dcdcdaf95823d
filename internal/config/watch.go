package config

import (
	"context"
	"io/fs"
	"os"
	"reflect"
	"sync"
	"time"
)

// unsettled is how old a file must be before its time stamp can be trusted to
// tell the next change: a write soon after may leave the stamp as it is.
const unsettled = 100 * time.Millisecond

// Watcher holds the settings of a file and reads it again when it changes. A
// file that cannot be used leaves the last good values in place. It may be used
// by several goroutines at once.
type Watcher struct {
	path     string
	now      func() time.Time
	onChange func(Config, error)

	mu      sync.Mutex
	seen    fs.FileInfo // nil: absent
	settled bool
	config  Config
	err     error
}

// NewWatcher reads the file at path now. When it cannot be used the defaults
// hold, and Err says why. onChange, which may be nil, is called after a change
// was read, from the goroutine that noticed it; a broken file gives the values
// that still hold and the error. now is the clock.
func NewWatcher(path string, now func() time.Time, onChange func(Config, error)) *Watcher {
	w := &Watcher{path: path, now: now, config: Default()}
	w.refresh()
	w.onChange = onChange
	return w
}

// Path is the file that is watched.
func (w *Watcher) Path() string { return w.path }

// Get gives the settings that hold now. It looks at the file's stat data each
// time, so that what a person has just written counts for the next turn.
func (w *Watcher) Get() Config {
	c, _ := w.refresh()
	return c
}

// Err says why the file as it is now is not used; nil: it is.
func (w *Watcher) Err() error {
	_, err := w.refresh()
	return err
}

// Run looks at the file every so often until ctx ends, so that a change is
// noticed (and onChange called) also while nobody asks.
func (w *Watcher) Run(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.refresh()
		}
	}
}

func (w *Watcher) refresh() (Config, error) {
	w.mu.Lock()
	changed := w.read()
	c, err, notify := w.config, w.err, w.onChange
	w.mu.Unlock()
	if changed && notify != nil {
		notify(c, err)
	}
	return c, err
}

// read reads the file if it may have changed and tells whether its values or its
// error did.
func (w *Watcher) read() bool {
	info, statErr := os.Stat(w.path)
	if statErr != nil {
		info = nil // Load tells an absent file from an unreadable one
	}
	if w.settled && same(w.seen, info) {
		return false
	}
	settled := info == nil || w.now().Sub(info.ModTime()) > unsettled
	if w.seen != nil && info != nil && info.Size() == 0 && !settled {
		return false // somebody has just emptied it to write it anew
	}
	c, err := Load(w.path)
	w.seen, w.settled = info, settled
	if err != nil {
		changed := w.err == nil || w.err.Error() != err.Error()
		w.err = err
		return changed
	}
	changed := w.err != nil || !reflect.DeepEqual(c, w.config)
	w.config, w.err = c, nil
	return changed
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
