package collapse

import (
	"fmt"
	"strings"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

// stretch is a checkpoint and the rewind that closes it.
type stretch struct {
	opened, closed batch
	from, to       int // items between, with the rewind's own when it was its batch's only call
}

func (s stretch) alone() bool { return s.closed.calls == 1 }

// derive finds the spans of a history, and tells its state. A rewind closes the
// newest successful checkpoint of an earlier batch; when that one is closed
// already the rewind closes none.
func (h *history) derive(r *Result) []stretch {
	var found []stretch
	open := -1
	for i, b := range h.batches {
		if b.closes >= 0 && open >= 0 {
			found = append(found, newStretch(h.batches[open], b))
			open, r.Completed = -1, true
		}
		if b.opens < 0 {
			continue
		}
		r.Checkpoints = append(r.Checkpoints, h.identity(b.opens))
		if open, r.Completed = i, b.framed; b.framed {
			open = -1
		}
	}
	if open >= 0 {
		c := h.batches[open].opens
		goal, _ := argument(h.parts[c].value.In(h.body), "goal")
		r.Open = &OpenCheckpoint{ID: h.identity(c), Goal: goal, BatchEnded: true}
	}
	return found
}

func newStretch(opened, closed batch) stretch {
	s := stretch{opened: opened, closed: closed, from: int(opened.end) + 1, to: int(closed.first) - 1}
	if s.alone() {
		s.to = int(closed.end)
	}
	return s
}

// identity is the id of a checkpoint's call.
func (h *history) identity(c int32) string {
	if id := h.str(h.parts[c].id); id != "" {
		return id
	}
	goal, _ := argument(h.parts[c].value.In(h.body), "goal")
	return "goal:" + goal
}

// collapse notes the edits for one span. The reason is not empty when the span
// has something in it that the rules do not know.
func (w *rewriter) collapse(s stretch) (collapsed Span, reason string) {
	id := w.identity(s.opened.opens)
	for i := int(s.opened.first); i <= int(s.closed.end); i++ {
		if w.items[i].unknown {
			return Span{}, fmt.Sprintf("checkpoint %q: item %d is of a kind that is not known", id, i)
		}
	}
	report, ok := argument(w.parts[s.closed.closes].value.In(w.body), "report")
	if report = strings.TrimSpace(report); !ok || report == "" {
		return Span{}, fmt.Sprintf("checkpoint %q: its rewind has no report", id)
	}
	first := len(w.edits)
	w.carried = nil
	said, ok := w.between(s)
	if !ok {
		return Span{}, fmt.Sprintf("checkpoint %q: a message in it has members that are not known", id)
	}
	frame := conversation.Frame{
		Report: report,
		Facts:  readOutput(w.parts[s.closed.closed].value.In(w.body)).facts(),
		Said:   said,
	}
	if !w.frame(w.parts[s.opened.opened], strings.Join(append([]string{frame.String()}, w.carried...), "\n\n")) {
		return Span{}, fmt.Sprintf("checkpoint %q: its result has no place for a report", id)
	}
	goal, _ := argument(w.parts[s.opened.opens].value.In(w.body), "goal")
	collapsed = Span{Checkpoint: id, Goal: goal, Report: report}
	collapsed.BytesBefore = w.parts[s.opened.opened].at.Len()
	for i := s.from; i <= s.to; i++ {
		collapsed.BytesBefore += w.items[i].at.Len()
	}
	collapsed.BytesAfter = collapsed.BytesBefore
	for _, e := range w.edits[first:] {
		collapsed.BytesAfter += len(e.text) - e.at.Len()
	}
	return collapsed, ""
}

// speech gathers what the model said to the person in a span.
type speech struct {
	*history
	last span // of what it said since the last text of the person
	all  []string
}

// model takes the model's output.
func (s *speech) model(parts []part) {
	for _, p := range parts {
		if p.kind == text && p.value.Len() > len(`""`) {
			s.last = p.value
		}
	}
}

// person is called for each text that stays. What an agent puts in on its own is
// no answer to what the model said.
func (s *speech) person(said string) {
	isReminder := strings.HasPrefix(said, "<system-reminder>") && !strings.Contains(said, "The user sent a new message")
	if !isReminder && !strings.HasPrefix(said, "<task-notification>") {
		s.end()
	}
}

func (s *speech) end() {
	if s.last.Len() > 0 {
		s.all = append(s.all, s.str(s.last))
		s.last = span{}
	}
}

// between notes the edits for what lies between a checkpoint's batch and its
// rewind, and tells what the model said there.
func (w *rewriter) between(s stretch) (said []string, ok bool) {
	heard := &speech{history: w.history}
	if w.provider == Anthropic {
		ok = w.messages(s, heard)
	} else {
		ok = true
		for i := s.from; i <= s.to; i++ {
			w.element(i, heard)
		}
	}
	heard.end()
	return heard.all, ok
}

// element notes the edit for one item of a list in which messages of one role
// may follow each other: it goes, it stays, or some of its parts go.
func (w *rewriter) element(i int, heard *speech) {
	it, parts := w.items[i], w.partsOf(i)
	if it.model {
		heard.model(parts)
		w.carry(parts)
		if !w.loading(i) {
			w.drop(i)
		}
		return
	}
	var kept [][]byte
	for _, p := range parts {
		if w.stays(it, p, heard) {
			kept = append(kept, p.at.In(w.body))
		}
	}
	switch {
	case len(kept) == len(parts):
	case len(kept) == 0:
		w.drop(i)
	default:
		w.edit(it.content, joined(kept))
	}
}

// stays says whether a part of an input stays, and tells the speech of it.
func (w *rewriter) stays(of item, p part, heard *speech) bool {
	switch p.kind {
	case result:
		return p.loads
	case text:
		said := w.str(p.value)
		if conversation.IsReminder(said) {
			return false
		}
		if of.person {
			heard.person(said)
		}
	}
	return true
}

// loading says whether an item of the model's is a call that loads a tool, or
// the reasoning of its batch before one.
func (w *rewriter) loading(i int) bool {
	parts := w.partsOf(i)
	if len(parts) != 1 {
		return false
	}
	switch parts[0].kind {
	case call:
		return parts[0].loads
	case reasoning:
		for next := i + 1; next < len(w.items) && w.items[next].model; next++ {
			if later := w.partsOf(next); len(later) == 1 && later[0].kind == call && later[0].loads {
				return true
			}
		}
	}
	return false
}

// frame notes the edits that put a report into the checkpoint's result; false
// when there is no place for it.
func (w *rewriter) frame(p part, frame string) bool {
	return w.frameInto(p.value, frame, w.provider == Anthropic)
}

// frameInto goes to the text within a result. Blocks says that a string may
// become a list of blocks.
func (w *rewriter) frameInto(value span, frame string, blocks bool) bool {
	s := jsonscan.Within(w.body, value)
	switch s.Kind() {
	case '"':
		if blocks {
			w.edit(value, joined([][]byte{textBlock(withoutLastLine(value.In(w.body))), textBlock(jsonscan.Quote(frame))}))
			return true
		}
		w.frameInString(value, frame)
		return true
	case '[':
		return w.frameInList(s, frame)
	case '{':
		inner := span{}
		s.Object(func(key []byte) {
			switch string(key) {
			case "output", "result", "content":
				inner = s.Skip()
			}
		})
		if inner.Len() == 0 {
			w.edit(span{From: value.To - 1, To: value.To - 1}, append([]byte(`,"output":`), jsonscan.Quote(frame)...))
			return true
		}
		return w.frameInto(inner, frame, false)
	}
	return false
}

// frameInList puts the report behind the block that says that the checkpoint was
// created, as a block of the same type.
func (w *rewriter) frameInList(s *jsonscan.Scanner, frame string) bool {
	done := false
	s.Array(func() {
		if s.Kind() != '{' || done {
			return
		}
		var kindOf, said span
		at := s.Object(func(key []byte) {
			switch string(key) {
			case "type":
				kindOf = s.Skip()
			case "text":
				said = s.Skip()
			}
		})
		if said.Len() == 0 || !readOutput(said.In(w.body)).isCheckpoint() {
			return
		}
		w.edit(said, withoutLastLine(said.In(w.body)))
		block := append([]byte(`,{"type":`), kindOf.In(w.body)...)
		if kindOf.Len() == 0 {
			block = []byte(`,{"type":"text"`)
		}
		block = append(append(append(block, `,"text":`...), jsonscan.Quote(frame)...), '}')
		w.edit(span{From: at.To, To: at.To}, block)
		done = true
	})
	return done
}

// withoutLastLine is a JSON string without the line that asks for a rewind.
func withoutLastLine(raw []byte) []byte {
	at := strings.LastIndex(string(raw), `\n`+conversation.InvestigateLine)
	if at < 0 {
		return raw
	}
	rest := raw[at+len(`\n`+conversation.InvestigateLine):]
	return append(append(make([]byte, 0, len(raw)), raw[:at]...), rest...)
}

// frameInString puts the report in the place of the line that asks for a rewind,
// or at the end.
func (w *rewriter) frameInString(value span, frame string) {
	raw := string(value.In(w.body))
	said := withoutHeader(w.str(value))
	if strings.HasPrefix(said, untrustedOpen) {
		frame = strings.ReplaceAll(frame, strings.TrimSpace(untrustedClose), "&lt;/untrusted_context&gt;")
	}
	at := strings.LastIndex(raw, conversation.InvestigateLine)
	if at < 0 {
		end := value.To - 1
		w.edit(span{From: end, To: end}, escaped("\n"+frame))
		return
	}
	within := escaped(frame)
	if strings.HasPrefix(said, "[{") || strings.HasPrefix(said, "{") { // JSON within the string
		within = escaped(string(within))
	}
	from := value.From + int32(at)
	w.edit(span{From: from, To: from + int32(len(conversation.InvestigateLine))}, within)
}

// escaped is a text as it stands within a JSON string.
func escaped(said string) []byte {
	quoted := jsonscan.Quote(said)
	return quoted[1 : len(quoted)-1]
}

// textBlock is a block with a text that is JSON already.
func textBlock(quoted []byte) []byte {
	return append(append([]byte(`{"type":"text","text":`), quoted...), '}')
}
