// Package collapse shortens the history in a request to a model: what lies
// between a checkpoint and the rewind that closed it gives way to the rewind's
// report. It reads and writes bodies of requests; it sends nothing, keeps
// nothing, and knows no session. The same body gives the same result each time,
// so that a provider's cached prefix holds.
//
// Only the list elements that change are written anew. Everything else is copied
// byte for byte, and a body with nothing to collapse comes back as the same
// slice.
package collapse

import (
	"bytes"

	"github.com/turnback/turnback/conversation"
)

// Provider is the form of a request's body.
type Provider string

// The forms.
const (
	Anthropic Provider = "anthropic" // Messages and count_tokens
	Responses Provider = "responses" // OpenAI Responses, also its compact
	Chat      Provider = "chat"      // Chat Completions
	Gemini    Provider = "gemini"    // generateContent, streamGenerateContent, countTokens

	// Two agents let a plugin change their messages before they become a request.
	// The body is an object with the list of them as "messages".
	Pi       Provider = "pi"       // as its context event has them
	OpenCode Provider = "opencode" // as its hook experimental.chat.messages.transform has them
)

// Result is a body as it is to be sent, and what its history tells about
// checkpoints.
type Result struct {
	// Body is the slice that was given when nothing changed.
	Body []byte

	// Spans are those that were collapsed, oldest first.
	Spans []Span

	// Known is false when the history could not be read, so that nothing below
	// says anything: what was known of the session before still holds.
	Known bool

	// Open is the newest successful checkpoint when no rewind followed it, also
	// when other spans were left as they are.
	Open *OpenCheckpoint

	// Completed says that the newest successful checkpoint was closed by a rewind.
	Completed bool

	// Checkpoints are the ids of the successful checkpoint calls in the history,
	// oldest first, as in [OpenCheckpoint.ID]. One that was open and is no longer
	// among them was lost, as in a compaction.
	Checkpoints []string

	// Reason says why a span was left as it is, in words for a log; empty when
	// there was none, or all were collapsed.
	Reason string
}

// Span is one exploration that a report took the place of.
type Span struct {
	Checkpoint string // id of the checkpoint's call, as in [OpenCheckpoint.ID]
	Goal       string
	Report     string // as the model gave it, trimmed

	// BytesBefore is the size of what the span had in the body as it came, from
	// the checkpoint's result on; BytesAfter of what is sent in its place.
	BytesBefore, BytesAfter int
}

// OpenCheckpoint is a checkpoint that no rewind has closed.
type OpenCheckpoint struct {
	// ID is the id of the call. Where a provider has none (Gemini) it is "goal:"
	// and the goal.
	ID   string
	Goal string

	// BatchEnded says that all calls that were made together with the checkpoint
	// have their results.
	BatchEnded bool
}

// Collapse shortens the history in a body. It never fails: where there is any
// doubt, Body is the slice that was given, and Reason says why. A history that
// is damaged already, with a call without its result or a result without its
// call, is left as it is; but for pi's, which mends it after its plugins.
func Collapse(p Provider, host conversation.Host, body []byte) Result {
	unchanged := Result{Body: body}
	if !mayHaveCheckpoint(body) && !(p == Responses && mayBePartial(body)) {
		unchanged.Known = true
		return unchanged
	}
	h, err := read(p, host, body)
	if err != nil {
		unchanged.Reason = "read body: " + err.Error()
		return unchanged
	}
	if h.partial {
		return unchanged
	}
	h.mended = p == Pi
	if reason := h.pair(); reason != "" {
		unchanged.Reason = "history is damaged: " + reason
		return unchanged
	}
	unchanged.Known = true
	stretches := h.derive(&unchanged)
	changed := unchanged
	w := rewriter{history: h, provider: p}
	for _, s := range stretches {
		collapsed, reason := w.collapse(s)
		if reason != "" {
			unchanged.Reason = reason
			return unchanged
		}
		changed.Spans = append(changed.Spans, collapsed)
	}
	changed.Body = w.apply()
	return changed
}

// mayHaveCheckpoint is a quick look for what each successful checkpoint has in
// its result, so that other bodies are not read at all: its text, or its details
// as they stand in an object or in a string.
func mayHaveCheckpoint(body []byte) bool {
	return bytes.Contains(body, []byte(conversation.CreatedPrefix)) ||
		bytes.Contains(body, []byte(`startedAt":"20`)) || bytes.Contains(body, []byte(`startedAt\":\"20`))
}

// mayBePartial is a quick look for a request that goes on from what the provider
// has, where the calls may be.
func mayBePartial(body []byte) bool { return bytes.Contains(body, []byte("_response_id")) }
