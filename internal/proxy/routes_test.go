package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/proxy"
)

// The history of spanBody as the other providers have it.
const (
	responsesSpan = `{"model":"m","input":[{"type":"message","role":"user","content":"look around"},
{"type":"function_call","call_id":"t1","namespace":"mcp__turnback","name":"checkpoint","arguments":"{\"goal\":\"g\"}"},
{"type":"function_call_output","call_id":"t1","output":"Checkpoint created.\nGoal: g\nRun your investigation, then call rewind with a concise report."},
{"type":"function_call","call_id":"t2","name":"shell","arguments":"{}"},
{"type":"function_call_output","call_id":"t2","output":"EXPLORED"},
{"type":"function_call","call_id":"t3","namespace":"mcp__turnback","name":"rewind","arguments":"{\"report\":\"THE REPORT\"}"},
{"type":"function_call_output","call_id":"t3","output":"Rewind requested.\nReport captured for context replacement."}]}`

	chatSpan = `{"model":"m","messages":[{"role":"user","content":"look around"},
{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"turnback_checkpoint","arguments":"{\"goal\":\"g\"}"}}]},
{"role":"tool","tool_call_id":"t1","content":"Checkpoint created.\nGoal: g\nRun your investigation, then call rewind with a concise report."},
{"role":"assistant","content":null,"tool_calls":[{"id":"t2","type":"function","function":{"name":"bash","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"t2","content":"EXPLORED"},
{"role":"assistant","content":null,"tool_calls":[{"id":"t3","type":"function","function":{"name":"turnback_rewind","arguments":"{\"report\":\"THE REPORT\"}"}}]},
{"role":"tool","tool_call_id":"t3","content":"Rewind requested.\nReport captured for context replacement."}]}`

	geminiSpan = `{"contents":[{"role":"user","parts":[{"text":"look around"}]},
{"role":"model","parts":[{"functionCall":{"name":"mcp_turnback_checkpoint","args":{"goal":"g"}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"mcp_turnback_checkpoint","response":{"output":"Checkpoint created.\nGoal: g\nRun your investigation, then call rewind with a concise report."}}}]},
{"role":"model","parts":[{"functionCall":{"name":"shell","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"shell","response":{"output":"EXPLORED"}}}]},
{"role":"model","parts":[{"functionCall":{"name":"mcp_turnback_rewind","args":{"report":"THE REPORT"}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"mcp_turnback_rewind","response":{"output":"Rewind requested.\nReport captured for context replacement."}}}]}]}`
)

// A history that one route shortened and another did not would be counted, or
// compacted, as what the model never gets.
func TestEveryRouteThatCarriesHistoryIsCollapsed(t *testing.T) {
	for _, test := range []struct {
		provider proxy.Provider
		path     string
		body     string
	}{
		{proxy.Anthropic, "/v1/messages", spanBody},
		{proxy.Anthropic, "/v1/messages/count_tokens", spanBody},
		{proxy.OpenAI, "/v1/responses", responsesSpan},
		{proxy.OpenAI, "/v1/responses/compact", responsesSpan},
		{proxy.OpenAI, "/responses/input_tokens", responsesSpan},
		{proxy.OpenAI, "/v1/chat/completions", chatSpan},
		{proxy.Gemini, "/v1beta/models/m:generateContent?key=k", geminiSpan},
		{proxy.Gemini, "/v1beta/models/m:streamGenerateContent?alt=sse", geminiSpan},
		{proxy.Gemini, "/v1beta/models/m:countTokens", geminiSpan},
	} {
		t.Run(test.path, func(t *testing.T) {
			up := &echo{}
			b := start(t, upstream(t, up.ServeHTTP).URL, func(o *proxy.Options) { o.Provider = test.provider })
			if r := b.send("POST", test.path, test.body, nil); r.StatusCode != http.StatusOK {
				t.Errorf("answer %d", r.StatusCode)
			}
			if got := string(up.last()); strings.Contains(got, "EXPLORED") || strings.Count(got, "THE REPORT") != 1 || !strings.Contains(got, "look around") {
				t.Errorf("upstream got\n%s", got)
			}
		})
	}
}
