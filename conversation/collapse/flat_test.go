package collapse_test

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

// Items of Responses, as Codex sends them.

func item(kind, members string) string { return `{"type":"` + kind + `",` + members + `}` }

func message(role, text string) string {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	return item("message", `"id":"msg_1","role":"`+role+`","content":[{"type":"`+kind+`","text":`+quote(text)+`}]`)
}

func reason(id string) string {
	return item("reasoning", `"id":"`+id+`","summary":[],"encrypted_content":"gAAA`+id+`=="`)
}

func calls(id, name, arguments string) string {
	return item("function_call", `"status":"completed","name":"`+name+`","arguments":`+quote(arguments)+`,"call_id":"`+id+`"`)
}

func codex(id, tool, arguments string) string {
	return item("function_call", `"name":"`+tool+`","namespace":"mcp__turnback","arguments":`+quote(arguments)+`,"call_id":"`+id+`"`)
}

func output(id, text string) string {
	return item("function_call_output", `"call_id":"`+id+`","output":`+quote(text))
}

func outputs(id string, texts ...string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = `{"type":"input_text","text":` + quote(text) + `}`
	}
	return item("function_call_output", `"call_id":"`+id+`","output":[`+strings.Join(list, ",")+`]`)
}

const wall = "Wall time: 0.0031 seconds\nOutput:"

func TestResponsesSpan(t *testing.T) {
	t.Parallel()
	asked := message("user", "why does it fail?")
	run(t, collapse.Responses, []test{
		{
			name: "Codex: a namespace, blocks behind the time",
			history: []string{
				message("developer", "rules"), asked, reason("1"), codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", wall, conversation.CreatedText("g")),
				reason("2"), message("assistant", "Looking."), calls("e", "exec_command", `{"cmd":"ls"}`), output("e", "Chunk ID: f4\nWall time: 0.0000 seconds\nProcess exited with code 0\nOutput:\na.go\n"),
				reason("3"), codex("w", "rewind", `{"report":"R"}`), outputs("w", wall, conversation.RewindText(), facts), message("assistant", "It is a.go."),
			},
			want: []string{
				message("developer", "rules"), asked, reason("1"), codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", wall, head("g"), framed("R", facts, "Looking.")),
				message("assistant", "It is a.go."),
			},
		},
		{
			name: "one string, with the time and without",
			history: []string{
				asked, calls("c", "mcp__turnback__checkpoint", `{"goal":"<g>"}`), output("c", wall+"\n"+conversation.CreatedText("<g>")), calls("e", "shell", `{}`), output("e", "x"),
				calls("w", "mcp__turnback__rewind", `{"report":"\"R\"\n<>"}`), output("w", conversation.RewindText()+"\n"+facts),
			},
			want: []string{
				asked, calls("c", "mcp__turnback__checkpoint", `{"goal":"<g>"}`), output("c", wall+"\n"+head("<g>")+"\n"+framed("\"R\"\n<>", facts)),
			},
		},
		{
			name: "one string with a list of blocks in it",
			history: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), output("c", `[{"type":"text","text":`+quote(conversation.CreatedText("g"))+`}]`),
				codex("w", "rewind", `{"report":"R \"q\"\nline"}`), output("w", `[{"type":"text","text":`+quote(conversation.RewindText())+`},{"type":"text","text":`+quote(facts)+`}]`),
			},
			want: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), output("c", `[{"type":"text","text":`+quote(head("g")+"\n"+framed("R \"q\"\nline", facts))+`}]`),
			},
		},
		{
			name: "the details in place of the text",
			history: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), output("c", wall+"\n"+`{"goal":"g","startedAt":"2026-11-30T00:00:00Z"}`),
				calls("e", "shell", `{}`), output("e", "x"), codex("w", "rewind", `{"report":"R"}`), output("w", wall+"\n"+`{"report":"R","rewound":true}`),
			},
			want: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), output("c", wall+"\n"+`{"goal":"g","startedAt":"2026-11-30T00:00:00Z"}`+"\n"+framed("R", "")),
			},
		},
		{
			name: "B140 the boundary is the last result of the checkpoint's batch",
			history: []string{
				asked, reason("1"), message("assistant", "Both."), codex("c", "checkpoint", `{"goal":"g"}`), calls("e", "shell", `{}`), outputs("c", conversation.CreatedText("g")), message("user", "typed early"), output("e", "sibling"),
				reason("2"), calls("f", "shell", `{}`), output("f", "x"), codex("w", "rewind", `{"report":"R"}`), outputs("w", conversation.RewindText()),
			},
			want: []string{
				asked, reason("1"), message("assistant", "Both."), codex("c", "checkpoint", `{"goal":"g"}`), calls("e", "shell", `{}`), outputs("c", head("g"), framed("R", "")), message("user", "typed early"), output("e", "sibling"),
			},
		},
		{
			name: "calls of one answer that were run one by one are batches of their own",
			history: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", conversation.CreatedText("g")), calls("f", "shell", `{}`), output("f", "x"),
				codex("w", "rewind", `{"report":"R"}`), outputs("w", conversation.RewindText()), calls("h", "shell", `{}`), output("h", "y"),
			},
			want: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", head("g"), framed("R", "")), calls("h", "shell", `{}`), output("h", "y"),
			},
		},
		{
			name: "a rewind that was called together with others stays, with its reasoning and all results",
			history: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", conversation.CreatedText("g")), calls("f", "shell", `{}`), output("f", "x"),
				reason("3"), codex("w", "rewind", `{"report":"R"}`), calls("h", "shell", `{}`), outputs("w", conversation.RewindText()), output("h", "y"),
			},
			want: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", head("g"), framed("R", "")),
				reason("3"), codex("w", "rewind", `{"report":"R"}`), calls("h", "shell", `{}`), outputs("w", conversation.RewindText()), output("h", "y"),
			},
		},
		{
			name: "what the person and the program said stays; the guard's words go",
			history: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", conversation.CreatedText("g")), message("assistant", "Done."),
				message("user", `<hook_prompt hook_run_id="stop:1">`+conversation.Reminder(1)+`</hook_prompt>`), message("developer", "the model changed"), message("assistant", "Which?"),
				`{"role":"user","content":"that one"}`, item("message", `"role":"user","content":[{"type":"input_image","image_url":"data:"},{"type":"input_text","text":`+quote(conversation.Reminder(2))+`}]`),
				item("additional_tools", `"tools":[]`), `{"type":"custom_tool_call","call_id":"p","name":"apply_patch","input":"*** Begin"}`, `{"type":"custom_tool_call_output","call_id":"p","output":"ok"}`,
				`{"type":"web_search_call","id":"ws","status":"completed"}`, `{"type":"local_shell_call","call_id":"l","action":{}}`, `{"type":"local_shell_call_output","call_id":"l","output":"x"}`,
				codex("w", "rewind", `{"report":"R"}`), outputs("w", conversation.RewindText()), message("user", "behind"),
			},
			want: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", head("g"), framed("R", "", "Which?")), message("developer", "the model changed"),
				`{"role":"user","content":"that one"}`, item("message", `"role":"user","content":[{"type":"input_image","image_url":"data:"}]`), item("additional_tools", `"tools":[]`), message("user", "behind"),
			},
		},
		{
			name: "a search that loaded tools stays, with the reasoning before it",
			history: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", conversation.CreatedText("g")),
				reason("2"), calls("f", "shell", `{}`), `{"type":"tool_search_call","call_id":"s","arguments":{}}`, output("f", "x"), `{"type":"tool_search_output","call_id":"s","tools":[{"name":"t"}]}`,
				reason("3"), `{"type":"tool_search_call","call_id":null,"execution":"server"}`, `{"type":"tool_search_output","call_id":null,"tools":[]}`,
				reason("4"), codex("w", "rewind", `{"report":"R"}`), outputs("w", conversation.RewindText()),
			},
			want: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", head("g"), framed("R", "")),
				reason("2"), `{"type":"tool_search_call","call_id":"s","arguments":{}}`, `{"type":"tool_search_output","call_id":"s","tools":[{"name":"t"}]}`,
				reason("3"), `{"type":"tool_search_call","call_id":null,"execution":"server"}`, `{"type":"tool_search_output","call_id":null,"tools":[]}`,
			},
		},
		{
			name: "B143 a compaction within the span",
			history: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", conversation.CreatedText("g")), item("compaction", `"encrypted_content":"x"`),
				codex("w", "rewind", `{"report":"R"}`), outputs("w", conversation.RewindText()),
			},
			reason: "not known",
		},
		{
			name: "another namespace's tools are none",
			history: []string{
				asked, item("function_call", `"name":"checkpoint","namespace":"mcp__other","arguments":"{\"goal\":\"g\"}","call_id":"c"`), outputs("c", conversation.CreatedText("g")),
				item("function_call", `"name":"rewind","namespace":"mcp__other","arguments":"{\"report\":\"R\"}","call_id":"w"`), outputs("w", conversation.RewindText()),
			},
		},
		{
			name: "B139 results that come late, behind the next batch",
			history: []string{
				asked, codex("c", "checkpoint", `{"goal":"g"}`), calls("e", "shell", `{}`), outputs("c", conversation.CreatedText("g")), message("assistant", "meanwhile"), output("e", "late"),
				codex("w", "rewind", `{"report":"R"}`), outputs("w", conversation.RewindText()),
			},
			reason: `call "e" has no result`,
		},
		{
			name:    "B139 a result without its call",
			history: []string{asked, output("x", "?"), codex("c", "checkpoint", `{"goal":"g"}`), outputs("c", conversation.CreatedText("g")), codex("w", "rewind", `{"report":"R"}`), outputs("w", conversation.RewindText())},
			reason:  `result "x" has no call`,
		},
	})
}

// Messages of Chat Completions.

func chatCalls(content string, list ...string) string {
	return `{"role":"assistant","content":` + content + `,"tool_calls":[` + strings.Join(list, ",") + `]}`
}

func chatCall(id, name, arguments string) string {
	return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":` + quote(arguments) + `}}`
}

func tool(id, text string) string {
	return `{"role":"tool","tool_call_id":"` + id + `","content":` + quote(text) + `}`
}

func TestChatSpan(t *testing.T) {
	t.Parallel()
	const system, asked = `{"role":"system","content":"rules"}`, `{"role":"user","content":"why?"}`
	cp := chatCall("c", "turnback_checkpoint", `{"goal":"g"}`)
	rw := chatCall("w", "turnback_rewind", `{"report":"R"}`)
	run(t, collapse.Chat, []test{
		{
			name: "OpenCode",
			history: []string{
				system, asked, chatCalls("null", cp), tool("c", conversation.CreatedText("g")),
				chatCalls(`"Looking."`, chatCall("r", "read", `{"path":"a"}`), chatCall("s", "read", `{"path":"b"}`)), tool("r", "one"), tool("s", "two"),
				`{"role":"assistant","reasoning_content":"hm","content":[{"type":"text","text":"Found."}],"tool_calls":[` + rw + `]}`, tool("w", conversation.RewindText()+"\n\n"+facts),
				`{"role":"assistant","content":"It is a.go."}`,
			},
			want: []string{system, asked, chatCalls("null", cp), tool("c", head("g")+"\n"+framed("R", facts, "Found.")), `{"role":"assistant","content":"It is a.go."}`},
		},
		{
			name: "Copilot joins texts without a space, and puts details behind them",
			history: []string{
				asked, chatCalls("null", chatCall("c", "turnback-checkpoint", `{"goal":"g"}`)), tool("c", conversation.CreatedText("g")+"\n\n"+`{"goal":"g","startedAt":"2026-11-30T00:00:00Z"}`),
				chatCalls("null", chatCall("w", "turnback-rewind", `{"report":"R"}`)), tool("w", conversation.RewindText()+facts+"\n\n"+`{"report":"R","rewound":true}`),
			},
			want: []string{
				asked, chatCalls("null", chatCall("c", "turnback-checkpoint", `{"goal":"g"}`)),
				tool("c", head("g")+"\n"+framed("R", facts)+"\n\n"+`{"goal":"g","startedAt":"2026-11-30T00:00:00Z"}`),
			},
		},
		{
			name: "a report that ends as details do",
			history: []string{
				asked, chatCalls("null", cp), tool("c", conversation.CreatedText("g")),
				chatCalls("null", chatCall("w", "turnback_rewind", `{"report":"R\n\n{\"goal\":1,\"startedAt\":2}"}`)), tool("w", conversation.RewindText()),
			},
			want: []string{asked, chatCalls("null", cp), tool("c", head("g")+"\n"+framed("R\n\n{\"goal\":1,\"startedAt\":2}", ""))},
		},
		{
			name: "Copilot's names, a result of blocks",
			history: []string{
				asked, chatCalls(`""`, chatCall("c", "turnback-checkpoint", `{"goal":"g"}`)), `{"role":"tool","content":[{"type":"text","text":` + quote(conversation.CreatedText("g")) + `}],"tool_call_id":"c"}`,
				chatCalls(`""`, chatCall("w", "turnback-rewind", `{"report":"R"}`)), tool("w", conversation.RewindText()),
			},
			want: []string{
				asked, chatCalls(`""`, chatCall("c", "turnback-checkpoint", `{"goal":"g"}`)),
				`{"role":"tool","content":[{"type":"text","text":` + quote(head("g")) + `},{"type":"text","text":` + quote(framed("R", "")) + `}],"tool_call_id":"c"}`,
			},
		},
		{
			name: "B140 batches with others on both sides",
			history: []string{
				asked, chatCalls("null", chatCall("r", "read", `{}`), cp, chatCall("s", "read", `{}`)), tool("r", "one"), tool("c", conversation.CreatedText("g")), tool("s", "two"),
				chatCalls("null", chatCall("t", "read", `{}`)), tool("t", "three"), chatCalls("null", chatCall("u", "read", `{}`), rw), tool("u", "four"), tool("w", conversation.RewindText()),
			},
			want: []string{
				asked, chatCalls("null", chatCall("r", "read", `{}`), cp, chatCall("s", "read", `{}`)), tool("r", "one"), tool("c", head("g")+"\n"+framed("R", "")), tool("s", "two"),
				chatCalls("null", chatCall("u", "read", `{}`), rw), tool("u", "four"), tool("w", conversation.RewindText()),
			},
		},
		{
			name: "what was said to the model stays as it is; the guard's words go",
			history: []string{
				asked, chatCalls("null", cp), tool("c", conversation.CreatedText("g")), `{"role":"assistant","content":"Done."}`, `{"role":"developer","content":` + quote(conversation.Reminder(1)) + `}`,
				`{"role":"assistant","content":"Shall I?"}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"yes"}],"name":"me","x":1.0}`, `{"role":"system","content":"be quick"}`,
				chatCalls("null", rw), tool("w", conversation.RewindText()),
			},
			want: []string{
				asked, chatCalls("null", cp), tool("c", head("g")+"\n"+framed("R", "", "Shall I?")),
				`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"yes"}],"name":"me","x":1.0}`, `{"role":"system","content":"be quick"}`,
			},
		},
		{
			name: "calls of the older form",
			history: []string{
				asked, chatCalls("null", cp), tool("c", conversation.CreatedText("g")), `{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`,
				chatCalls("null", rw), tool("w", conversation.RewindText()),
			},
			reason: "not known",
		},
		{
			name: "results of the older form",
			history: []string{
				asked, chatCalls("null", cp), tool("c", conversation.CreatedText("g")), `{"role":"function","name":"f","content":"x"}`,
				chatCalls("null", rw), tool("w", conversation.RewindText()),
			},
			reason: "not known",
		},
		{
			name:    "B139 a call without a result",
			history: []string{asked, chatCalls("null", cp, chatCall("r", "read", `{}`)), tool("c", conversation.CreatedText("g")), chatCalls("null", rw), tool("w", conversation.RewindText())},
			reason:  `call "r" has no result`,
		},
	})
}

func TestOwnAgentsNames(t *testing.T) {
	t.Parallel()
	history := []string{
		`{"role":"user","content":"why?"}`, chatCalls("null", chatCall("c", "checkpoint", `{"goal":"g"}`)), tool("c", conversation.CreatedText("g")),
		chatCalls("null", chatCall("w", "rewind", `{"report":"R"}`)), tool("w", conversation.RewindText()),
	}
	body := bodyOf(collapse.Chat, history)
	if got := collapse.Collapse(collapse.Chat, conversation.OwnAgent, body); len(got.Spans) != 1 {
		t.Errorf("our own agent: %d spans", len(got.Spans))
	}
	if got := collapse.Collapse(collapse.Chat, conversation.OtherAgent, body); len(got.Spans) != 0 {
		t.Errorf("another agent: %d spans", len(got.Spans))
	}
}

// Contents of Gemini.

func content(role string, parts ...string) string {
	return `{"role":"` + role + `","parts":[` + strings.Join(parts, ",") + `]}`
}

func functionCall(name, args string) string {
	return `{"functionCall":{"name":"` + name + `","args":` + args + `},"thoughtSignature":"sig=="}`
}

func functionResponse(name, response string) string {
	return `{"functionResponse":{"name":"` + name + `","response":` + response + `}}`
}

func untrusted(texts ...string) string {
	for i, text := range texts {
		texts[i] = "<untrusted_context>\n" + text + "\n</untrusted_context>"
	}
	return `{"output":` + quote(strings.Join(texts, "\n")) + `}`
}

func TestGeminiSpan(t *testing.T) {
	t.Parallel()
	const cpName, rwName = "mcp_turnback_checkpoint", "mcp_turnback_rewind"
	asked := content("user", `{"text":"why?"}`)
	cp := functionCall(cpName, `{"goal":"g"}`)
	rw := functionCall(rwName, `{"report":"R"}`)
	run(t, collapse.Gemini, []test{
		{
			name: "Gemini CLI wraps what servers give",
			history: []string{
				asked, content("model", `{"text":"hm","thought":true}`, cp), content("user", functionResponse(cpName, untrusted(conversation.CreatedText("g")))),
				content("model", `{"text":"Looking."}`, functionCall("read_file", `{"n":1.0}`)), content("user", functionResponse("read_file", `{"output":"one"}`)),
				content("model", rw), content("user", functionResponse(rwName, untrusted(conversation.RewindText(), facts))), content("model", `{"text":"It is a.go."}`),
			},
			want: []string{
				asked, content("model", `{"text":"hm","thought":true}`, cp),
				content("user", functionResponse(cpName, untrusted(head("g")+"\n"+framed("R", facts, "Looking.")))), content("model", `{"text":"It is a.go."}`),
			},
		},
		{
			name: "a report cannot end the wrapping",
			history: []string{
				asked, content("model", cp), content("user", functionResponse(cpName, untrusted(conversation.CreatedText("g")))),
				content("model", functionCall(rwName, `{"report":"a</untrusted_context>b"}`)), content("user", functionResponse(rwName, untrusted(conversation.RewindText()))),
			},
			want: []string{
				asked, content("model", cp), content("user", functionResponse(cpName, untrusted(head("g")+"\n"+framed("a&lt;/untrusted_context&gt;b", "")))),
			},
		},
		{
			name: "responses of blocks, ids, the same tool twice in a batch",
			history: []string{
				asked, content("model", `{"functionCall":{"id":"a","name":"`+cpName+`","args":{"goal":"g"}}}`, functionCall("read_file", `{}`), functionCall("read_file", `{"p":2}`)),
				content("user", `{"functionResponse":{"id":"a","name":"`+cpName+`","response":{"content":[{"type":"text","text":`+quote(conversation.CreatedText("g"))+`}]}}}`, functionResponse("read_file", `{"output":"1"}`), functionResponse("read_file", `{"output":"2"}`)),
				content("model", functionCall("ls", `{}`)), content("user", functionResponse("ls", `{"output":"x"}`), `{"text":"typed"}`, `{"inlineData":{"mimeType":"image/png","data":"AA"}}`),
				content("user", `{"text":"more"}`), content("model", rw), content("user", functionResponse(rwName, untrusted(conversation.RewindText()))),
			},
			want: []string{
				asked, content("model", `{"functionCall":{"id":"a","name":"`+cpName+`","args":{"goal":"g"}}}`, functionCall("read_file", `{}`), functionCall("read_file", `{"p":2}`)),
				content("user", `{"functionResponse":{"id":"a","name":"`+cpName+`","response":{"content":[{"type":"text","text":`+quote(head("g"))+`},{"type":"text","text":`+quote(framed("R", ""))+`}]}}}`, functionResponse("read_file", `{"output":"1"}`), functionResponse("read_file", `{"output":"2"}`)),
				content("user", `{"text":"typed"}`, `{"inlineData":{"mimeType":"image/png","data":"AA"}}`), content("user", `{"text":"more"}`),
			},
		},
		{
			name: "a rewind with others stays; the guard's words as a prompt go",
			history: []string{
				asked, content("model", cp), content("user", functionResponse(cpName, untrusted(conversation.CreatedText("g")))), content("model", `{"text":"Done."}`), content("user", `{"text":`+quote(conversation.Reminder(1))+`}`),
				content("model", functionCall("ls", `{}`), rw), content("user", functionResponse("ls", `{"output":"x"}`), functionResponse(rwName, untrusted(conversation.RewindText()))),
			},
			want: []string{
				asked, content("model", cp), content("user", functionResponse(cpName, untrusted(head("g")+"\n"+framed("R", "", "Done.")))),
				content("model", functionCall("ls", `{}`), rw), content("user", functionResponse("ls", `{"output":"x"}`), functionResponse(rwName, untrusted(conversation.RewindText()))),
			},
		},
		{
			name: "an error closes nothing",
			history: []string{
				asked, content("model", cp), content("user", functionResponse(cpName, untrusted(conversation.CreatedText("g")))),
				content("model", rw), content("user", functionResponse(rwName, `{"error":"x","output":`+quote(conversation.RewindText())+`}`)),
			},
		},
		{
			name:    "B139 a response without its call",
			history: []string{asked, content("user", functionResponse("ls", `{}`)), content("model", cp), content("user", functionResponse(cpName, untrusted(conversation.CreatedText("g"))))},
			reason:  `result "ls" has no call`,
		},
	})
}

func TestGeminiWrappedRequests(t *testing.T) {
	t.Parallel()
	list := strings.Join([]string{
		content("user", `{"text":"why?"}`), content("model", functionCall("mcp_turnback_checkpoint", `{"goal":"g"}`)), content("user", functionResponse("mcp_turnback_checkpoint", untrusted(conversation.CreatedText("g")))),
		content("model", functionCall("mcp_turnback_rewind", `{"report":"R"}`)), content("user", functionResponse("mcp_turnback_rewind", untrusted(conversation.RewindText()))),
	}, ",")
	for _, body := range []string{`{"generateContentRequest":{"model":"m","contents":[` + list + `]}}`, `{"model":"m","request":{"contents":[` + list + `],"x":1}}`} {
		got := collapse.Collapse(collapse.Gemini, conversation.OtherAgent, []byte(body))
		if len(got.Spans) != 1 || got.Reason != "" || strings.Contains(string(got.Body), "functionResponse\":{\"name\":\"mcp_turnback_rewind") {
			t.Errorf("%d spans, %q: %s", len(got.Spans), got.Reason, got.Body)
		}
	}
	two := `{"contents":[` + list + `],"request":{"contents":[` + list + `]}}`
	if got := collapse.Collapse(collapse.Gemini, conversation.OtherAgent, []byte(two)); len(got.Spans) != 0 || got.Reason == "" {
		t.Errorf("two lists: %d spans, reason %q", len(got.Spans), got.Reason)
	}
}
