package collapse_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

func TestStateOfAHistory(t *testing.T) {
	t.Parallel()
	opened := []string{ask, assistant(checks("c", "find it")), user(created("c", "find it"))}
	closedOnce := append(append([]string{}, opened...), assistant(reads("r")), user(gives("r", "one")), assistant(rewinds("w", "R")), user(rewound("w")))
	type state struct {
		Known, Completed bool
		Open             *collapse.OpenCheckpoint
		Checkpoints      []string
	}
	for _, test := range []struct {
		name    string
		history []string
		want    state
	}{
		{name: "no checkpoint", history: []string{ask, end}, want: state{Known: true}},
		{name: "one is open", history: opened, want: state{Known: true, Open: &collapse.OpenCheckpoint{ID: "c", Goal: "find it", BatchEnded: true}, Checkpoints: []string{"c"}}},
		{
			name: "B136 one is open after an interruption", history: append(append([]string{}, opened...), assistant(says("hm")), user(says("[Request interrupted by user]"), says("go on"))),
			want: state{Known: true, Open: &collapse.OpenCheckpoint{ID: "c", Goal: "find it", BatchEnded: true}, Checkpoints: []string{"c"}},
		},
		{name: "one is completed", history: closedOnce, want: state{Known: true, Completed: true, Checkpoints: []string{"c"}}},
		{
			name: "the next is open", history: append(append([]string{}, closedOnce...), assistant(checks("d", "more")), user(created("d", "more"))),
			want: state{Known: true, Open: &collapse.OpenCheckpoint{ID: "d", Goal: "more", BatchEnded: true}, Checkpoints: []string{"c", "d"}},
		},
		{
			name: "it was refused", history: []string{ask, assistant(checks("c", " ")), user(fails("c", string(conversation.ErrGoalEmpty))), end, user(says(conversation.CreatedPrefix))},
			want: state{Known: true},
		},
		{
			name: "B143 it was lost in a compaction: its id is not there", history: []string{user(says("Summary. " + conversation.CreatedPrefix)), end},
			want: state{Known: true},
		},
		{name: "B139 a damaged history says nothing", history: append(append([]string{}, opened...), assistant(reads("x")), user(says("interrupted")))},
		{
			name: "in doubt about a span, the state is known", history: append(append([]string{}, opened...), assistant(uses("w", "mcp__turnback__rewind", `{}`)), user(rewound("w"))),
			want: state{Known: true, Completed: true, Checkpoints: []string{"c"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := collapse.Collapse(collapse.Anthropic, conversation.OtherAgent, bodyOf(collapse.Anthropic, test.history))
			if diff := cmp.Diff(test.want, state{got.Known, got.Completed, got.Open, got.Checkpoints}); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGeminiKnowsACheckpointByItsGoal(t *testing.T) {
	t.Parallel()
	body := bodyOf(collapse.Gemini, []string{
		content("user", `{"text":"why?"}`), content("model", functionCall("mcp_turnback_checkpoint", `{"goal":"find it"}`)),
		content("user", functionResponse("mcp_turnback_checkpoint", untrusted(conversation.CreatedText("find it")))),
	})
	got := collapse.Collapse(collapse.Gemini, conversation.OtherAgent, body)
	if got.Open == nil || got.Open.ID != "goal:find it" || got.Open.Goal != "find it" {
		t.Errorf("%+v", got.Open)
	}
}

func TestBodiesThatSayNothing(t *testing.T) {
	t.Parallel()
	said := quote(conversation.CreatedText("g"))
	for _, test := range []struct {
		provider collapse.Provider
		body     string
		known    bool
		reason   bool
	}{
		{provider: collapse.Anthropic, body: `{"messages":[]}`, known: true},
		{provider: collapse.Responses, body: `{"input":` + said + `}`, known: true},
		{provider: collapse.Responses, body: `{"previous_response_id":"r","input":` + said + `}`},
		{provider: collapse.Responses, body: `{"previous_response_id" : "r","input":[]}`},
		{provider: collapse.Responses, body: `{"previous_response_id":null,"input":[]}`, known: true},
		{provider: collapse.Responses, body: `{"previous_response_id" : "r","input":` + said + `}`},
		{provider: collapse.Responses, body: `{"previous_response_id":null,"input":` + said + `}`, known: true},
		{provider: collapse.Anthropic, body: `{"messages":{"a":` + said + `}}`, reason: true},
		{provider: collapse.Anthropic, body: `[` + said + `]`, reason: true},
		{provider: collapse.Anthropic, body: `{"messages":[` + said + `]}`, reason: true},
		{provider: collapse.Anthropic, body: `{"messages":[],"messages":[],"a":` + said + `}`, reason: true},
		{provider: collapse.Anthropic, body: `{"a":` + said + `,"messages":[}`, reason: true},
		{provider: collapse.Anthropic, body: `{"a":` + said + `,"messages":[]} trailing`, reason: true},
		{provider: "other", body: `{"a":` + said + `}`, reason: true},
	} {
		got := collapse.Collapse(test.provider, conversation.OtherAgent, []byte(test.body))
		if got.Known != test.known || (got.Reason != "") != test.reason || string(got.Body) != test.body || got.Open != nil || got.Completed {
			t.Errorf("%s %s: %+v", test.provider, test.body, got)
		}
	}
}

// Every member that a reader and writer of JSON would change is in a place that
// stays: before, behind and beside the span, and in messages that are kept.
func TestOutsideOfASpanNoByteChanges(t *testing.T) {
	t.Parallel()
	odd := `{ "z":9007199254740993,"a" :1.0,"a":1e+2, "b":"<&>\u003c\u2028\/","c":[ ] ,"d":-0.0}`
	list := []string{
		`{"content":[{"text":"why?","type":"text","x":` + odd + `}] , "role":"user"}`,
		`{"content":[` + uses("r", "Read", odd) + `], "role":"assistant","stop":` + odd + `}`,
		user(gives("r", "zero")),
		assistant(`{"type":"thinking","thinking":"\u003c","signature":"a\/b=="}`, checks("c", "g")),
		user(`{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":` + quote(conversation.CreatedText("g")) + `,"x":` + odd + `}],"y":` + odd + `}`),
		assistant(uses("r1", "Read", odd)), user(gives("r1", "one"), `{"type":"image","source":`+odd+`}`),
		assistant(rewinds("w", "R")), user(rewound("w")),
		assistant(`{"type":"text","text":"ok\u003c","citations":` + odd + `}`), `{"role":"user","content":"\u0074hanks"}`,
	}
	body := bodyOf(collapse.Anthropic, list)
	got := collapse.Collapse(collapse.Anthropic, conversation.OtherAgent, body)
	want := append(append([]string{}, list[:4]...),
		user(`{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":`+quote(head("g"))+`,"x":`+odd+`},`+says(framed("R", ""))+`],"y":`+odd+`}`,
			`{"type":"image","source":`+odd+`}`), list[9], list[10])
	if diff := cmp.Diff(want, listOf(t, collapse.Anthropic, got.Body)); diff != "" {
		t.Error(diff)
	}
	checkAround(t, collapse.Anthropic, body, got.Body)
}

func TestB137ThreeCyclesInARow(t *testing.T) {
	t.Parallel()
	list := []string{ask}
	want := []string{ask}
	for _, n := range []string{"1", "2", "3"} {
		list = append(list, assistant(checks("c"+n, "g"+n)), user(created("c"+n, "g"+n)), assistant(reads("r"+n)), user(gives("r"+n, "explored "+n)),
			assistant(rewinds("w"+n, "R"+n)), user(rewound("w"+n)))
		want = append(want, assistant(checks("c"+n, "g"+n)), user(closed("c"+n, "g"+n, framed("R"+n, ""))))
		got := collapse.Collapse(collapse.Anthropic, conversation.OtherAgent, bodyOf(collapse.Anthropic, list))
		if len(got.Spans) == 0 || got.Open != nil || !got.Completed {
			t.Errorf("cycle %s: %+v", n, got)
		}
		list, want = append(list, assistant(says("next"))), append(want, assistant(says("next")))
		list, want = append(list, user(says("go on"))), append(want, user(says("go on")))
	}
	got := collapse.Collapse(collapse.Anthropic, conversation.OtherAgent, bodyOf(collapse.Anthropic, list))
	if diff := cmp.Diff(want, listOf(t, collapse.Anthropic, got.Body)); diff != "" {
		t.Error(diff)
	}
	// The line that asks for a rewind is gone with each that was closed.
	if bytes.Contains(got.Body, []byte(conversation.InvestigateLine)) {
		t.Error("a closed checkpoint still asks for a rewind")
	}
}

func TestB145TheSameHistoryGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	steps := (&tape{bytes: []byte(strings.Repeat("\x01\x02\x06\x01\x00\x03\x05\x01", 20))}).history()
	for _, p := range providers() {
		list := render(p, steps, false)
		first := collapse.Collapse(p, conversation.OtherAgent, bodyOf(p, list))
		if second := collapse.Collapse(p, conversation.OtherAgent, bodyOf(p, list)); !bytes.Equal(first.Body, second.Body) {
			t.Errorf("%s: two bodies of one history", p)
		}
	}
}

func TestFiguresOfASpan(t *testing.T) {
	t.Parallel()
	body := bodyOf(collapse.Anthropic, []string{
		ask, assistant(checks("c", "g")), user(created("c", "g")), assistant(reads("r")), user(gives("r", strings.Repeat("x", 10_000))), assistant(rewinds("w", "R")), user(rewound("w")),
	})
	got := collapse.Collapse(collapse.Anthropic, conversation.OtherAgent, body)
	s := got.Spans[0]
	if s.Checkpoint != "c" || s.Goal != "g" || s.Report != "R" {
		t.Errorf("%+v", s)
	}
	// What is told is what went, but for the commas between messages.
	if gone := len(body) - len(got.Body); s.BytesBefore-s.BytesAfter > gone || s.BytesBefore-s.BytesAfter < gone-20 {
		t.Errorf("%d bytes went; told are %d before and %d after", gone, s.BytesBefore, s.BytesAfter)
	}
	if after := len(closed("c", "g", framed("R", ""))); s.BytesAfter < after-20 || s.BytesAfter > after {
		t.Errorf("%d bytes after, want about %d", s.BytesAfter, after)
	}
}
