package collapse_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

// Messages of pi.

func piCall(id, name, arguments string) string {
	return `{"type":"toolCall","id":"` + id + `","name":"` + name + `","arguments":` + arguments + `}`
}

func piOutput(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `],"api":"openai-completions","usage":{"input":1.0},"stopReason":"toolUse","timestamp":1796027824993}`
}

func piResult(id string, isError bool, texts ...string) string {
	blocks := make([]string, len(texts))
	for i := range texts {
		blocks[i] = says(texts[i])
	}
	return `{"role":"toolResult","toolCallId":"` + id + `","content":[` + strings.Join(blocks, ",") + `],"details":{"a":1.0},"isError":` + fmt.Sprint(isError) + `}`
}

func piSays(text string) string {
	return `{"role":"user","content":[` + says(text) + `],"timestamp":1796027824941}`
}

// Messages of OpenCode.

func openCodeMessage(role string, parts ...string) string {
	return `{"info":{"role":"` + role + `","time":{"created":1796059756467}},"parts":[` + strings.Join(parts, ",") + `]}`
}

func openCodeTool(id, name, input, status, output string) string {
	return `{"type":"tool","tool":"` + name + `","callID":"` + id + `","state":{"status":"` + status + `","input":` + input + `,"output":` + quote(output) + `,"metadata":{"truncated":false}}}`
}

func openCodeStep(parts ...string) string {
	return openCodeMessage("assistant", slices.Concat([]string{`{"snapshot":"4b825dc","type":"step-start"}`}, parts, []string{`{"type":"step-finish","cost":0}`})...)
}

// openCodeLoads is a read of a file that came with instructions.
func openCodeLoads(id, instructions string) string {
	output := "<path>/w/sub/a</path>\n<content>\n1: \n2: <system-reminder>\n</content>\n\n<system-reminder>\n" + instructions + "\n</system-reminder>"
	return `{"type":"tool","tool":"read","callID":"` + id + `","state":{"status":"completed","input":{},"output":` + quote(output) + `,"metadata":{"loaded":["/w/sub/AGENTS.md"]}}}`
}

func TestMessagesOfPi(t *testing.T) {
	t.Parallel()
	cp := piCall("c", "turnback_checkpoint", `{"goal":"g"}`)
	rw := piCall("w", "turnback_rewind", `{"report":"R"}`)
	custom := `{"role":"custom","customType":"x","content":"note","display":true}`
	run(t, collapse.Pi, []test{
		{
			name: "checkpoint, exploration, rewind",
			history: []string{
				piSays("why?"), piOutput(`{"type":"thinking","thinking":"hm","thinkingSignature":"s"}`, cp), piResult("c", false, conversation.CreatedText("g")),
				piOutput(says("Looking."), piCall("r", "read", `{}`)), piResult("r", false, "one"), piSays(conversation.Reminder(1)), custom, `{"role":"bashExecution","command":"ls","output":"x"}`, piSays("typed"),
				piOutput(rw), piResult("w", false, conversation.RewindText(), facts), piOutput(says("It is a.go.")),
			},
			want: []string{
				piSays("why?"), piOutput(`{"type":"thinking","thinking":"hm","thinkingSignature":"s"}`, cp), piResult("c", false, head("g"), framed("R", facts, "Looking.")),
				custom, `{"role":"bashExecution","command":"ls","output":"x"}`, piSays("typed"), piOutput(says("It is a.go.")),
			},
		},
		{
			name: "an aborted call without a result is pi's to mend",
			history: []string{
				piSays("why?"), piOutput(cp), piResult("c", false, conversation.CreatedText("g")), piOutput(piCall("x", "bash", `{"command":"sleep 9"}`)), piSays("go on"),
				piOutput(rw), piResult("w", false, conversation.RewindText()), piResult("gone", false, "of a call that is not there"),
			},
			want: []string{piSays("why?"), piOutput(cp), piResult("c", false, head("g"), framed("R", "")), piSays("go on"), piResult("gone", false, "of a call that is not there")},
			lax:  true,
		},
		{
			name:    "an error closes nothing",
			history: []string{piSays("why?"), piOutput(cp), piResult("c", false, conversation.CreatedText("g")), piOutput(rw), piResult("w", true, conversation.RewindText())},
		},
		{
			name:    "B143 a compaction in the span",
			history: []string{piSays("why?"), piOutput(cp), piResult("c", false, conversation.CreatedText("g")), `{"role":"compactionSummary","summary":"x"}`, piOutput(rw), piResult("w", false, conversation.RewindText())},
			reason:  "not known",
		},
	})
}

func TestMessagesOfOpenCode(t *testing.T) {
	t.Parallel()
	asked := openCodeMessage("user", says("why?"))
	cp := func(text string) string {
		return openCodeTool("c", "turnback_checkpoint", `{"goal":"g"}`, "completed", text)
	}
	rw := openCodeTool("w", "turnback_rewind", `{"report":"R"}`, "completed", conversation.RewindText()+"\n\n"+facts)
	read := func(id string) string { return openCodeTool(id, "read", `{"n":1.0}`, "completed", "one") }
	run(t, collapse.OpenCode, []test{
		{
			name: "each message of the model's is a step with its results",
			history: []string{
				asked, openCodeStep(read("r0"), cp(conversation.CreatedText("g"))), openCodeStep(`{"type":"reasoning","text":"hm"}`, says("Looking."), read("r1")),
				openCodeStep(openCodeTool("r2", "read", `{}`, "error", "")), openCodeMessage("user", says("typed"), `{"type":"file","url":"data:"}`), openCodeStep(says("Found."), rw), openCodeStep(says("It is a.go.")),
			},
			want: []string{
				asked, openCodeStep(read("r0"), cp(head("g")+"\n"+framed("R", facts, "Looking.", "Found."))), openCodeMessage("user", says("typed"), `{"type":"file","url":"data:"}`), openCodeStep(says("It is a.go.")),
			},
		},
		{
			name: "instructions that a read loaded stay",
			history: []string{
				asked, openCodeStep(cp(conversation.CreatedText("g"))),
				openCodeStep(openCodeLoads("r1", "Instructions from: /w/sub/AGENTS.md\nNESTED")), openCodeStep(openCodeLoads("r2", "MORE"), read("r3")), openCodeStep(rw), openCodeStep(says("It is a.go.")),
			},
			want: []string{
				asked, openCodeStep(cp(head("g") + "\n" + framed("R", facts) +
					"\n\n<system-reminder>\nInstructions from: /w/sub/AGENTS.md\nNESTED\n</system-reminder>\n\n<system-reminder>\nMORE\n</system-reminder>")), openCodeStep(says("It is a.go.")),
			},
		},
		{
			name:    "a rewind that was called together with others stays",
			history: []string{asked, openCodeStep(cp(conversation.CreatedText("g"))), openCodeStep(read("r1")), openCodeStep(says("With."), rw, read("r2"))},
			want:    []string{asked, openCodeStep(cp(head("g") + "\n" + framed("R", facts))), openCodeStep(says("With."), rw, read("r2"))},
		},
		{
			name: "one that was interrupted is not a success",
			history: []string{
				asked, openCodeStep(cp(conversation.CreatedText("g"))), openCodeStep(openCodeTool("w", "turnback_rewind", `{"report":"R"}`, "running", conversation.RewindText())),
			},
		},
		{
			name:    "two steps in one message",
			history: []string{asked, openCodeStep(cp(conversation.CreatedText("g")), `{"type":"step-start"}`, read("r1")), openCodeStep(rw)},
			reason:  "not known",
		},
		{
			name:    "B143 a compaction in the span",
			history: []string{asked, openCodeStep(cp(conversation.CreatedText("g"))), openCodeMessage("user", `{"type":"compaction","auto":true}`), openCodeStep(rw)},
			reason:  "not known",
		},
	})
}

// inProcessProblems are calls and results of messages of pi's or OpenCode's that
// do not fit.
func inProcessProblems(body []byte) []string {
	var b struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
			CallID  string `json:"toolCallId"`
			Parts   []struct{ Type string }
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return []string{err.Error()}
	}
	var problems, open []string
	for i, m := range b.Messages {
		if m.Role == "" {
			if len(m.Parts) == 0 {
				problems = append(problems, fmt.Sprintf("messages.%d: no parts", i))
			}
			continue
		}
		if m.Role == "toolResult" {
			if at := slices.Index(open, m.CallID); at >= 0 {
				open = slices.Delete(open, at, at+1)
			} else {
				problems = append(problems, fmt.Sprintf("messages.%d: result %s without its call", i, m.CallID))
			}
			continue
		}
		if len(open) > 0 {
			problems = append(problems, fmt.Sprintf("messages.%d: calls %v have no result", i, open))
		}
		open = nil
		var blocks []struct{ Type, ID string }
		if m.Role == "assistant" && json.Unmarshal(m.Content, &blocks) == nil {
			for _, block := range blocks {
				if block.Type == "toolCall" {
					open = append(open, block.ID)
				}
			}
		}
	}
	if len(open) > 0 {
		problems = append(problems, fmt.Sprintf("end: calls %v have no result", open))
	}
	return problems
}

// renderPi writes a generated step as pi has it.
func renderPi(s step) []string {
	var blocks, list []string
	if s.thinks != "" {
		blocks = append(blocks, `{"type":"thinking","thinking":`+quote(s.thinks)+`}`)
	}
	if s.said != "" {
		blocks = append(blocks, says(s.said))
	}
	for _, c := range s.calls {
		blocks = append(blocks, piCall(c.id, names(c.kind, "turnback_"), argumentsOf(c)))
	}
	if !s.isPrompt() {
		list = append(list, piOutput(blocks...))
	}
	for _, c := range s.calls {
		list = append(list, piResult(c.id, !c.ok, resultOf(c)))
	}
	return append(list, renderInputs(s, piSays, `{"role":"user","content":[{"type":"image","data":%s}]}`, `{"role":"custom","content":%s}`)...)
}

// renderOpenCode writes a generated step as OpenCode has it.
func renderOpenCode(s step) []string {
	var parts, list []string
	if s.thinks != "" {
		parts = append(parts, `{"type":"reasoning","text":`+quote(s.thinks)+`}`)
	}
	if s.said != "" {
		parts = append(parts, says(s.said))
	}
	for _, c := range s.calls {
		status := map[bool]string{true: "completed", false: "error"}[c.ok]
		parts = append(parts, openCodeTool(c.id, names(c.kind, "turnback_"), argumentsOf(c), status, resultOf(c)))
	}
	if !s.isPrompt() {
		list = append(list, openCodeStep(parts...))
	}
	said := func(text string) string { return openCodeMessage("user", says(text)) }
	return append(list, renderInputs(s, said, `{"info":{"role":"user"},"parts":[{"type":"file","url":%s}]}`, `{"info":{"role":"user"},"parts":[{"type":"text","synthetic":true,"text":%s}]}`)...)
}

func renderInputs(s step, said func(string) string, image, system string) []string {
	var list []string
	for _, text := range slices.Concat(s.prompt, s.typed) {
		list = append(list, said(text))
	}
	if s.guard {
		list = append(list, said(conversation.Reminder(2)))
	}
	if s.image != "" {
		list = append(list, fmt.Sprintf(image, quote(s.image)))
	}
	if s.system != "" {
		list = append(list, fmt.Sprintf(system, quote(s.system)))
	}
	return list
}
