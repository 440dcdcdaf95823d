package collapse_test

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func assistant(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func says(text string) string { return `{"type":"text","text":` + quote(text) + `}` }

func marked(block string) string {
	return strings.TrimSuffix(block, "}") + `,"cache_control":{"type":"ephemeral"}}`
}

func thinks(about string) string {
	return `{"type":"thinking","thinking":` + quote(about) + `,"signature":"sig/` + about + `=="}`
}

func uses(id, name, input string) string {
	return `{"id":"` + id + `","input":` + input + `,"type":"tool_use","name":"` + name + `"}`
}

func reads(id string) string { return uses(id, "Read", `{"file_path":"/src/`+id+`"}`) }

func checks(id, goal string) string {
	return uses(id, "mcp__turnback__checkpoint", `{"goal":`+quote(goal)+`}`)
}

func rewinds(id, report string) string {
	return uses(id, "mcp__turnback__rewind", `{"report":`+quote(report)+`}`)
}

func gives(id string, texts ...string) string {
	blocks := make([]string, len(texts))
	for i := range texts {
		blocks[i] = says(texts[i])
	}
	return `{"tool_use_id":"` + id + `","type":"tool_result","content":[` + strings.Join(blocks, ",") + `]}`
}

func fails(id, why string) string {
	return `{"type":"tool_result","content":` + quote(why) + `,"is_error":true,"tool_use_id":"` + id + `"}`
}

func created(id, goal string) string { return gives(id, conversation.CreatedText(goal)) }

func rewound(id string) string { return gives(id, conversation.RewindText()) }

// closed is the checkpoint's result with a report.
func closed(id, goal, frame string) string { return gives(id, head(goal), frame) }

var (
	ask = user(says("why does it fail?"))
	end = assistant(says("It is a.go."))
)

func TestAnthropicSpan(t *testing.T) {
	t.Parallel()
	run(t, collapse.Anthropic, []test{
		{
			name: "checkpoint, exploration, rewind",
			history: []string{
				ask, assistant(thinks("1"), checks("c", "find it")), user(created("c", "find it")),
				assistant(thinks("2"), says("Looking."), reads("r1"), reads("r2")), user(gives("r1", "one"), gives("r2", "two")),
				assistant(thinks("3"), says("Found."), rewinds("w", " it is a.go\n")), user(gives("w", conversation.RewindText(), facts)),
			},
			want: []string{ask, assistant(thinks("1"), checks("c", "find it")), user(closed("c", "find it", framed("it is a.go", facts, "Found.")))},
		},
		{
			name: "later turns stay as they are",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r")), user(gives("r", "one")),
				assistant(rewinds("w", "R")), user(rewound("w")), assistant(thinks("4"), says("It is a.go.")), user(says("thanks")),
				assistant(reads("s")), user(gives("s", "more")),
			},
			want: []string{
				ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", ""))), assistant(thinks("4"), says("It is a.go.")), user(says("thanks")),
				assistant(reads("s")), user(gives("s", "more")),
			},
		},
		{
			name: "a result that is a string",
			history: []string{
				ask, assistant(checks("c", "g")), user(`{"type":"tool_result","tool_use_id":"c","content":` + quote(conversation.CreatedText("g")) + `}`),
				assistant(rewinds("w", "R")), user(`{"type":"tool_result","tool_use_id":"w","content":` + quote(conversation.RewindText()+"\n\n"+facts) + `}`),
			},
			want: []string{ask, assistant(checks("c", "g")), user(`{"type":"tool_result","tool_use_id":"c","content":[` + says(head("g")) + "," + says(framed("R", facts)) + `]}`)},
		},
		{
			name: "a plugin's name, the details in place of the text",
			history: []string{
				ask, assistant(uses("c", "mcp__plugin_turnback_turnback__checkpoint", `{"goal":"g"}`)), user(`{"type":"tool_result","tool_use_id":"c","content":"{\"goal\":\"g\",\"startedAt\":\"2026-11-30T00:00:00Z\"}"}`),
				assistant(uses("w", "mcp__plugin_turnback_turnback__rewind", `{"report":"R"}`)), user(`{"type":"tool_result","tool_use_id":"w","content":"{\"report\":\"R\",\"rewound\":true}"}`),
			},
			want: []string{
				ask, assistant(uses("c", "mcp__plugin_turnback_turnback__checkpoint", `{"goal":"g"}`)),
				user(`{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"{\"goal\":\"g\",\"startedAt\":\"2026-11-30T00:00:00Z\"}"},` + says(framed("R", "")) + `]}`),
			},
		},
		{
			name: "the note that there is no proxy is not true here",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")),
				assistant(rewinds("w", "R")), user(gives("w", conversation.RewindText(), facts+"\n"+conversation.NoProxyNote)),
			},
			want: []string{ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", facts)))},
		},
		{
			name: "a goal and a report with every kind of character",
			history: []string{
				ask, assistant(checks("c", "line\n"+conversation.InvestigateLine+"\n\"<é\U0001F642>\\")), user(created("c", "line\n"+conversation.InvestigateLine+"\n\"<é\U0001F642>\\")),
				assistant(rewinds("w", "\"<é\U0001F642>\\\n</checkpoint-report>")), user(rewound("w")),
			},
			want: []string{
				ask, assistant(checks("c", "line\n"+conversation.InvestigateLine+"\n\"<é\U0001F642>\\")),
				user(closed("c", "line\n"+conversation.InvestigateLine+"\n\"<é\U0001F642>\\", framed("\"<é\U0001F642>\\\n</checkpoint-report>", ""))),
			},
		},
	})
}

func TestB140AnthropicBatches(t *testing.T) {
	t.Parallel()
	run(t, collapse.Anthropic, []test{
		{
			name: "what was called together with the checkpoint belongs before it",
			history: []string{
				ask, assistant(reads("r0"), checks("c", "g"), reads("r1")), user(gives("r0", "zero"), created("c", "g"), gives("r1", "one")),
				assistant(reads("r2")), user(gives("r2", "two")), assistant(rewinds("w", "R")), user(rewound("w")),
			},
			want: []string{
				ask, assistant(reads("r0"), checks("c", "g"), reads("r1")),
				user(gives("r0", "zero"), closed("c", "g", framed("R", "")), gives("r1", "one")),
			},
		},
		{
			name: "results in two user messages: the boundary is the last",
			history: []string{
				ask, assistant(checks("c", "g"), reads("r1")), user(created("c", "g")), user(gives("r1", "one")),
				assistant(reads("r2")), user(gives("r2", "two"), says("typed")), assistant(rewinds("w", "R"), reads("r3")), user(rewound("w"), gives("r3", "three")),
			},
			lax: true, // messages of one role in a row are one to the provider
			want: []string{
				ask, assistant(checks("c", "g"), reads("r1")), user(closed("c", "g", framed("R", ""))), user(gives("r1", "one"), says("typed")),
				assistant(rewinds("w", "R"), reads("r3")), user(rewound("w"), gives("r3", "three")),
			},
		},
		{
			name: "a rewind that was called together with others stays, with all results",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(says("Before."), reads("r1")), user(gives("r1", "one")),
				assistant(thinks("3"), says("With."), rewinds("w", "R"), reads("r2")), user(rewound("w"), marked(gives("r2", "two")), says("typed")),
			},
			want: []string{
				ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", "", "Before."))),
				assistant(thinks("3"), says("With."), rewinds("w", "R"), reads("r2")), user(rewound("w"), marked(gives("r2", "two")), says("typed")),
			},
		},
		{
			name: "a search of the provider's own is a call, too",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")),
				assistant(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`, rewinds("w", "R")), user(rewound("w")),
			},
			want: []string{
				ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", ""))),
				assistant(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`, rewinds("w", "R")), user(rewound("w")),
			},
		},
		{
			name: "a rewind and the next checkpoint in one message",
			history: []string{
				ask, assistant(checks("c1", "g1")), user(created("c1", "g1")), assistant(reads("r1")), user(gives("r1", "one")),
				assistant(rewinds("w1", "R1"), checks("c2", "g2")), user(rewound("w1"), created("c2", "g2")),
				assistant(reads("r2")), user(gives("r2", "two")), assistant(rewinds("w2", "R2")), user(rewound("w2")), end,
			},
			want: []string{
				ask, assistant(checks("c1", "g1")), user(closed("c1", "g1", framed("R1", ""))),
				assistant(rewinds("w1", "R1"), checks("c2", "g2")), user(rewound("w1"), closed("c2", "g2", framed("R2", ""))), end,
			},
		},
		{
			name: "a checkpoint and a rewind in one message: the rewind is of none",
			history: []string{
				ask, assistant(checks("c", "g"), rewinds("w", "R")), user(created("c", "g"), fails("w", string(conversation.ErrNoCheckpoint))), end,
			},
		},
	})
}

func TestAnthropicWhichCheckpoint(t *testing.T) {
	t.Parallel()
	run(t, collapse.Anthropic, []test{
		{
			name: "B134 two spans, each with its own report",
			history: []string{
				ask, assistant(checks("c1", "g1")), user(created("c1", "g1")), assistant(reads("r1")), user(gives("r1", "one")), assistant(rewinds("w1", "R1")), user(rewound("w1")), end,
				user(says("go on")), assistant(checks("c2", "g2")), user(created("c2", "g2")), assistant(reads("r2")), user(gives("r2", "two")), assistant(rewinds("w2", "R2")), user(rewound("w2")),
			},
			want: []string{
				ask, assistant(checks("c1", "g1")), user(closed("c1", "g1", framed("R1", ""))), end,
				user(says("go on")), assistant(checks("c2", "g2")), user(closed("c2", "g2", framed("R2", ""))),
			},
		},
		{
			name: "B134 an open checkpoint gets no earlier report",
			history: []string{
				ask, assistant(checks("c1", "g1")), user(created("c1", "g1")), assistant(reads("r1")), user(gives("r1", "one")), assistant(rewinds("w1", "R1")), user(rewound("w1")), end,
				user(says("go on")), assistant(checks("c2", "g2")), user(created("c2", "g2")), assistant(reads("r2")), user(gives("r2", "two")),
			},
			want: []string{
				ask, assistant(checks("c1", "g1")), user(closed("c1", "g1", framed("R1", ""))), end,
				user(says("go on")), assistant(checks("c2", "g2")), user(created("c2", "g2")), assistant(reads("r2")), user(gives("r2", "two")),
			},
		},
		{
			name: "an unclosed checkpoint of an earlier turn swallows nothing",
			history: []string{
				ask, assistant(checks("c1", "g1")), user(created("c1", "g1")), assistant(reads("r1")), user(gives("r1", "one")), end,
				user(says("go on")), assistant(checks("c2", "g2")), user(created("c2", "g2")), assistant(reads("r2")), user(gives("r2", "two")), assistant(rewinds("w2", "R2")), user(rewound("w2")),
			},
			want: []string{
				ask, assistant(checks("c1", "g1")), user(created("c1", "g1")), assistant(reads("r1")), user(gives("r1", "one")), end,
				user(says("go on")), assistant(checks("c2", "g2")), user(closed("c2", "g2", framed("R2", ""))),
			},
		},
		{
			name: "B133 a second rewind changes nothing more, and its error stays",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")), assistant(rewinds("w1", "R1")), user(rewound("w1")),
				assistant(rewinds("w2", "R2")), user(fails("w2", string(conversation.ErrAlreadyCompleted))), end,
			},
			want: []string{
				ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R1", ""))),
				assistant(rewinds("w2", "R2")), user(fails("w2", string(conversation.ErrAlreadyCompleted))), end,
			},
		},
		{
			name: "a second rewind that succeeded all the same closes none that was open before",
			history: []string{
				ask, assistant(checks("c0", "g0")), user(created("c0", "g0")), end, user(says("go on")),
				assistant(checks("c", "g")), user(created("c", "g")), assistant(rewinds("w1", "R1")), user(rewound("w1")), assistant(rewinds("w2", "R2")), user(rewound("w2")),
			},
			want: []string{
				ask, assistant(checks("c0", "g0")), user(created("c0", "g0")), end, user(says("go on")),
				assistant(checks("c", "g")), user(closed("c", "g", framed("R1", ""))), assistant(rewinds("w2", "R2")), user(rewound("w2")),
			},
		},
		{
			name: "a nested checkpoint that was refused goes with the span",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(checks("n", "nested")), user(fails("n", string(conversation.ErrCheckpointActive))),
				assistant(reads("r1")), user(gives("r1", "one")), assistant(rewinds("w", "R")), user(rewound("w")),
			},
			want: []string{ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", "")))},
		},
		{
			name: "a rewind that was refused closes nothing",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")), assistant(rewinds("w", " ")), user(fails("w", string(conversation.ErrReportEmpty))), end,
			},
		},
		{
			name: "words of a rewind in an error, or of another tool, are none",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(rewinds("w", "R")), user(fails("w", conversation.RewindText())),
				assistant(uses("x", "mcp__other__rewind", `{"report":"R"}`)), user(rewound("x")), end,
			},
		},
		{
			name: "another tool's checkpoint is none",
			history: []string{
				ask, assistant(uses("c", "checkpoint", `{"goal":"g"}`)), user(created("c", "g")), assistant(rewinds("w", "R")), user(rewound("w")), end,
			},
		},
		{
			name: "a checkpoint with another text is none",
			history: []string{
				ask, assistant(checks("c", "g")), user(gives("c", "I said: "+conversation.CreatedText("g"))), assistant(rewinds("w", "R")), user(rewound("w")), end,
			},
		},
		{
			name: "B143 a compaction took the checkpoint: nothing is collapsed",
			history: []string{
				user(says("Summary: there was `" + conversation.CreatedPrefix + "`")), assistant(reads("r1")), user(gives("r1", "one")), assistant(rewinds("w", "R")), user(rewound("w")), end,
			},
		},
	})
}

func TestAnthropicWhatStays(t *testing.T) {
	t.Parallel()
	const (
		nested = "<system-reminder>\nContents of /src/sub/CLAUDE.md:\n\nNESTED-RULES\n\n</system-reminder>"
		queued = "The user sent a new message while you were working:\nalso look at b.go"
		notice = "<task-notification>\n<task-id>7</task-id>\n</task-notification>"
		image  = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`
		pdf    = `{"type":"document","source":{"type":"file","file_id":"f"}}`
	)
	guard := "<system-reminder>\nStop hook additional context: " + conversation.Reminder(1) + "\n</system-reminder>"
	system := `{"role":"system","content":"MCP tools changed","output_config":{"effort":"medium"}}`
	run(t, collapse.Anthropic, []test{
		{
			name: "instructions, what was typed ahead, images, documents, notices: in order",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g"), says("right after")),
				assistant(says("One."), reads("r1")), user(gives("r1", "one"), says(nested)),
				assistant(says("Two."), reads("r2")), user(gives("r2", "two"), says(queued), image),
				assistant(says("Three."), reads("r3")), user(fails("r3", "gone"), says(notice), pdf),
				assistant(says("Four."), reads("r4")), user(gives("r4", "four")),
				assistant(rewinds("w", "R")), user(rewound("w"), says("typed at the end")),
			},
			want: []string{
				ask, assistant(checks("c", "g")),
				user(closed("c", "g", framed("R", "", "Two.", "Four.")), says("right after"), says(nested), says(queued), image, says(notice), pdf, says("typed at the end")),
			},
		},
		{
			name: "a span across turns",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")), assistant(says("Shall I go on?")),
				`{"role":"user","content":"yes \"<please>\""}`, assistant(reads("r2")), user(gives("r2", "two")), assistant(says("Good.")), user(says("[Request interrupted by user]"), says("now write it down")),
				assistant(rewinds("w", "R")), user(rewound("w")), end,
			},
			want: []string{
				ask, assistant(checks("c", "g")),
				user(closed("c", "g", framed("R", "", "Shall I go on?", "Good.")), `{"type":"text","text":"yes \"<please>\""}`, says("[Request interrupted by user]"), says("now write it down")), end,
			},
		},
		{
			name: "the guard's own words go, and nothing that quotes them",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(says("Done.")), user(says(guard)), assistant(says("Really.")), user(says("you said " + conversation.Reminder(1))),
				assistant(rewinds("w", "R")), user(rewound("w")),
			},
			want: []string{ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", "", "Really.")), says("you said "+conversation.Reminder(1)))},
		},
		{
			name: "the guard's words outside of a span stay",
			history: []string{
				ask, assistant(checks("c0", "g")), user(created("c0", "g")), assistant(says("Done.")), user(says(guard)), end, user(says("next")),
				assistant(checks("c", "g")), user(created("c", "g")), assistant(rewinds("w", "R")), user(rewound("w")),
			},
			want: []string{
				ask, assistant(checks("c0", "g")), user(created("c0", "g")), assistant(says("Done.")), user(says(guard)), end, user(says("next")),
				assistant(checks("c", "g")), user(closed("c", "g", framed("R", ""))),
			},
		},
		{
			name: "a system message stays where it may stand",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")), system,
				assistant(reads("r2")), user(gives("r2", "two"), says("typed")), assistant(rewinds("w", "R")), user(rewound("w")), end,
			},
			want: []string{ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", "")), says("typed")), system, end},
		},
		{
			name: "several system messages become one, also with the one right behind",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")), system,
				assistant(reads("r2")), user(gives("r2", "two")), `{"role":"system","content":[{"type":"text","text":"second"}],"output_config":{"effort":"high"}}`,
				assistant(rewinds("w", "R")), user(rewound("w")), `{"role":"system","content":[]}`, end,
			},
			want: []string{
				ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", ""))),
				`{"role":"system","content":[{"type":"text","text":"MCP tools changed"},{"type":"text","text":"second"}],"output_config":{"effort":"high"}}`, end,
			},
		},
		{
			name: "with a rewind that stays, the system message behind it stays alone",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")), system,
				assistant(rewinds("w", "R"), reads("r2")), user(rewound("w"), gives("r2", "two")), system, end,
			},
			want: []string{
				ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", ""))), system,
				assistant(rewinds("w", "R"), reads("r2")), user(rewound("w"), gives("r2", "two")), system, end,
			},
		},
		{
			name: "a call that loaded a tool stays with its result and its thinking",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one"), says("first")), system,
				assistant(thinks("t"), says("Searching."), uses("s", "ToolSearch", `{"query":"fetch"}`), reads("r2")),
				user(`{"type":"tool_result","tool_use_id":"s","content":[{"type":"tool_reference","tool_name":"WebFetch"}]}`, gives("r2", "two"), says("Tool loaded.")), system,
				assistant(reads("r3")), user(gives("r3", "three"), says("second")), assistant(rewinds("w", "R")), user(rewound("w")), end,
			},
			want: []string{
				ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", "", "Searching.")), says("first")), system,
				assistant(thinks("t"), uses("s", "ToolSearch", `{"query":"fetch"}`)),
				user(`{"type":"tool_result","tool_use_id":"s","content":[{"type":"tool_reference","tool_name":"WebFetch"}]}`, says("Tool loaded."), says("second")), system, end,
			},
		},
		{
			name: "such a message that is nothing else stays byte for byte",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")),
				`{"role":"assistant", "content":[ ` + uses("s", "ToolSearch", `{"n":1.0}`) + ` ]}`, user(`{"type":"tool_result","tool_use_id":"s","content":[{"type":"tool_reference","tool_name":"WebFetch"}]}`),
				assistant(rewinds("w", "R")), user(rewound("w")),
			},
			want: []string{
				ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", ""))),
				`{"role":"assistant", "content":[ ` + uses("s", "ToolSearch", `{"n":1.0}`) + ` ]}`, user(`{"type":"tool_result","tool_use_id":"s","content":[{"type":"tool_reference","tool_name":"WebFetch"}]}`),
			},
		},
		{
			name: "B142 signed blocks stay with their message, before and behind the span",
			history: []string{
				ask, assistant(thinks("0"), reads("r0")), user(gives("r0", "zero")), assistant(thinks("1"), `{"type":"redacted_thinking","data":"x"}`, checks("c", "g")), user(created("c", "g")),
				assistant(thinks("2"), reads("r1")), user(gives("r1", "one")), assistant(thinks("3"), rewinds("w", "R"), reads("r2")), user(rewound("w"), gives("r2", "two")), assistant(thinks("4"), says("ok")),
			},
			want: []string{
				ask, assistant(thinks("0"), reads("r0")), user(gives("r0", "zero")), assistant(thinks("1"), `{"type":"redacted_thinking","data":"x"}`, checks("c", "g")), user(closed("c", "g", framed("R", ""))),
				assistant(thinks("3"), rewinds("w", "R"), reads("r2")), user(rewound("w"), gives("r2", "two")), assistant(thinks("4"), says("ok")),
			},
		},
	})
}

func TestAnthropicCacheMarks(t *testing.T) {
	t.Parallel()
	run(t, collapse.Anthropic, []test{
		{
			name: "of the rewind's result it moves to the checkpoint's",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")), assistant(rewinds("w", "R")), user(marked(rewound("w"))),
			},
			want: []string{ask, assistant(checks("c", "g")), user(marked(closed("c", "g", framed("R", ""))))},
		},
		{
			name: "it moves to the last text that stays",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one"), says("typed")), assistant(rewinds("w", "R")), user(marked(rewound("w"))),
			},
			want: []string{ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", "")), marked(says("typed")))},
		},
		{
			name: "never one more: two that go become one, and one that is there stays alone",
			history: []string{
				ask, assistant(checks("c", "g")), user(marked(created("c", "g"))), assistant(reads("r1")), user(marked(gives("r1", "one"))), assistant(rewinds("w", "R")), user(marked(rewound("w"))),
			},
			want: []string{ask, assistant(checks("c", "g")), user(marked(closed("c", "g", framed("R", ""))))},
		},
		{
			name: "on a text that stays it stays",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one"), marked(says("typed"))), assistant(rewinds("w", "R")), user(rewound("w")),
			},
			want: []string{ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", "")), marked(says("typed")))},
		},
		{
			name: "no mark is null",
			history: []string{
				ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(rewinds("w", "R")), user(strings.TrimSuffix(rewound("w"), "}") + `,"cache_control":null}`),
			},
			want: []string{ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", "")))},
		},
	})
}

func TestB139AnthropicDoubt(t *testing.T) {
	t.Parallel()
	span := []string{ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r1")), user(gives("r1", "one")), assistant(rewinds("w", "R")), user(rewound("w"))}
	with := func(at int, messages ...string) []string {
		return append(append(append([]string{}, span[:at]...), messages...), span[at:]...)
	}
	run(t, collapse.Anthropic, []test{
		{name: "a call without a result, in the span", history: with(3, assistant(reads("x")), user(says("interrupted"))), reason: `call "x" has no result`},
		{name: "a call without a result, at the end", history: with(7, assistant(reads("x"))), reason: `call "x" has no result`},
		{name: "a call without a result, before the span", history: with(1, assistant(reads("x")), user(says("interrupted"))), reason: `call "x" has no result`},
		{name: "a result without a call", history: with(7, end, user(gives("x", "?"))), reason: `result "x" has no call`},
		{name: "a result twice", history: with(7, user(rewound("w"))), reason: `result "w" has no call`},
		{name: "a block of the model's that stands for what was before", history: with(3, assistant(`{"type":"compaction","content":"summary"}`, reads("x")), user(gives("x", "one"))), reason: "not known"},
		{name: "an unknown role in the span", history: with(3, `{"role":"critic","content":"hm"}`), reason: "not known"},
		{name: "a role given twice", history: with(4, assistant(reads("x")), `{"role":"user","content":[`+gives("x", "one")+`],"role":"user"}`), reason: "not known"},
		{name: "a content that is no list", history: with(5, `{"role":"user","content":{"a":1}}`), reason: "not known"},
		{name: "a user's text with members that are not known", history: with(5, `{"role":"user","content":"hi","weight":1}`), reason: "members"},
		{name: "a rewind without a report", history: append(with(0)[:5:5], assistant(uses("w", "mcp__turnback__rewind", `{}`)), user(rewound("w"))), reason: "no report"},
		{name: "a rewind with two reports", history: append(with(0)[:5:5], assistant(uses("w", "mcp__turnback__rewind", `{"report":"a","report":"b"}`)), user(rewound("w"))), reason: "no report"},
	})
	// Outside of a span nothing has to be known.
	run(t, collapse.Anthropic, []test{{
		name:    "an unknown role outside",
		history: append(append([]string{`{"role":"user","content":"hi","role":"user"}`, end}, span...), `{"role":"assistant","content":[{"type":"new","x":9007199254740993}]}`),
		want: []string{
			`{"role":"user","content":"hi","role":"user"}`, end, ask, assistant(checks("c", "g")), user(closed("c", "g", framed("R", ""))),
			`{"role":"assistant","content":[{"type":"new","x":9007199254740993}]}`,
		},
	}})
}
