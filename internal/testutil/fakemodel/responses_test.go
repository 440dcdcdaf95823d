package fakemodel_test

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

func TestValidateResponses(t *testing.T) {
	t.Parallel()
	const call, output = `{"type":"function_call","call_id":"a"}`, `{"type":"function_call_output","call_id":"a"}`
	for input, want := range map[string]string{
		`{"type":"message"},` + call + `,` + output: "",
		`{"type":"custom_tool_call","call_id":"b"},{"type":"reasoning"},{"type":"custom_tool_call_output","call_id":"b"}`: "",
		``:                                 "empty",
		call:                               "call a without an output",
		output:                             "output a without its call",
		output + `,` + call:                "output a without its call",
		call + `,` + output + `,` + output: "a second output of a",
		call + `,` + call + `,` + output:   "call id a twice",
	} {
		got := strings.Join(fakemodel.ValidateResponses([]byte(`{"input":[`+input+`]}`)), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}
