package collapse

import (
	"bytes"
	"slices"
	"strings"

	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

// The forms of agents whose plugins may change a history before it becomes a
// request: a list of the agent's own messages, in an object as "messages".

// pi reads a message of pi's.
func (r *reader) pi() {
	var it item
	var role, callID, failed span
	first := len(r.parts)
	it.at = r.s.Object(func(key []byte) {
		switch string(key) {
		case "role":
			r.once(&role)
		case "content":
			r.list(&it, r.piBlock)
		case "toolCallId":
			r.once(&callID)
		case "isError":
			r.once(&failed)
		}
	})
	switch {
	case r.is(role, "assistant"):
		it.model = true
	case r.is(role, "toolResult"):
		r.parts = append(r.parts[:first], part{at: it.at, kind: result, id: callID, value: it.content, failed: r.isTrue(failed)})
	case r.is(role, "user"):
		it.person = true
	case r.is(role, "custom"), r.is(role, "bashExecution"): // of an extension; a command of the person's
		it.system = true
	default:
		it.unknown = true // a summary stands for what is not in the list
	}
	r.end(it, first)
}

func (r *reader) piBlock() {
	var b block
	at := r.s.Object(func(key []byte) {
		switch string(key) {
		case "type":
			r.once(&b.kind)
		case "text":
			r.once(&b.text)
		case "id":
			r.once(&b.id)
		case "name":
			r.once(&b.name)
		case "arguments":
			r.once(&b.arguments)
		}
	})
	p := part{at: at}
	switch {
	case r.is(b.kind, "text"):
		p.kind, p.value = text, b.text
	case r.is(b.kind, "thinking"):
		p.kind = reasoning
	case r.is(b.kind, "toolCall"):
		p.kind, p.id, p.value, p.tool = call, b.id, b.arguments, r.toolNamed(span{}, b.name)
	}
	r.parts = append(r.parts, p)
}

// openCode reads a message of OpenCode's: one of the model's is a step, with the
// results of its calls.
func (r *reader) openCode() {
	var it item
	var role span
	first := len(r.parts)
	steps := 0
	it.at = r.s.Object(func(key []byte) {
		switch string(key) {
		case "info":
			if r.s.Kind() != '{' {
				return
			}
			r.s.Object(func(key []byte) {
				if string(key) == "role" {
					r.once(&role)
				}
			})
		case "parts":
			r.list(&it, func() { r.openCodePart(&it, &steps) })
		}
	})
	it.model, it.answered, it.person = r.is(role, "assistant"), true, r.is(role, "user")
	it.unknown = it.unknown || it.bareText || steps > 1 || !it.model && !it.person
	r.end(it, first)
}

func (r *reader) openCodePart(it *item, steps *int) {
	var b block
	var status span
	loaded := false
	at := r.s.Object(func(key []byte) {
		switch string(key) {
		case "type":
			r.once(&b.kind)
		case "text":
			r.once(&b.text)
		case "callID":
			r.once(&b.callID)
		case "tool":
			r.once(&b.name)
		case "state":
			if r.s.Kind() != '{' {
				return
			}
			r.s.Object(func(key []byte) {
				switch string(key) {
				case "status":
					r.once(&status)
				case "input":
					r.once(&b.arguments)
				case "output":
					r.once(&b.output)
				case "metadata":
					loaded = hasMember(r.s.Skip().In(r.body), "loaded")
				}
			})
		}
	})
	p := part{at: at}
	switch {
	case r.is(b.kind, "text"):
		p.kind, p.value = text, b.text
	case r.is(b.kind, "reasoning"):
		p.kind = reasoning
	case r.is(b.kind, "step-start"):
		*steps++
	case r.is(b.kind, "compaction"):
		it.unknown = true
	case r.is(b.kind, "tool"):
		p.kind, p.id, p.value, p.tool = call, b.callID, b.arguments, r.toolNamed(span{}, b.name)
		r.parts = append(r.parts, p)
		if loaded {
			r.keepInstructions(b.output)
		}
		// One that was interrupted is sent with a result that says so.
		p = part{at: at, kind: result, id: b.callID, value: b.output, failed: !r.is(status, "completed")}
	}
	r.parts = append(r.parts, p)
}

// instructionsMark is what stands between a file that OpenCode read and the
// instructions that came with it. The lines of a file have numbers, so that none
// can look like it.
const instructionsMark = `\n</content>\n\n<system-reminder>\n`

// keepInstructions notes the part of a read's output, a JSON string, that has the
// instructions. The agent counts them as given from then on.
func (r *reader) keepInstructions(output span) {
	at := bytes.Index(output.In(r.body), []byte(instructionsMark))
	if at < 0 {
		return
	}
	if r.instructions == nil {
		r.instructions = map[int32]span{}
	}
	r.instructions[output.From] = span{From: output.From + int32(at+len(`\n</content>\n\n`)), To: output.To - 1}
}

// carry notes the instructions in results that go.
func (w *rewriter) carry(parts []part) {
	for _, p := range parts {
		stays, ok := w.instructions[p.value.From]
		if !ok || p.kind != result {
			continue
		}
		if said, ok := jsonscan.Unquote(slices.Concat([]byte(`"`), stays.In(w.body), []byte(`"`))); ok {
			w.carried = append(w.carried, said)
		}
	}
}

// withoutInstructions takes off instructions that stand behind a report.
func withoutInstructions(said string) string {
	const mark = "\n\n<system-reminder>\n"
	for at := 0; ; at++ {
		next := strings.Index(said[at:], mark)
		if next < 0 {
			return said
		}
		if at += next; frameIn(said[:at]) >= 0 {
			return said[:at]
		}
	}
}
