package screen

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress is one line on a terminal that is drawn over itself. It stays away
// until the work has taken longer than its delay, and Done removes it.
type Progress struct {
	mu    sync.Mutex
	out   io.Writer
	now   func() time.Time
	begin time.Time
	drawn time.Time
	shown bool
}

const (
	progressDelay = time.Second
	progressEvery = 100 * time.Millisecond
)

// NewProgress returns a progress line on out, or one that shows nothing when
// terminal is false.
func NewProgress(out io.Writer, terminal bool, now func() time.Time) *Progress {
	if !terminal {
		out = nil
	}
	return &Progress{out: out, now: now, begin: now()}
}

// Update shows that done of total parts of what are done; a total of 0 means
// that it is not known. Any goroutine may call it.
func (p *Progress) Update(what string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return
	}
	now := p.now()
	if now.Sub(p.begin) < progressDelay || now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn, p.shown = now, true
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", progressText(what, done, total))
}

// Done takes the line away. Update may be called again afterwards.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
}

func progressText(what string, done, total int64) string {
	what = Line(what)
	switch {
	case total > 0:
		return fmt.Sprintf("%s: %d%% (%d/%d)", what, 100*min(done, total)/total, done, total)
	case done > 0:
		return fmt.Sprintf("%s: %d", what, done)
	default:
		return what
	}
}
