package fakemodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// Block is one piece of a reply, as the API spells it. Make it with [Text],
// [Tool] or [Thinking].
type Block map[string]any

// Text is what the model says.
func Text(text string) Block { return Block{"type": "text", "text": text} }

// Say is a reply of a single text.
func Say(text string) []Block { return []Block{Text(text)} }

// Tool is a call of a tool; the server gives it an id.
func Tool(name string, input map[string]any) Block {
	return Block{"type": "tool_use", "name": name, "input": input}
}

// Thinking is a signed thinking block.
func Thinking(thinking string) Block {
	return Block{"type": "thinking", "thinking": thinking, "signature": "c2lnbmF0dXJl"}
}

// answer replies to a message request. It returns false when the client left
// before the end.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body Body, request *Request) bool {
	if len(request.Problems) > 0 {
		s.fail(w, APIError{http.StatusBadRequest, "invalid_request_error", "fake model: " + strings.Join(request.Problems, "; ")})
		return true
	}
	entry := s.take(body, request.Kind)
	if !s.pass(r, entry.Gate) || !s.pause(r, entry.Delay) {
		return false
	}
	if entry.Error != nil {
		s.fail(w, *entry.Error)
		return true
	}
	message := s.message(body, entry)
	if !body.Stream {
		s.json(w, http.StatusOK, message)
		return true
	}
	stream := &stream{server: s, w: w, r: r, chunkDelay: entry.ChunkDelay}
	return stream.send(message, entry.Hang)
}

// message is the whole reply.
func (s *Server) message(body Body, entry Entry) map[string]any {
	blocks := make([]Block, len(entry.Content))
	stop := "end_turn"
	for i, block := range entry.Content {
		blocks[i] = maps.Clone(block)
		if block["type"] == "tool_use" {
			stop = "tool_use"
			blocks[i]["id"] = s.id("toolu")
		}
	}
	if entry.StopReason != "" {
		stop = entry.StopReason
	}
	usage := map[string]int{
		"input_tokens":                tokens(body.Messages.raw),
		"cache_creation_input_tokens": 0,
		"cache_read_input_tokens":     0,
		"output_tokens":               20,
	}
	maps.Copy(usage, entry.Usage)
	return map[string]any{
		"id": s.id("msg"), "type": "message", "role": "assistant", "model": body.Model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
}

// stream writes one reply as server-sent events.
type stream struct {
	server     *Server
	w          http.ResponseWriter
	r          *http.Request
	chunkDelay time.Duration
	broken     bool // the client is gone
}

func (st *stream) send(message map[string]any, hang bool) bool {
	header := st.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	header.Set("Request-Id", st.server.id("req"))
	st.w.WriteHeader(http.StatusOK)

	st.event("message_start", map[string]any{"message": opening(message)})
	st.event("ping", map[string]any{})
	for index, block := range message["content"].([]Block) {
		st.block(index, block)
	}
	if hang {
		select {
		case <-st.r.Context().Done():
		case <-st.server.done:
		}
		return false
	}
	st.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": message["stop_reason"], "stop_sequence": nil},
		"usage": message["usage"],
	})
	st.event("message_stop", map[string]any{})
	return !st.broken && st.r.Context().Err() == nil
}

// opening is the message as the first event tells it: nothing said yet.
func opening(message map[string]any) map[string]any {
	first := maps.Clone(message)
	first["content"], first["stop_reason"] = []Block{}, nil
	usage := maps.Clone(message["usage"].(map[string]int))
	usage["output_tokens"] = 1
	first["usage"] = usage
	return first
}

func (st *stream) block(index int, block Block) {
	start := maps.Clone(block)
	var deltas []Block
	switch block["type"] {
	case "text":
		start["text"] = ""
		for _, piece := range st.pieces(block["text"].(string)) {
			deltas = append(deltas, Block{"type": "text_delta", "text": piece})
		}
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		deltas = []Block{
			{"type": "thinking_delta", "thinking": block["thinking"]},
			{"type": "signature_delta", "signature": block["signature"]},
		}
	default:
		start["input"] = map[string]any{}
		deltas = []Block{{"type": "input_json_delta", "partial_json": string(encode(block["input"]))}}
	}
	st.event("content_block_start", map[string]any{"index": index, "content_block": start})
	for i, delta := range deltas {
		if i > 0 && !st.server.pause(st.r, st.chunkDelay) {
			st.broken = true
			return
		}
		st.event("content_block_delta", map[string]any{"index": index, "delta": delta})
	}
	st.event("content_block_stop", map[string]any{"index": index})
}

// pieces cuts a text into the chunks it is sent in.
func (st *stream) pieces(text string) []string {
	if st.chunkDelay == 0 {
		return []string{text}
	}
	const size = 8
	var pieces []string
	for runes := []rune(text); len(runes) > 0; runes = runes[min(size, len(runes)):] {
		pieces = append(pieces, string(runes[:min(size, len(runes))]))
	}
	return pieces
}

func (st *stream) event(name string, data map[string]any) {
	if st.broken {
		return
	}
	data["type"] = name
	_, err := fmt.Fprintf(st.w, "event: %s\ndata: %s\n\n", name, encode(data))
	if err == nil {
		err = http.NewResponseController(st.w).Flush()
	}
	st.broken = err != nil
}

// pass waits for a gate, and returns false when the client left or the server
// closes.
func (s *Server) pass(r *http.Request, gate <-chan struct{}) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

// pause waits, and returns false when the client left or the server closes.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	if d == 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

func (s *Server) json(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", s.id("req"))
	w.WriteHeader(status)
	// A failed write means that the client is gone; it will not miss the rest.
	_, _ = w.Write(encode(value))
}

func (s *Server) fail(w http.ResponseWriter, e APIError) {
	s.json(w, e.Status, map[string]any{
		"type":  "error",
		"error": map[string]string{"type": e.Type, "message": e.Message},
	})
}

func (s *Server) id(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%s_fake_%06d", prefix, s.ids)
}

// tokens is a rough count, as good as any in a test.
func tokens(text []byte) int { return (len(text) + 3) / 4 }

// encode panics on what no script can hold: a channel, a function.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode a scripted reply: %v", err))
	}
	return text
}
