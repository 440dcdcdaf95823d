package fakemodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	const (
		ask    = `{"role":"user","content":"do it"}`
		call   = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}`
		result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}`
		say    = `{"role":"assistant","content":"done"}`
		mark   = `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	)
	tests := []struct {
		name     string
		messages []string
		system   string
		want     []string
	}{
		{name: "a plain exchange", messages: []string{ask, say}},
		{name: "a tool call", messages: []string{ask, call, result, say}},
		{name: "text after a result", messages: []string{ask, call, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"},{"type":"text","text":"and this"}]}`}},
		{name: "a system message between call and result", messages: []string{ask, call, `{"role":"system","content":[]}`, result}},
		{name: "four cache marks", messages: []string{`{"role":"user","content":[` + mark + `,` + mark + `]}`}, system: mark + "," + mark},
		{name: "nothing", want: []string{"messages: empty"}},
		{name: "the assistant first", messages: []string{say}, want: []string{"messages.0: first role is not user"}},
		{name: "no content", messages: []string{`{"role":"user","content":[]}`}, want: []string{"messages.0: empty content"}},
		{name: "an empty text", messages: []string{`{"role":"user","content":""}`}, want: []string{"messages.0: empty text block"}},
		{name: "an unknown role", messages: []string{ask, `{"role":"tool","content":"x"}`}, want: []string{`messages.1: unknown role "tool"`}},
		{name: "a call without a result", messages: []string{ask, call, ask}, want: []string{"messages.2: tool_use t1 without tool_result"}},
		{name: "a call at the end", messages: []string{ask, call}, want: []string{"end: tool_use t1 without tool_result"}},
		{name: "a call, then the assistant again", messages: []string{ask, call, say}, want: []string{"messages.2: tool_use t1 without tool_result immediately after"}},
		{name: "a result without a call", messages: []string{ask, say, result}, want: []string{"messages.2: tool_result t1 without tool_use in the previous message"}},
		{
			name:     "a result after text",
			messages: []string{ask, call, `{"role":"user","content":[{"type":"text","text":"first"},{"type":"tool_result","tool_use_id":"t1"}]}`},
			want:     []string{"messages.2: tool_result must come first"},
		},
		{name: "the same id twice", messages: []string{ask, call, result, call, result}, want: []string{"messages.3: duplicate tool_use id t1"}},
		{
			name:     "thinking without a signature",
			messages: []string{ask, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}`},
			want:     []string{"messages.1: thinking without signature"},
		},
		{
			name:     "five cache marks",
			messages: []string{`{"role":"user","content":[` + mark + `,` + mark + `,` + mark + `]}`},
			system:   mark + "," + mark,
			want:     []string{"cache_control: 5 blocks, at most 4"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := `{"messages":[` + strings.Join(test.messages, ",") + `],"system":[` + test.system + `]}`
			var body fakemodel.Body
			if err := json.Unmarshal([]byte(text), &body); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, fakemodel.Validate(body)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
