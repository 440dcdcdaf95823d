package collapse

import (
	"bytes"
	"fmt"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

type span = jsonscan.Span

// kind is what a part of a message is.
type kind uint8

const (
	other     kind = iota // images, documents, and whatever else
	text                  // value is a string
	reasoning             // of the model
	call                  // value is the arguments
	result                // value is what the tool gave
)

// part is what the rules tell apart within a list element: a block, a call, an
// item. Offsets are those of the body.
type part struct {
	at       span // the element of the inner list; the item itself in flat lists
	value    span
	id       span // string: of a call, or the call's of a result
	name     span // string, of a call; of a result where there may be no id
	mark     span // value of cache_control
	kind     kind
	tool     toolOf
	failed   bool // a result that is flagged as an error
	loads    bool // gives the model a tool that it did not have
	unpaired bool // a call that the provider answers itself, or the answer
}

// toolOf is a tool of ours, as one byte.
type toolOf uint8

const (
	noTool toolOf = iota
	checkpoint
	rewind
)

// item is a list element: a message, an item, a content.
type item struct {
	at       span
	content  span // the inner list or string; empty in flat lists
	parts    [2]int32
	model    bool // the model's output
	system   bool // a system message
	person   bool // a message of the user's role
	answered bool // the model's, with the results of its calls (OpenCode)
	extra    bool // has members that the rules do not know
	unknown  bool // of a type that the rules do not know, or ambiguous
	bareText bool // content is a string
}

// batch is what the model gave between two inputs, with the results of its calls.
type batch struct {
	first, last int32 // items of the model
	end         int32 // item with the last result
	calls       int32 // of any tool
	opens       int32 // part: the successful checkpoint call in it, -1 when there is none
	closes      int32 // part: the successful rewind call in it
	opened      int32 // part: the checkpoint's result
	closed      int32 // part: the rewind's result
	framed      bool  // the checkpoint's result has a report
}

// history is the list in a body, read.
type history struct {
	body    []byte
	host    conversation.Host
	items   []item
	parts   []part
	batches []batch
	partial bool // the provider has more of it
	mended  bool // pi: what is sent of a call without a result, or the other way, is mended by the agent

	// instructions are parts of results, by where the results begin, that stay: those
	// that a read loaded (OpenCode).
	instructions map[int32]span
}

func (h *history) partsOf(i int) []part {
	return h.parts[h.items[i].parts[0]:h.items[i].parts[1]]
}

// is compares a JSON string of the body with a word.
func (h *history) is(value span, word string) bool {
	raw := value.In(h.body)
	if len(raw) < 2 || raw[0] != '"' {
		return false
	}
	if raw = raw[1 : len(raw)-1]; bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == word
	}
	return h.str(value) == word
}

// str reads a JSON string of the body; empty when it is none.
func (h *history) str(value span) string {
	got, _ := jsonscan.Unquote(value.In(h.body))
	return got
}

// toolNamed says which of our tools a call names.
func (h *history) toolNamed(namespace, name span) toolOf {
	raw := name.In(h.body)
	if !bytes.Contains(raw, []byte(conversation.ToolCheckpoint)) && !bytes.Contains(raw, []byte(conversation.ToolRewind)) {
		return noTool
	}
	switch tool, ok := conversation.ParseToolName(h.host, h.str(namespace), h.str(name)); {
	case !ok:
		return noTool
	case tool == conversation.ToolCheckpoint:
		return checkpoint
	default:
		return rewind
	}
}

// pair finds the batches, and for each call its result. The reason is not empty
// when the history is damaged: a call without a result before the next batch or
// the end, a result without a call.
func (h *history) pair() (reason string) {
	w := walk{history: h}
	for i := range h.items {
		switch it := h.items[i]; {
		case it.model:
			w.output(i)
		default:
			w.input(i)
		}
		if w.reason != "" {
			return w.reason
		}
	}
	w.finish()
	return w.reason
}

// walk is the state of going through a history in order.
type walk struct {
	*history
	inModel bool
	pending []int32 // calls of the last batch that have no result yet
	reason  string
}

func (w *walk) output(i int) {
	if !w.inModel {
		w.finish()
		w.inModel = true
		w.batches = append(w.batches, batch{first: int32(i), end: int32(i), opens: -1, closes: -1})
	}
	b := &w.batches[len(w.batches)-1]
	b.last, b.end = int32(i), int32(i)
	from, to := w.items[i].parts[0], w.items[i].parts[1]
	for p := from; p < to; p++ {
		switch w.parts[p].kind {
		case call:
			b.calls++
			if !w.parts[p].unpaired {
				w.pending = append(w.pending, p)
			}
		case result:
			if w.items[i].answered && w.reason == "" {
				w.answer(i, p)
			}
		}
	}
	if w.items[i].answered { // a step is a batch
		w.inModel = false
	}
}

func (w *walk) input(i int) {
	w.inModel = false
	from, to := w.items[i].parts[0], w.items[i].parts[1]
	for p := from; p < to; p++ {
		if w.parts[p].kind == result && !w.parts[p].unpaired && w.reason == "" {
			w.answer(i, p)
		}
	}
}

// answer takes a result to its call.
func (w *walk) answer(i int, p int32) {
	at := w.callOf(p)
	if at < 0 && w.mended {
		return
	}
	if at < 0 {
		w.reason = fmt.Sprintf("result %q has no call", w.name(p))
		return
	}
	c := w.pending[at]
	w.pending = append(w.pending[:at], w.pending[at+1:]...)
	b := &w.batches[len(w.batches)-1]
	b.end = int32(i)
	w.parts[c].loads = w.parts[c].loads || w.parts[p].loads
	if w.parts[p].failed {
		return
	}
	switch w.parts[c].tool {
	case checkpoint:
		if got := readOutput(w.parts[p].value.In(w.body)); got.isCheckpoint() {
			b.opens, b.opened, b.framed = c, p, got.framed
		}
	case rewind:
		if b.closes < 0 && readOutput(w.parts[p].value.In(w.body)).isRewind() {
			b.closes, b.closed = c, p
		}
	}
}

// callOf finds the pending call of a result: by its id, or by the tool's name
// where either has no id.
func (w *walk) callOf(p int32) int {
	r := w.parts[p]
	for at, c := range w.pending {
		of := w.parts[c]
		if r.id.Len() > 0 && of.id.Len() > 0 {
			if bytes.Equal(r.id.In(w.body), of.id.In(w.body)) || w.str(r.id) == w.str(of.id) {
				return at
			}
		} else if r.name.Len() > 0 && w.str(r.name) == w.str(of.name) {
			return at
		}
	}
	return -1
}

// finish is for the end of a batch: all its calls have to have results.
func (w *walk) finish() {
	if w.mended {
		w.pending = nil
	}
	if len(w.pending) > 0 && w.reason == "" {
		w.reason = fmt.Sprintf("call %q has no result", w.name(w.pending[0]))
	}
}

func (w *walk) name(p int32) string {
	if id := w.str(w.parts[p].id); id != "" {
		return id
	}
	return w.str(w.parts[p].name)
}
