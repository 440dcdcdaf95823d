package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// MaxBody is the largest request body that the daemon reads, in bytes.
const MaxBody = 16 << 20

// NDJSON is the media type of a reply that tells progress.
const NDJSON = "application/x-ndjson"

// Client calls the verbs of a daemon that listens. It starts none; package
// connect does. It may be used by several goroutines at once.
type Client struct {
	socket   Socket
	http     *http.Client
	patience time.Duration // how long the daemon may be silent
}

// NewClient makes a client of the daemon at s. It connects at each call.
func NewClient(s Socket) *Client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := s.Dial(ctx)
			if err != nil && !errors.Is(err, ErrNotListening) {
				err = fmt.Errorf("%w: %w", ErrUnreachable, err)
			}
			return conn, err
		},
		// A connection lives as long as its call, so a client needs no Close.
		DisableKeepAlives:  true,
		DisableCompression: true,
	}
	return &Client{socket: s, http: &http.Client{Transport: transport}, patience: defaultPatience}
}

// Patient is c with another bound on how long a daemon may give no sign of life
// in a call; a daemon gives one every few seconds. Without it that is 45 s.
func (c *Client) Patient(patience time.Duration) *Client {
	other := *c
	other.patience = patience
	return &other
}

// Socket is where the client finds its daemon.
func (c *Client) Socket() Socket { return c.socket }

// Call runs a verb. params is encoded as a JSON object (nil: none), the reply is
// decoded into result (nil: thrown away). With progress the daemon tells how far
// it is, from this goroutine. A verb's failure is an *Error, as it came.
// ErrNotListening and ErrUnreachable mean that nothing was done; a daemon that
// goes away in the middle of the call is an *Error with CodeNoDaemon; one that
// is silent for too long is an *Error with CodeTimeout, and ErrSilent.
func (c *Client) Call(ctx context.Context, verb string, params, result any, progress func(Progress)) error {
	if params == nil {
		params = struct{}{}
	}
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode the parameters of %s: %w", verb, err)
	}
	if len(body) > MaxBody {
		return Errorf(CodeInvalidParams, "the parameters of %s have %d bytes, the limit is %d", verb, len(body), MaxBody)
	}
	life := newWatch(ctx, c.patience)
	defer life.stop()
	req, err := http.NewRequestWithContext(life.ctx, http.MethodPost, "http://turnback/v1/"+verb, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the request for %s: %w", verb, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", NDJSON) // with it the daemon shows that it lives
	resp, err := c.http.Do(req)
	if err != nil {
		return c.callFailed(ctx, life, verb, err)
	}
	defer resp.Body.Close()
	life.alive()
	in := life.reader(resp.Body)
	if resp.StatusCode == http.StatusServiceUnavailable {
		return ErrNotListening // it is stopping, and did nothing
	}
	if resp.Header.Get("Content-Type") == NDJSON {
		err = readLines(in, result, progress)
	} else {
		err = readReply(resp, in, result)
	}
	var known *Error
	if err != nil && !errors.As(err, &known) {
		return c.callFailed(ctx, life, verb, err)
	}
	return err
}

// callFailed tells apart who is to blame when no whole reply came: nobody who
// listens, the caller that gave up, a daemon that is silent, a socket that is
// not trusted, or a daemon that died.
func (c *Client) callFailed(ctx context.Context, life *watch, verb string, err error) error {
	switch {
	case ctx.Err() == nil && life.silent():
		e := Errorf(CodeTimeout, "the daemon has not answered %s for %s", verb, c.patience)
		return fmt.Errorf("%w: %w", ErrSilent, e.WithHint(Hint{
			Command: "turnback status", Detail: "it is not known whether the call was carried out",
		}))
	case errors.Is(err, ErrNotListening):
		return ErrNotListening
	case ctx.Err() != nil:
		return fmt.Errorf("call %s: %w", verb, ctx.Err())
	case errors.Is(err, ErrUnreachable):
		return err
	}
	e := Errorf(CodeNoDaemon, "the daemon went away during %s: %v", verb, err)
	return e.WithHint(Hint{Command: "turnback status", Detail: "it is not known whether the call was carried out"})
}

func readReply(resp *http.Response, in io.Reader, result any) error {
	body, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		var f Failure
		if err := json.Unmarshal(body, &f); err != nil || f.Error == nil {
			return Errorf(CodeInternal, "the daemon answered %s", resp.Status)
		}
		return f.Error
	}
	return decodeResult(body, result)
}

func readLines(r io.Reader, result any, progress func(Progress)) error {
	dec := json.NewDecoder(r)
	for {
		var line struct {
			Progress *Progress       `json:"progress"`
			Result   json.RawMessage `json:"result"`
			Error    *Error          `json:"error"`
		}
		if err := dec.Decode(&line); err != nil {
			return fmt.Errorf("read the reply: %w", err)
		}
		switch {
		case line.Error != nil:
			return line.Error
		case line.Result != nil:
			return decodeResult(line.Result, result)
		case line.Progress != nil && progress != nil:
			progress(*line.Progress)
		}
	}
}

func decodeResult(data []byte, result any) error {
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(data, result); err != nil {
		return Errorf(CodeInternal, "decode the daemon's reply: %v", err)
	}
	return nil
}

// Events hands every event to each, in order and from this goroutine, until ctx
// ends, each returns an error (which is returned), or the daemon stops (io.EOF).
// Nobody who listens is ErrNotListening.
func (c *Client) Events(ctx context.Context, each func(Event) error) error {
	stream, err := c.Subscribe(ctx)
	if err != nil {
		return err
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

// EventStream is an open stream of events. It is used by one goroutine.
type EventStream struct {
	ctx  context.Context
	life *watch
	body io.ReadCloser
	in   *bufio.Reader
}

// Subscribe opens the stream of events; what happens after it returned is in
// the stream. It ends with ctx or with Close.
func (c *Client) Subscribe(ctx context.Context) (*EventStream, error) {
	life := newWatch(ctx, c.patience)
	req, err := http.NewRequestWithContext(life.ctx, http.MethodGet, "http://turnback/v1/events", http.NoBody)
	if err != nil {
		life.stop()
		return nil, fmt.Errorf("make the request for events: %w", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		defer life.stop()
		return nil, c.callFailed(ctx, life, "events", err)
	}
	life.alive() // from here on silence only says that nothing happens
	if resp.StatusCode != http.StatusOK {
		defer life.stop()
		defer resp.Body.Close()
		return nil, readReply(resp, resp.Body, nil)
	}
	return &EventStream{ctx: ctx, life: life, body: resp.Body, in: bufio.NewReader(resp.Body)}, nil
}

// Next waits for the next event. At the daemon's end it returns io.EOF, after
// the context's end the context's error.
func (s *EventStream) Next() (Event, error) {
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			if s.ctx.Err() != nil {
				return Event{}, s.ctx.Err()
			}
			return Event{}, io.EOF
		}
		data, found := bytes.CutPrefix(line, []byte("data: "))
		if !found {
			continue
		}
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return Event{}, fmt.Errorf("decode an event: %w", err)
		}
		return e, nil
	}
}

// Close ends the stream.
func (s *EventStream) Close() error {
	s.life.stop()
	return s.body.Close()
}
