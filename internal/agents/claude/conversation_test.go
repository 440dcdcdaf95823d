//go:build unix

package claude

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
)

// call is an entry with one tool call; entries of one message share its id.
func call(uuid, parent, message, id, tool, input string) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":%q,"parentUuid":%q,"isSidechain":false,"timestamp":"2026-11-30T10:00:00.500Z","message":{"id":%q,"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`,
		uuid, parent, message, id, tool, input)
}

func answer(uuid, parent, id, content string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%q,"isSidechain":false,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s}]}}`,
		uuid, parent, id, content)
}

const (
	checkpointTool = "mcp__turnback__checkpoint"
	rewindTool     = "mcp__turnback__rewind"
	created        = `[{"type":"text","text":"Checkpoint created.\nGoal: g\nRun your investigation, then call rewind with a concise report."}]`
	createdDetails = `"{\"goal\":\"g\",\"startedAt\":\"2026-11-30T10:00:00.500Z\"}"`
	requested      = `[{"type":"text","text":"Rewind requested.\nReport captured for context replacement."},{"type":"text","text":"Files changed since the checkpoint: none (work-tree checkpoint 2)"}]`
	boundaryLine   = `{"type":"system","subtype":"compact_boundary","uuid":"c1","parentUuid":null,"logicalParentUuid":"r1","isSidechain":false}`
	summaryLine    = `{"type":"user","uuid":"c2","parentUuid":"c1","isSidechain":false,"isCompactSummary":true,"message":{"role":"user","content":"summary: Checkpoint created."}}`
)

func sidechain(line string) string {
	return strings.Replace(line, `"isSidechain":false`, `"isSidechain":true`, 1)
}

func TestHistoryTellsTheState(t *testing.T) {
	start := []string{linePrompt, call("a1", "u1", "m1", "t1", checkpointTool, `{"goal":" g "}`)}
	opened := append(start[:2:2], answer("r1", "a1", "t1", created))
	open := func(boundary bool) conversation.State {
		s := conversation.State{Open: &conversation.Open{CallID: "t1", Goal: "g"}}
		if boundary {
			s.Open.Boundary = &conversation.Boundary{}
		}
		return s
	}
	rewound := conversation.State{Completed: &conversation.Report{CallID: "t2", Checkpoint: "t1", Text: "found it"}}
	explored := append(opened[:3:3],
		call("a2", "r1", "m2", "x1", "Read", `{}`), answer("r2", "a2", "x1", `"text"`),
		call("a3", "r2", "m3", "t2", rewindTool, `{"report":"found it"}`))
	tests := []struct {
		name  string
		lines []string
		want  conversation.State
	}{
		{"nothing", []string{linePrompt}, conversation.State{}},
		{"a call without its result", start, conversation.State{}},
		{"open", opened, open(true)},
		{"open, told by its details alone", append(start[:2:2], answer("r1", "a1", "t1", createdDetails)), open(true)},
		{"a refusal opens nothing", append(start[:2:2], answer("r1", "a1", "t1", `"Checkpoint already active."`)), conversation.State{}},
		{"an error opens nothing, whatever it says", append(start[:2:2], strings.Replace(answer("r1", "a1", "t1", created), `"tool_use_id"`, `"is_error":true,"tool_use_id"`, 1)), conversation.State{}},
		{"a rewind without its result", explored, open(true)},
		{"rewound", append(explored[:6:6], answer("r3", "a3", "t2", requested)), rewound},
		{
			"a sibling of the batch has no result yet",
			[]string{linePrompt, call("a1", "u1", "m1", "t1", checkpointTool, `{"goal":"g"}`), call("b1", "a1", "m1", "x1", "Bash", `{}`), answer("r1", "a1", "t1", created)},
			open(false),
		},
		{
			"a sibling's result hangs beside the chain",
			[]string{
				linePrompt, call("a1", "u1", "m1", "t1", checkpointTool, `{"goal":"g"}`), call("b1", "a1", "m1", "x1", "Bash", `{}`),
				answer("r1", "a1", "t1", created), answer("r2", "b1", "x1", `"done"`), call("a2", "r2", "m2", "x2", "Bash", `{}`),
			},
			open(true),
		},
		{"compacted", append(opened[:3:3], boundaryLine, summaryLine), conversation.State{Lost: open(true).Open}},
		{
			"a native rewind to before the checkpoint",
			append(opened[:3:3], `{"type":"user","uuid":"u9","parentUuid":"u1","isSidechain":false,"promptId":"p9","message":{"role":"user","content":"again"}}`),
			conversation.State{},
		},
		{
			"a subagent's calls",
			[]string{linePrompt, sidechain(start[1]), sidechain(answer("r1", "a1", "t1", created))},
			conversation.State{},
		},
		{
			"another server's tool of that name",
			[]string{linePrompt, call("a1", "u1", "m1", "t1", "mcp__other__checkpoint", `{"goal":"g"}`), answer("r1", "a1", "t1", created)},
			conversation.State{},
		},
		{"requests that the agent logs beside the chain", append(explored[:6:6], answer("r3", "a3", "t2", requested), lineBlob, strings.Replace(start[1], `"uuid"`, `"uid"`, 1)), rewound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := New().History(write(t, lines(test.lines...)))
			if err != nil {
				t.Fatal(err)
			}
			got := h.State()
			for _, o := range []*conversation.Open{got.Open, got.Lost} {
				if o != nil {
					o.StartedAt = time.Time{}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHistoryOfATranscriptThatIsNotThere(t *testing.T) {
	if _, err := New().History(filepath.Join(t.TempDir(), "none.jsonl")); err == nil {
		t.Error("no error")
	}
	if _, err := New().History(t.TempDir()); err == nil {
		t.Error("no error for a folder")
	}
}
