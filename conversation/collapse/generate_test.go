package collapse_test

import (
	"fmt"
	"strings"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

// kindOfCall is what a generated call is of.
type kindOfCall int

const (
	explore kindOfCall = iota
	opens
	closes
	loads
)

type generatedCall struct {
	kind kindOfCall
	id   string
	ok   bool
}

// step is a prompt of the person (calls and said empty), or an output of the
// model with the results of its calls.
type step struct {
	prompt []string
	guard  bool // the prompt is the guard's
	thinks string
	said   string
	calls  []generatedCall
	typed  []string // texts that come with the results
	image  string
	system string // behind the results or the prompt
}

func (s step) isPrompt() bool { return len(s.prompt) > 0 || s.guard }

// tape draws from the bytes of a fuzz input; zeros when they are used up.
type tape struct {
	bytes []byte
	count int // of marks given out
}

func (t *tape) under(n int) int {
	if len(t.bytes) == 0 {
		return 0
	}
	b := t.bytes[0]
	t.bytes = t.bytes[1:]
	return int(b) % n
}

func (t *tape) once(in int) bool { return t.under(in) == in-1 }

// mark is a text that is in a history once.
func (t *tape) mark(what string) string {
	t.count++
	return fmt.Sprintf("%s#%d# <&> \"é\"\n\\", what, t.count)
}

// history draws a valid history: a prompt, outputs with their results, and a
// prompt after each output without calls.
func (t *tape) history() []step {
	var steps []step
	prompt := true
	for len(steps) < 2 || len(t.bytes) > 0 && len(steps) < 40 {
		if prompt {
			s := step{prompt: []string{t.mark("prompt")}}
			switch t.under(4) {
			case 1:
				s.prompt = append(s.prompt, t.mark("prompt"))
			case 2:
				s.guard = len(steps) > 0
			}
			if s.guard {
				s.prompt = nil
			}
			if t.once(5) {
				s.system = t.mark("system")
			}
			steps, prompt = append(steps, s), false
			continue
		}
		s := t.output()
		prompt = len(s.calls) == 0
		steps = append(steps, s)
	}
	return steps
}

func (t *tape) output() step {
	s := step{}
	if t.once(3) {
		s.thinks = t.mark("thought")
	}
	if t.once(2) {
		s.said = t.mark("said")
	}
	for range t.under(4) {
		c := generatedCall{id: fmt.Sprintf("call_%d", t.count), ok: !t.once(5)}
		c.kind = []kindOfCall{explore, opens, explore, closes, loads, opens, closes}[t.under(7)]
		t.count++
		s.calls = append(s.calls, c)
	}
	if len(s.calls) == 0 {
		s.said = t.mark("said")
		return s
	}
	for range t.under(3) {
		s.typed = append(s.typed, t.mark("typed"))
	}
	if t.once(6) {
		s.image = t.mark("image")
	}
	if t.once(5) {
		s.system = t.mark("system")
	}
	return s
}

// resultOf is the text that a call gives.
func resultOf(c generatedCall) string {
	switch {
	case !c.ok:
		return "failed: result of " + c.id + ";"
	case c.kind == opens:
		return conversation.CreatedText("goal of " + c.id + ";")
	case c.kind == closes:
		return conversation.RewindText()
	}
	return "result of " + c.id + ";"
}

func argumentsOf(c generatedCall) string {
	switch c.kind {
	case opens:
		return `{"goal":` + quote("goal of "+c.id+";") + `}`
	case closes:
		return `{"report":` + quote("report of "+c.id+";") + `}`
	}
	return `{"n":9007199254740993,"of":` + quote("argument of "+c.id+";") + `}`
}

// render writes the steps as a history; mark puts a cache mark on the last block
// (Anthropic).
func render(p collapse.Provider, steps []step, mark bool) []string {
	var list []string
	for i, s := range steps {
		switch p {
		case collapse.Anthropic:
			list = append(list, renderAnthropic(s, mark && i == len(steps)-1)...)
		case collapse.Chat:
			list = append(list, renderChat(s)...)
		case collapse.Responses:
			list = append(list, renderResponses(s)...)
		case collapse.Gemini:
			list = append(list, renderGemini(s)...)
		case collapse.Pi:
			list = append(list, renderPi(s)...)
		case collapse.OpenCode:
			list = append(list, renderOpenCode(s)...)
		}
	}
	return list
}

func names(k kindOfCall, prefix string) string {
	return map[kindOfCall]string{explore: "Read", loads: "ToolSearch", opens: prefix + "checkpoint", closes: prefix + "rewind"}[k]
}

func renderAnthropic(s step, mark bool) []string {
	var blocks, list []string
	if !s.isPrompt() {
		if s.thinks != "" {
			blocks = append(blocks, thinks(s.thinks[:4])[:len(thinks(s.thinks[:4]))-1]+`,"note":`+quote(s.thinks)+"}")
		}
		if s.said != "" {
			blocks = append(blocks, says(s.said))
		}
		for _, c := range s.calls {
			blocks = append(blocks, uses(c.id, names(c.kind, "mcp__turnback__"), argumentsOf(c)))
		}
		list = append(list, assistant(blocks...))
	}
	blocks = nil
	for _, c := range s.calls {
		switch {
		case !c.ok:
			blocks = append(blocks, fails(c.id, resultOf(c)))
		case c.kind == loads:
			blocks = append(blocks, `{"type":"tool_result","tool_use_id":"`+c.id+`","content":[{"type":"tool_reference","tool_name":`+quote(resultOf(c))+`}]}`)
		default:
			blocks = append(blocks, gives(c.id, resultOf(c)))
		}
	}
	for _, text := range append(append([]string{}, s.prompt...), s.typed...) {
		blocks = append(blocks, says(text))
	}
	if s.guard {
		blocks = append(blocks, says("<system-reminder>\nStop hook additional context: "+conversation.Reminder(2)+"</system-reminder>"))
	}
	if s.image != "" {
		blocks = append(blocks, `{"type":"image","source":{"type":"url","url":`+quote(s.image)+`}}`)
	}
	if len(blocks) > 0 {
		if mark {
			blocks[len(blocks)-1] = marked(blocks[len(blocks)-1])
		}
		list = append(list, user(blocks...))
	}
	if s.system != "" && len(blocks) > 0 {
		list = append(list, `{"role":"system","content":`+quote(s.system)+`}`)
	}
	return list
}

func renderChat(s step) []string {
	var list []string
	if !s.isPrompt() {
		list = append(list, renderChatOutput(s))
	}
	for _, c := range s.calls {
		list = append(list, tool(c.id, resultOf(c)))
	}
	if s.guard {
		list = append(list, `{"role":"user","content":`+quote(conversation.Reminder(3))+`}`)
	}
	for _, text := range append(append([]string{}, s.prompt...), s.typed...) {
		list = append(list, `{"role":"user","content":`+quote(text)+`}`)
	}
	if s.image != "" {
		list = append(list, `{"role":"user","content":[{"type":"image_url","image_url":{"url":`+quote(s.image)+`}}]}`)
	}
	if s.system != "" {
		list = append(list, `{"role":"system","content":`+quote(s.system)+`}`)
	}
	return list
}

func renderChatOutput(s step) string {
	content, calls := "null", make([]string, len(s.calls))
	if s.said != "" {
		content = quote(s.said)
	}
	for i, c := range s.calls {
		calls[i] = chatCall(c.id, names(c.kind, "turnback_"), argumentsOf(c))
	}
	if len(calls) == 0 {
		return `{"role":"assistant","content":` + content + `}`
	}
	if s.thinks != "" {
		return `{"role":"assistant","reasoning_content":` + quote(s.thinks) + `,"content":` + content + `,"tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	return chatCalls(content, calls...)
}

func renderResponses(s step) []string {
	var list []string
	if s.thinks != "" {
		list = append(list, item("reasoning", `"summary":[],"encrypted_content":`+quote(s.thinks)))
	}
	if s.said != "" {
		list = append(list, message("assistant", s.said))
	}
	for _, c := range s.calls {
		switch c.kind {
		case loads:
			list = append(list, item("tool_search_call", `"call_id":"`+c.id+`","arguments":`+argumentsOf(c)))
		case explore:
			list = append(list, calls(c.id, "shell", argumentsOf(c)))
		default:
			list = append(list, codex(c.id, names(c.kind, ""), argumentsOf(c)))
		}
	}
	for _, c := range s.calls {
		switch c.kind {
		case loads:
			list = append(list, item("tool_search_output", `"call_id":"`+c.id+`","tools":[{"name":`+quote(resultOf(c))+`}]`))
		default:
			list = append(list, outputs(c.id, wall, resultOf(c)))
		}
	}
	if s.guard {
		list = append(list, message("user", `<hook_prompt hook_run_id="stop:1">`+conversation.Reminder(1)+`</hook_prompt>`))
	}
	for _, text := range append(append([]string{}, s.prompt...), s.typed...) {
		list = append(list, message("user", text))
	}
	if s.image != "" {
		list = append(list, item("message", `"role":"user","content":[{"type":"input_image","image_url":`+quote(s.image)+`}]`))
	}
	if s.system != "" {
		list = append(list, message("developer", s.system))
	}
	return list
}

func renderGemini(s step) []string {
	var parts, list []string
	if !s.isPrompt() {
		if s.thinks != "" {
			parts = append(parts, `{"thought":true,"text":`+quote(s.thinks)+`}`)
		}
		if s.said != "" {
			parts = append(parts, `{"text":`+quote(s.said)+`}`)
		}
		for _, c := range s.calls {
			parts = append(parts, functionCall(names(c.kind, "mcp_turnback_"), argumentsOf(c)))
		}
		list = append(list, content("model", parts...))
	}
	parts = nil
	for _, c := range s.calls {
		parts = append(parts, functionResponse(names(c.kind, "mcp_turnback_"), untrusted(resultOf(c))))
	}
	for _, text := range append(append([]string{}, s.prompt...), s.typed...) {
		parts = append(parts, `{"text":`+quote(text)+`}`)
	}
	if s.guard {
		parts = append(parts, `{"text":`+quote(conversation.Reminder(3))+`}`)
	}
	if s.image != "" {
		parts = append(parts, `{"inlineData":{"mimeType":"image/png","data":`+quote(s.image)+`}}`)
	}
	if len(parts) > 0 {
		list = append(list, content("user", parts...))
	}
	return list
}
