package session_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
	"github.com/turnback/turnback/conversation/session"
	"pgregory.net/rapid"
)

type object = map[string]any

// chatBody is a request with these messages, as Chat Completions has it.
func chatBody(messages []session.Message) []byte {
	list := []object{}
	for _, m := range messages {
		switch m.Role {
		case session.RoleAssistant:
			one := object{"role": "assistant", "content": m.JoinedText()}
			var calls []object
			for _, c := range m.Calls() {
				calls = append(calls, object{"id": c.CallID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
			}
			if len(calls) > 0 {
				one["tool_calls"] = calls
			}
			list = append(list, one)
		case session.RoleTool:
			for _, p := range m.Parts {
				result := session.Message{Parts: p.Content}
				list = append(list, object{"role": "tool", "tool_call_id": p.CallID, "content": result.JoinedText()})
			}
		default:
			list = append(list, object{"role": "user", "content": m.JoinedText()})
		}
	}
	return body(list)
}

// messagesBody is a request as Anthropic Messages has it: roles alternate.
func messagesBody(messages []session.Message) []byte {
	list := []object{}
	add := func(role string, blocks ...object) {
		if n := len(list); n > 0 && list[n-1]["role"] == role {
			blocks = append(list[n-1]["content"].([]object), blocks...)
			list = list[:n-1]
		}
		list = append(list, object{"role": role, "content": blocks})
	}
	text := func(text string) object { return object{"type": "text", "text": text} }
	for _, m := range messages {
		role := "user"
		if m.Role == session.RoleAssistant {
			role = "assistant"
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case session.KindText:
				add(role, text(p.Text))
			case session.KindCall:
				add(role, object{"type": "tool_use", "id": p.CallID, "name": p.Name, "input": json.RawMessage(p.Arguments)})
			case session.KindResult:
				content := []object{}
				for _, c := range p.Content {
					content = append(content, text(c.Text))
				}
				result := object{"type": "tool_result", "tool_use_id": p.CallID, "content": content}
				if p.IsError {
					result["is_error"] = true
				}
				add(role, result)
			}
		}
	}
	return body(list)
}

func body(list []object) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object{"model": "m", "messages": list}); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// Both hosts give a model the same to read: what our own agent sends after a
// rewind is what the proxy makes of the whole history.
func TestBothHostsSendTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHarnessIn(t, memoryDir(t))
		h.t = failing{t, rt}
		defer func() { h.s.Close(); os.RemoveAll(h.lib.Dir) }()
		h.user("begin")
		calls := func() []session.Part {
			var calls []session.Part
			for range rapid.IntRange(0, 2).Draw(rt, "reads") {
				calls = append(calls, h.read("a"))
			}
			return calls
		}
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			said := rapid.SampledFrom([]string{"", "I look.", "I think."}).Draw(rt, "said")
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				h.step(said, append(calls(), h.checkpoint("goal <&> \"x\""))...)
			case 1:
				h.step(said, append(calls(), h.rewind("report <&>"))...)
			case 2:
				h.says("An answer.")
				h.user(rapid.SampledFrom([]string{"go on", "<task-notification>done</task-notification>"}).Draw(rt, "typed"))
			case 3:
				h.says("Done.")
				if text := h.s.State().Guard(conversation.Settled{}).Reminder; text != "" {
					h.add(session.HostMessage(session.RoleUser, text))
				} else {
					h.user("more")
				}
			default:
				h.step(said, append(calls(), h.read("b"))...)
			}
		}
		var whole []session.Message
		for _, e := range h.s.Entries() {
			if e.Type == session.TypeMessage {
				whole = append(whole, *e.Message)
			}
		}
		for _, c := range []struct {
			provider collapse.Provider
			body     func([]session.Message) []byte
		}{{collapse.Chat, chatBody}, {collapse.Anthropic, messagesBody}} {
			got := collapse.Collapse(c.provider, conversation.OwnAgent, c.body(whole))
			if !got.Known || got.Reason != "" {
				rt.Fatalf("collapse: known %v, %s", got.Known, got.Reason)
			}
			var other, own any
			h.must(json.Unmarshal(got.Body, &other))
			h.must(json.Unmarshal(c.body(h.s.Context()), &own))
			if diff := cmp.Diff(other, own); diff != "" {
				rt.Fatalf("%v: (-by the proxy +by our agent):\n%s", c.provider, diff)
			}
			if (got.Open != nil) != (h.s.State().Open != nil) || got.Open != nil && got.Open.ID != h.s.State().Open.CallID {
				rt.Fatalf("open: %+v by the proxy, %+v by our agent", got.Open, h.s.State().Open)
			}
		}
	})
}
