package collapse_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

const facts = "Files changed since the checkpoint: a.txt (work-tree checkpoint 3)"

func quote(text string) string { return string(jsonscan.Quote(text)) }

// framed is the report as it is sent.
func framed(report, facts string, said ...string) string {
	return conversation.Frame{Report: report, Facts: facts, Said: said}.String()
}

// head is the checkpoint's text without the line that asks for a rewind.
func head(goal string) string {
	return strings.TrimSuffix(conversation.CreatedText(goal), "\n"+conversation.InvestigateLine)
}

// test is a history with what is to be sent of it; want is nil when nothing
// changes.
type test struct {
	name    string
	history []string
	want    []string
	reason  string // part of the reason, when the history is left as it is in doubt
	lax     bool   // the history is one that providers take and the rules of these tests do not
}

// listName is the member of a body that the history is in.
func listName(p collapse.Provider) string {
	return map[collapse.Provider]string{
		collapse.Anthropic: "messages", collapse.Chat: "messages", collapse.Responses: "input", collapse.Gemini: "contents",
		collapse.Pi: "messages", collapse.OpenCode: "messages",
	}[p]
}

// bodyOf is a request with a history, and members around it that a reader and
// writer of JSON would not give back as they are.
func bodyOf(p collapse.Provider, history []string) []byte {
	return []byte(`{ "model":"m","z":9007199254740993, "` + listName(p) + `":[` + strings.Join(history, ", ") +
		"],\n\"a\":1.0,\"dup\":1,\"dup\":\"<&>\",\"max_tokens\":1e3}\n")
}

func run(t *testing.T, p collapse.Provider, tests []test) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			body := bodyOf(p, test.history)
			before := string(body)
			got := collapse.Collapse(p, conversation.OtherAgent, body)
			if string(body) != before {
				t.Fatal("the body that was given changed")
			}
			if !strings.Contains(got.Reason, test.reason) || test.reason == "" && got.Reason != "" {
				t.Errorf("reason %q, want %q", got.Reason, test.reason)
			}
			want := test.want
			if want == nil {
				if &got.Body[0] != &body[0] {
					t.Errorf("the body is not the slice that was given: %s", got.Body)
				}
				if len(got.Spans) != 0 {
					t.Errorf("spans: %v", got.Spans)
				}
				return
			}
			if diff := cmp.Diff(want, listOf(t, p, got.Body)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			checkAround(t, p, body, got.Body)
			if problems := problemsOf(p, got.Body); len(problems) > 0 && !test.lax {
				t.Errorf("not valid: %v", problems)
			}
			if len(got.Spans) == 0 {
				t.Error("no span is told")
			}
			again := collapse.Collapse(p, conversation.OtherAgent, got.Body)
			if &again.Body[0] != &got.Body[0] {
				t.Errorf("applied again, it changes: %s", again.Body)
			}
			if again.Completed != got.Completed || !cmp.Equal(again.Open, got.Open) || !cmp.Equal(again.Checkpoints, got.Checkpoints) {
				t.Errorf("applied again, the state is %+v, before %+v", again, got)
			}
		})
	}
}

// listOf is the history in a body, its elements as they stand there.
func listOf(t testing.TB, p collapse.Provider, body []byte) []string {
	t.Helper()
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(members[listName(p)], &raw); err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(raw))
	for i := range raw {
		list[i] = string(raw[i])
	}
	return list
}

// checkAround compares what stands before and behind the history.
func checkAround(t testing.TB, p collapse.Provider, before, after []byte) {
	t.Helper()
	name := `"` + listName(p) + `":[`
	cutBefore, _, _ := strings.Cut(string(before), name)
	cutAfter, _, _ := strings.Cut(string(after), name)
	if cutBefore != cutAfter {
		t.Errorf("before the history: %q became %q", cutBefore, cutAfter)
	}
	restBefore := string(before)[strings.LastIndex(string(before), "],\n\"a\""):]
	if !strings.HasSuffix(string(after), restBefore) {
		t.Errorf("behind the history: %q became %q", restBefore, after[max(0, len(after)-80):])
	}
}
