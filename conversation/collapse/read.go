package collapse

import (
	"bytes"
	"errors"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

// errShape is for a body that is JSON and not what its provider takes.
var errShape = errors.New("not the shape of a history")

// errTwice is for two lists: which one counts is not ours to say.
var errTwice = errors.New("more than one list of messages")

// reader reads the list of one provider's form.
type reader struct {
	*history
	s     *jsonscan.Scanner
	lists int  // how many lists were found
	odd   bool // a member that matters came twice in this item, or it stands for others
	err   error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// read finds the history in a body.
func read(p Provider, host conversation.Host, body []byte) (*history, error) {
	r := &reader{history: &history{body: body, host: host}, s: jsonscan.New(body)}
	var element func()
	var members map[string]bool
	switch p {
	case Anthropic:
		element, members = r.anthropic, map[string]bool{"messages": true}
	case Chat:
		element, members = r.chat, map[string]bool{"messages": true}
	case Responses:
		element, members = r.response, map[string]bool{"input": true}
	case Gemini:
		// countTokens and some logins wrap the request.
		element, members = r.gemini, map[string]bool{"contents": true, "generateContentRequest": false, "request": false}
	case Pi:
		element, members = r.pi, map[string]bool{"messages": true}
	case OpenCode:
		element, members = r.openCode, map[string]bool{"messages": true}
	default:
		return nil, errShape
	}
	r.members(members, element)
	if err := r.s.End(); err != nil {
		return nil, err
	}
	if r.err == nil && r.lists > 1 {
		r.err = errTwice
	}
	return r.history, r.err
}

// members goes over the members of a body: true is for a list of the history,
// false for an object that may have one.
func (r *reader) members(names map[string]bool, element func()) {
	r.s.Object(func(key []byte) {
		isList, known := names[string(key)]
		switch {
		case known && isList && r.s.Kind() == '[':
			r.lists++
			r.s.Array(element)
		case known && isList && r.s.Kind() == '"': // an input of one text
			r.lists++
		case known && isList:
			r.fail(errShape)
		case known && r.s.Kind() == '{':
			r.members(map[string]bool{"contents": true}, element)
		case string(key) == "previous_response_id" && r.s.Kind() == '"':
			r.partial = true
		}
	})
}

// once takes a member's value, and notes when it had one before: readers of
// JSON do not agree which of them counts.
func (r *reader) once(value *span) {
	r.odd = r.odd || value.Len() > 0
	*value = r.s.Skip()
}

// end adds an item, which has the parts since the first one given.
func (r *reader) end(it item, first int) {
	it.unknown = it.unknown || r.odd
	it.parts = [2]int32{int32(first), int32(len(r.parts))}
	r.items = append(r.items, it)
	r.odd = false
}

// list takes a member that is a list or a string, by a function for each
// element; a string is one text. Null is like no member.
func (r *reader) list(it *item, element func()) {
	r.odd = r.odd || it.content.Len() > 0
	switch r.s.Kind() {
	case '[':
		it.content = r.s.Array(element)
	case '"':
		it.content, it.bareText = r.s.Skip(), true
		r.parts = append(r.parts, part{at: it.content, value: it.content, kind: text})
	case 'n':
		r.s.Skip()
	default:
		it.unknown = true
		it.content = r.s.Skip()
	}
}

// isTrue says whether a value is the word true.
func (r *reader) isTrue(value span) bool { return string(value.In(r.body)) == "true" }

func (r *reader) hasSuffix(value span, suffix string) bool {
	return bytes.HasSuffix(value.In(r.body), []byte(suffix+`"`))
}

// block is the members of a block, in whichever form.
type block struct {
	kind, text, id, callID, name, namespace, arguments, output, failed, mark span
}

// anthropic reads a message.
func (r *reader) anthropic() {
	var it item
	var role span
	first := len(r.parts)
	it.at = r.s.Object(func(key []byte) {
		switch string(key) {
		case "role":
			r.once(&role)
		case "content":
			r.list(&it, r.anthropicBlock)
		default:
			it.extra = true
		}
	})
	it.model, it.system, it.person = r.is(role, "assistant"), r.is(role, "system"), r.is(role, "user")
	it.unknown = it.unknown || !it.model && !it.system && !it.person
	r.end(it, first)
}

func (r *reader) anthropicBlock() {
	var b block
	var p part
	p.at = r.s.Object(func(key []byte) {
		switch string(key) {
		case "type":
			r.once(&b.kind)
		case "text":
			r.once(&b.text)
		case "id":
			r.once(&b.id)
		case "tool_use_id":
			r.once(&b.callID)
		case "name":
			r.once(&b.name)
		case "input":
			r.once(&b.arguments)
		case "content":
			r.odd = r.odd || b.output.Len() > 0
			b.output = r.anthropicContent(&p)
		case "is_error":
			r.once(&b.failed)
		case "cache_control":
			if r.s.Kind() != 'n' {
				r.once(&b.mark)
			}
		}
	})
	p.mark = b.mark
	switch {
	case r.is(b.kind, "text"):
		p.kind, p.value = text, b.text
	case r.is(b.kind, "thinking"), r.is(b.kind, "redacted_thinking"):
		p.kind = reasoning
	case r.is(b.kind, "tool_use"):
		p.kind, p.id, p.value, p.tool = call, b.id, b.arguments, r.toolNamed(span{}, b.name)
	case r.is(b.kind, "server_tool_use"), r.is(b.kind, "mcp_tool_use"):
		p.kind, p.unpaired = call, true // answered in the same message
	case r.is(b.kind, "compaction"):
		r.odd = true
	case r.is(b.kind, "tool_result"):
		p.kind, p.id, p.value, p.failed = result, b.callID, b.output, r.isTrue(b.failed)
	}
	r.parts = append(r.parts, p)
}

// anthropicContent takes the content of a block, and notes whether it loads a
// tool.
func (r *reader) anthropicContent(p *part) span {
	if r.s.Kind() != '[' {
		return r.s.Skip()
	}
	return r.s.Array(func() {
		if r.s.Kind() != '{' {
			return
		}
		r.s.Object(func(key []byte) {
			if string(key) == "type" {
				p.loads = r.is(r.s.Skip(), "tool_reference") || p.loads
			}
		})
	})
}

// chat reads a message.
func (r *reader) chat() {
	var it item
	var role, callID span
	first := len(r.parts)
	it.at = r.s.Object(func(key []byte) {
		switch string(key) {
		case "role":
			r.once(&role)
		case "content":
			r.list(&it, r.textBlock)
		case "tool_calls":
			if r.s.Kind() == '[' {
				r.s.Array(r.chatCall)
			}
		case "tool_call_id":
			r.once(&callID)
		case "function_call": // of an older form, without ids
			it.unknown = it.unknown || r.s.Kind() != 'n'
		}
	})
	switch {
	case r.is(role, "assistant"):
		it.model = true
	case r.is(role, "tool"):
		r.parts = append(r.parts[:first], part{at: it.at, kind: result, id: callID, value: it.content})
	case r.is(role, "user"):
		it.person = true
	case r.is(role, "system"), r.is(role, "developer"):
		it.system = true
	default:
		it.unknown = true
	}
	r.end(it, first)
}

func (r *reader) chatCall() {
	var id, name, arguments span
	of := func(key []byte) {
		switch string(key) {
		case "name":
			r.once(&name)
		case "arguments", "input":
			r.once(&arguments)
		}
	}
	at := r.s.Object(func(key []byte) {
		switch string(key) {
		case "id":
			r.once(&id)
		case "function", "custom":
			if r.s.Kind() == '{' {
				r.s.Object(of)
			}
		}
	})
	r.parts = append(r.parts, part{at: at, kind: call, id: id, value: arguments, tool: r.toolNamed(span{}, name)})
}

// textBlock reads a block of a message that has no calls or results in it.
func (r *reader) textBlock() {
	var kindOf, said span
	if r.s.Kind() != '{' {
		r.parts = append(r.parts, part{at: r.s.Skip()})
		return
	}
	at := r.s.Object(func(key []byte) {
		switch string(key) {
		case "type":
			r.once(&kindOf)
		case "text":
			r.once(&said)
		}
	})
	p := part{at: at}
	if r.is(kindOf, "text") || r.is(kindOf, "input_text") || r.is(kindOf, "output_text") {
		p.kind, p.value = text, said
	}
	r.parts = append(r.parts, p)
}

// response reads an item.
func (r *reader) response() {
	var it item
	var b block
	var role span
	first := len(r.parts)
	it.at = r.s.Object(func(key []byte) {
		switch string(key) {
		case "type":
			r.once(&b.kind)
		case "role":
			r.once(&role)
		case "content":
			r.list(&it, r.textBlock)
		case "call_id":
			r.once(&b.callID)
		case "name":
			r.once(&b.name)
		case "namespace":
			r.once(&b.namespace)
		case "arguments", "input":
			r.once(&b.arguments)
		case "output":
			r.once(&b.output)
		}
	})
	r.responseItem(&it, b, role, first)
	r.end(it, first)
}

// responseItem tells what an item is by its type.
func (r *reader) responseItem(it *item, b block, role span, first int) {
	switch {
	case b.kind.Len() == 0 && role.Len() > 0, r.is(b.kind, "message"):
		it.model, it.person = r.is(role, "assistant"), r.is(role, "user")
		it.system = r.is(role, "system") || r.is(role, "developer")
		it.unknown = it.unknown || !it.model && !it.person && !it.system
		return
	case r.is(b.kind, "additional_tools"):
		return
	}
	p := part{at: it.at}
	switch hasID := b.callID.Len() > len(`""`) && r.body[b.callID.From] == '"'; {
	case r.is(b.kind, "reasoning"):
		it.model, p.kind = true, reasoning
	case r.hasSuffix(b.kind, "_call"), r.is(b.kind, "mcp_list_tools"):
		it.model, p.kind, p.id, p.value = true, call, b.callID, b.arguments
		p.unpaired, p.loads = !hasID, r.is(b.kind, "tool_search_call")
		p.tool = r.toolNamed(b.namespace, b.name)
	case r.hasSuffix(b.kind, "_output"):
		p.kind, p.id, p.value = result, b.callID, b.output
		p.unpaired, p.loads = !hasID, r.is(b.kind, "tool_search_output")
	default:
		it.unknown = true
	}
	r.parts = append(r.parts[:first], p)
}

// gemini reads a content.
func (r *reader) gemini() {
	var it item
	var role span
	first := len(r.parts)
	it.at = r.s.Object(func(key []byte) {
		switch string(key) {
		case "role":
			r.once(&role)
		case "parts":
			r.list(&it, r.geminiPart)
		default:
			it.extra = true
		}
	})
	it.model, it.person = r.is(role, "model"), role.Len() == 0 || r.is(role, "user") || r.is(role, "function")
	it.unknown = it.unknown || it.bareText || !it.model && !it.person
	r.end(it, first)
}

func (r *reader) geminiPart() {
	var said, thought span
	p := part{}
	count := 0
	p.at = r.s.Object(func(key []byte) {
		switch string(key) {
		case "text":
			r.once(&said)
		case "thought":
			r.once(&thought)
		case "functionCall", "function_call":
			count++
			p.kind = call
			r.geminiFunction(&p, "args")
			p.tool = r.toolNamed(span{}, p.name)
		case "functionResponse", "function_response":
			count++
			p.kind = result
			r.geminiFunction(&p, "response")
		}
	})
	switch {
	case count > 1:
		r.fail(errShape)
	case count == 1:
	case r.isTrue(thought):
		p.kind = reasoning
	case said.Len() > 0:
		p.kind, p.value = text, said
	}
	r.parts = append(r.parts, p)
}

// geminiFunction reads a call or a result, whose value has the given name.
func (r *reader) geminiFunction(p *part, value string) {
	if r.s.Kind() != '{' {
		r.fail(errShape)
		return
	}
	r.s.Object(func(key []byte) {
		switch string(key) {
		case "id":
			r.once(&p.id)
		case "name":
			r.once(&p.name)
		case value:
			r.once(&p.value)
		}
	})
	if p.kind == result {
		p.failed = hasMember(p.value.In(r.body), "error")
	}
}

func hasMember(object []byte, name string) bool {
	found := false
	s := jsonscan.New(object)
	s.Object(func(key []byte) { found = found || string(key) == name })
	return found
}
