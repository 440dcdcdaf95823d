package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// drainWait bounds how long a server answers on after its client has said all.
const drainWait = 10 * time.Second

// drain stands between a client and the server: the end of what the client says
// reaches the server only when every request has its answer. Otherwise the last
// ones of a client that says all it has to say at once would get none. A line
// that is no message is answered here: the server would end at it, and with it
// the tools for the rest of the session.
type drain struct {
	ctx     context.Context
	in      *bufio.Reader
	raw     io.Closer
	out     io.WriteCloser
	writing sync.Mutex // held while a message goes out

	mu      sync.Mutex
	open    map[string]bool // requests without an answer, by their id
	changed chan struct{}   // closed when open changes
	rest    []byte          // of a line that is being handed on
}

func newDrain(ctx context.Context, in io.ReadCloser, out io.WriteCloser) *drain {
	return &drain{ctx: ctx, in: bufio.NewReader(in), raw: in, out: out, open: map[string]bool{}, changed: make(chan struct{})}
}

// message is what tells a request from an answer.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Request json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// Read hands on whole messages, one a line.
func (d *drain) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		line, tooLong, err := readLine(d.in, maxLine)
		if len(line) == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				d.wait()
			}
			return 0, err
		}
		message, answer := admit(line, tooLong)
		if answer != nil {
			if _, err := d.send(answer); err != nil {
				return 0, err
			}
		}
		if len(message) > 0 {
			d.asked(message)
			d.rest = append(message, '\n')
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// send writes one message, while no other is written.
func (d *drain) send(text []byte) (int, error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.out.Write(text)
}

func (d *drain) asked(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Method == "notifications/cancelled":
		d.note(m.Params.Request, false) // nobody waits for it, and it may get no answer
	case m.Method != "" && len(m.ID) > 0:
		d.note(m.ID, true)
	}
}

// Write takes whole messages, as the server sends them.
func (d *drain) Write(p []byte) (int, error) {
	n, err := d.send(p)
	var m message
	if json.Unmarshal(p, &m) == nil && m.Method == "" {
		d.note(m.ID, false)
	}
	return n, err
}

func (d *drain) note(id json.RawMessage, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if open {
		d.open[string(id)] = true
	} else {
		delete(d.open, string(id))
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

// wait returns when every request has its answer.
func (d *drain) wait() {
	limit := time.NewTimer(drainWait)
	defer limit.Stop()
	for {
		d.mu.Lock()
		left, changed := len(d.open), d.changed
		d.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-changed:
		case <-d.ctx.Done():
			return
		case <-limit.C:
			return
		}
	}
}

// Close closes both ends.
func (d *drain) Close() error { return errors.Join(d.raw.Close(), d.out.Close()) }
