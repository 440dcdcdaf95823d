package proxy

import (
	"bytes"
	"encoding/json"
	"io"
)

// maxEvent bounds a line of a stream, or a whole answer, that usage is looked for
// in.
const maxEvent = 16 << 20

// usageReader passes an answer on and reads on the side how many tokens the
// provider counted. It holds nothing back: each piece is looked at when it has
// already been read.
type usageReader struct {
	io.ReadCloser
	sink    io.WriteCloser
	counted *counter
	decoded chan struct{} // closed when the side has read all; nil: it reads in line
}

func newUsageReader(body io.ReadCloser, c coding, stream bool) *usageReader {
	counted := &counter{stream: stream}
	u := &usageReader{ReadCloser: body, sink: counted, counted: counted}
	if c == identity {
		return u
	}
	r, w := io.Pipe()
	u.sink, u.decoded = w, make(chan struct{})
	go func() {
		defer close(u.decoded)
		plain, err := c.reader(r)
		if err == nil {
			_, _ = io.Copy(counted, plain) // a broken answer is the agent's to find
			_ = plain.Close()
		}
		_ = counted.Close()
		_, _ = io.Copy(io.Discard, r)
	}()
	return u
}

func (u *usageReader) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	_, _ = u.sink.Write(p[:n]) // neither a counter nor a drained pipe refuses
	return n, err
}

// Close waits for the side.
func (u *usageReader) Close() error {
	err := u.ReadCloser.Close()
	_ = u.sink.Close()
	if u.decoded != nil {
		<-u.decoded
	}
	return err
}

// tokens are the input tokens that were counted; 0: none were told. After Close.
func (u *usageReader) tokens() int64 { return u.counted.tokens }

// counter finds usage in an answer that is written to it.
type counter struct {
	stream bool
	line   bytes.Buffer // the line, or the answer, so far
	over   bool         // it is longer than is looked at
	tokens int64
}

func (c *counter) Write(p []byte) (int, error) {
	size := len(p)
	if !c.stream {
		c.keep(p)
		return size, nil
	}
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			c.keep(p)
			return size, nil
		}
		c.keep(p[:end])
		c.take()
		p = p[end+1:]
	}
}

func (c *counter) keep(p []byte) {
	if c.line.Len()+len(p) > maxEvent {
		c.over = true
	}
	if !c.over {
		c.line.Write(p)
	}
}

// take looks at what is complete.
func (c *counter) take() {
	text := c.line.Bytes()
	if c.stream {
		text = bytes.TrimPrefix(text, []byte("data:"))
	}
	if !c.over && (bytes.Contains(text, []byte(`"usage"`)) || bytes.Contains(text, []byte(`"usageMetadata"`))) {
		c.tokens = max(c.tokens, inputTokens(text))
	}
	c.over = false
	c.line.Reset()
}

func (c *counter) Close() error {
	c.take()
	return nil
}

// usage has the counts of every provider, under its own names.
type usage struct {
	Input         int64 `json:"input_tokens"`                // Messages: without the cached ones; Responses: with them
	CacheCreation int64 `json:"cache_creation_input_tokens"` // Messages
	CacheRead     int64 `json:"cache_read_input_tokens"`     // Messages
	Prompt        int64 `json:"prompt_tokens"`               // Chat
}

// answer is where they stand in one.
type answer struct {
	Usage    *usage                 `json:"usage"` // Messages, Chat, Responses
	Message  struct{ Usage *usage } // Messages, first event
	Response struct{ Usage *usage } // Responses, last event
	Gemini   struct {
		Prompt int64 `json:"promptTokenCount"`
	} `json:"usageMetadata"`
}

// inputTokens reads the counts of one event or answer; a list of them is
// Gemini's stream without events.
func inputTokens(text []byte) int64 {
	var all []answer
	if text = bytes.TrimSpace(text); !bytes.HasPrefix(text, []byte("[")) {
		all = make([]answer, 1)
		if json.Unmarshal(text, &all[0]) != nil {
			return 0
		}
	} else if json.Unmarshal(text, &all) != nil {
		return 0
	}
	var most int64
	for _, a := range all {
		most = max(most, a.Gemini.Prompt)
		for _, u := range []*usage{a.Usage, a.Message.Usage, a.Response.Usage} {
			if u != nil {
				most = max(most, u.Input+u.CacheCreation+u.CacheRead, u.Prompt)
			}
		}
	}
	return most
}
