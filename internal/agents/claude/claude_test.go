package claude

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/agents/payload"
	"github.com/turnback/turnback/internal/api"
)

const (
	session      = "28017c1e-93f7-4c3c-a1c2-0d3c2f6b8a11"
	promptID     = "e808bb0e-6a0c-4a54-9a63-6ce0a1f3f001"
	transcriptOf = "/home/dev/.claude/projects/-home-dev-api/28017c1e-93f7-4c3c-a1c2-0d3c2f6b8a11.jsonl"
	tree         = "/home/dev/api"
)

func noEnv(string) string { return "" }

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "payloads", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func event(t testing.TB, object []byte) string {
	t.Helper()
	var head struct {
		Name string `json:"hook_event_name"`
	}
	if err := json.Unmarshal(object, &head); err != nil {
		t.Fatal(err)
	}
	return head.Name
}

// report is a report from the session of the fixtures; change makes it the one
// that is expected.
func report(kind api.ReportKind, change func(*api.AgentReport)) api.AgentReport {
	r := api.AgentReport{
		Place: api.Place{Dir: tree}, Agent: "claude", Kind: kind,
		SessionID: session, PromptID: promptID, Transcript: transcriptOf,
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestParse(t *testing.T) {
	reason := func(word string) func(*api.AgentReport) {
		return func(r *api.AgentReport) { r.Reason = word; r.PromptID = "" }
	}
	subagent := func(r *api.AgentReport) { r.Subagent = true }
	writing := func(paths ...string) func(*api.AgentReport) {
		return func(r *api.AgentReport) { r.ToolWrites, r.Paths = true, paths }
	}
	says := func(message string) func(*api.AgentReport) {
		return func(r *api.AgentReport) { r.Message = message }
	}
	want := map[string]api.AgentReport{
		"session-start":         report(api.ReportSessionStart, reason("startup")),
		"session-start-resume":  report(api.ReportSessionStart, reason("resume")),
		"session-start-compact": report(api.ReportCompacted, reason("compact")),
		"session-start-clear": report(api.ReportSessionStart, func(r *api.AgentReport) {
			r.Reason, r.PromptID, r.SessionID = "clear", "", "5f0e8d5e-0000-4c3c-a1c2-0d3c2f6b8a12"
		}),
		"session-end":       report(api.ReportSessionEnd, func(r *api.AgentReport) { r.Reason = "prompt_input_exit" }),
		"session-end-clear": report(api.ReportSessionEnd, func(r *api.AgentReport) { r.Reason = "clear" }),
		"prompt": report(api.ReportPrompt, func(r *api.AgentReport) {
			r.Prompt = "Add a retry to the client\n\nand test it"
		}),
		"prompt-task-notification": report(api.ReportPrompt, func(r *api.AgentReport) {
			r.PromptID, r.SameTurn = "0e47353a-4418-4c6c-8acb-6e15cb552592", true
			r.Prompt = "<task-notification>\n<task-id>bt2ozn3nw</task-id>\n<status>completed</status>\n</task-notification>"
		}),
		"pre-bash": report(api.ReportToolStart, writing()),
		"pre-write": report(api.ReportToolStart, func(r *api.AgentReport) {
			r.ToolWrites, r.Paths = true, []string{tree + "/client.go"}
		}),
		"pre-edit-subagent": report(api.ReportToolStart, func(r *api.AgentReport) {
			r.Subagent, r.ToolWrites, r.Paths = true, true, []string{tree + "/a b.txt"}
		}),
		"pre-notebook": report(api.ReportToolStart, writing(tree+"/n.ipynb")),
		"pre-read":     report(api.ReportToolStart, nil),
		"pre-agent":    report(api.ReportToolStart, nil),
		"pre-question": report(api.ReportToolStart, nil),
		"pre-mcp": report(api.ReportToolStart, func(r *api.AgentReport) {
			r.ConversationTool, r.ToolUseID = "checkpoint", "toolu_8"
		}),
		"post-bash":                   report(api.ReportToolEnd, writing()),
		"post-write":                  report(api.ReportToolEnd, writing(tree+"/client.go")),
		"post-failure":                report(api.ReportToolEnd, writing()),
		"post-batch":                  report(api.ReportToolEnd, nil),
		"permission-request":          report(api.ReportNeedsInput, nil),
		"permission-request-subagent": report(api.ReportNeedsInput, subagent),
		"notification-idle":           report(api.ReportSeen, nil),
		"notification-permission":     report(api.ReportNeedsInput, says("Claude needs your permission to use Bash")),
		"notification-agent":          report(api.ReportNeedsInput, says("The safety check needs your input")),
		"notification-untyped": report(api.ReportNeedsInput, func(r *api.AgentReport) {
			r.PromptID, r.Message = "", "Claude needs your permission to use Bash"
		}),
		"notification-untyped-idle": report(api.ReportSeen, func(r *api.AgentReport) { r.PromptID = "" }),
		"stop":                      report(api.ReportStop, says("Done.")),
		"stop-background": report(api.ReportStop, func(r *api.AgentReport) {
			r.Message, r.Background = "Started.", 2
		}),
		"agent-session":            report(api.ReportStop, says("Reviewed.")),
		"stop-failure":             report(api.ReportFailed, says("API Error: 400 mock bad request")),
		"stop-failure-bare":        report(api.ReportFailed, says("rate_limit")),
		"subagent-start":           report(api.ReportSeen, subagent),
		"subagent-stop":            report(api.ReportSeen, subagent),
		"subagent-stop-compaction": report(api.ReportSeen, subagent),
		"pre-compact":              report(api.ReportSeen, nil),
		"post-compact":             report(api.ReportCompacted, nil),
		"future":                   report(api.ReportSeen, nil),
	}
	files, err := filepath.Glob("testdata/payloads/*.json")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d payloads (%v), but %d are expected to be read", len(files), err, len(want))
	}
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			object := fixture(t, name)
			w.Event = event(t, object)
			got, err := Adapter{}.Parse(w.Event, object, noEnv)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseOfOddPayloads(t *testing.T) {
	tests := []struct {
		name, event, in string
		want            api.AgentReport
		err             error
	}{
		{name: "empty object", event: "Stop", in: `{}`, want: api.AgentReport{Kind: api.ReportStop}},
		{
			name: "every field of another type", event: "Stop",
			in: `{"session_id":7,"prompt_id":[],"transcript_path":{},"cwd":3,"agent_id":false,
				"last_assistant_message":["x"],"background_tasks":"none"}`,
			want: api.AgentReport{Kind: api.ReportStop},
		},
		{
			name: "one field of another type costs no other", event: "UserPromptSubmit",
			in: `{"session_id":7,"prompt_id":"p1","cwd":"/src","prompt":"hello"}`,
			want: api.AgentReport{
				Place: api.Place{Dir: "/src"}, Kind: api.ReportPrompt, PromptID: "p1", Prompt: "hello",
			},
		},
		{
			name: "no event of ours", event: "", in: `{"cwd":"/src/"}`,
			want: api.AgentReport{Place: api.Place{Dir: "/src"}, Kind: api.ReportSeen},
		},
		{
			name: "tool input of another type", event: "PreToolUse", in: `{"tool_name":"Write","tool_input":"x"}`,
			want: api.AgentReport{Kind: api.ReportToolStart, ToolWrites: true},
		},
		{
			name: "a tool without a name can do anything", event: "PreToolUse", in: `{"tool_name":3}`,
			want: api.AgentReport{Kind: api.ReportToolStart, ToolWrites: true},
		},
		{
			name: "paths that are none of this system", event: "PreToolUse",
			in: `{"cwd":"/src","transcript_path":"t.jsonl","tool_name":"Write","tool_input":{"file_path":"C:\\Users\\d\\x"}}`,
			want: api.AgentReport{
				Place: api.Place{Dir: "/src"}, Kind: api.ReportToolStart, ToolWrites: true,
			},
		},
		{
			name: "a path with a line feed is a path", event: "Stop", in: `{"cwd":"/src/a\nb"}`,
			want: api.AgentReport{Place: api.Place{Dir: "/src/a\nb"}, Kind: api.ReportStop},
		},
		{
			name: "half of a surrogate pair in the directory: it is not told", event: "Stop", in: `{"cwd":"/src/\ud83d","session_id":"\udc00"}`,
			want: api.AgentReport{Kind: api.ReportStop},
		},
		{
			name: "half of a surrogate pair in a prompt", event: "UserPromptSubmit", in: `{"cwd":"/src","prompt":"x\ud83d"}`,
			want: api.AgentReport{Place: api.Place{Dir: "/src"}, Kind: api.ReportPrompt, Prompt: "x\uFFFD"},
		},
		{
			name: "bare backslashes in a prompt", event: "UserPromptSubmit", in: `{"cwd":"/src","prompt":"look at C:\Users\d"}`,
			want: api.AgentReport{Place: api.Place{Dir: "/src"}, Kind: api.ReportPrompt, Prompt: `look at C:\Users\d`},
		},
		{
			name: "bare backslashes in a path of a tool", event: "PreToolUse",
			in:   `{"cwd":"/src","tool_name":"Write","tool_input":{"file_path":"/x/C:\Users\new"}}`,
			want: api.AgentReport{Place: api.Place{Dir: "/src"}, Kind: api.ReportToolStart, ToolWrites: true},
		},
		{name: "a Windows directory", event: "Stop", in: `{"cwd":"C:\\Users\\d"}`, err: ErrForeignPath},
		{name: "a Windows directory with bare backslashes", event: "Stop", in: `{"cwd":"C:\Users\d"}`, err: ErrForeignPath},
		{name: "a Windows directory whose backslashes are escapes", event: "Stop", in: `{"cwd":"C:\new\tmp"}`, err: ErrForeignPath},
		{name: "a share of Windows", event: "Stop", in: `{"cwd":"\\server\Share"}`, err: ErrForeignPath},
		{name: "a relative directory", event: "Stop", in: `{"cwd":"src"}`, err: ErrForeignPath},
		{name: "a directory with a NUL", event: "Stop", in: `{"cwd":"/src\u0000"}`, err: ErrForeignPath},
		{name: "no JSON", event: "Stop", in: `{"cwd":`, err: payload.ErrMalformed},
		{name: "no object", event: "Stop", in: `[]`, err: payload.ErrMalformed},
		{
			name: "ids that cannot be ids", event: "Stop", in: `{"session_id":"a\nb","prompt_id":"` + strings.Repeat("x", 201) + `"}`,
			want: api.AgentReport{Kind: api.ReportStop},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Adapter{}.Parse(tt.event, []byte(tt.in), noEnv)
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil {
				tt.want.Agent, tt.want.Event = "claude", tt.event
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

// Errors end up in a log, where no text of the agent may be.
func TestErrorsHoldNothingOfThePayload(t *testing.T) {
	for _, in := range []string{`{"prompt":"SECRET`, `{SECRET}`, `{"cwd":"SECRET"}`, `{"cwd":"C:\SECRET"}`} {
		_, err := Adapter{}.Parse("Stop", []byte(in), noEnv)
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("Parse(%s): error %v", in, err)
		}
	}
}

func TestParseTakesTheProcessFromTheEnvironment(t *testing.T) {
	for value, want := range map[string]int{"4242": 4242, "": 0, "x": 0, "-1": 0, "0": 0} {
		env := func(name string) string { return map[string]string{"CLAUDE_PID": value}[name] }
		r, err := Adapter{}.Parse("Stop", []byte(`{}`), env)
		if err != nil || r.AgentPID != want {
			t.Errorf("CLAUDE_PID=%q gives %d, %v; want %d", value, r.AgentPID, err, want)
		}
	}
}

// A session that runs in another session's tool call has no turns of its own,
// and must not take over the outer session's window.
func TestSessionInsideOfASession(t *testing.T) {
	const inner, outer = 200, 100
	a := Adapter{outer: func(pid int) int {
		if pid == inner {
			return outer
		}
		return 0
	}}
	tests := map[string]api.AgentReport{
		"prompt":             {Kind: api.ReportSeen},
		"stop":               {Kind: api.ReportSeen},
		"session-start":      {Kind: api.ReportSeen},
		"session-end":        {Kind: api.ReportSeen},
		"permission-request": {Kind: api.ReportSeen},
		"pre-write":          {Kind: api.ReportToolStart, ToolWrites: true, Paths: []string{tree + "/client.go"}},
		"post-bash":          {Kind: api.ReportToolEnd, ToolWrites: true},
	}
	for name, want := range tests {
		object := fixture(t, name)
		want.Place.Dir, want.Agent, want.Event, want.Subagent, want.AgentPID = tree, "claude", event(t, object), true, outer
		env := func(pid int) func(string) string {
			return func(name string) string { return map[string]string{"CLAUDE_PID": strconv.Itoa(pid)}[name] }
		}
		got, err := a.Parse(want.Event, object, env(inner))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got, err = a.Parse(want.Event, object, env(outer)); err != nil || got.Subagent || got.SessionID == "" {
			t.Errorf("%s of the outer session is taken for an inner one (%v)", name, err)
		}
	}
}

func TestAnswer(t *testing.T) {
	tests := []struct {
		event string
		reply api.ConversationReply
		want  string
	}{
		{"PreToolUse", api.ConversationReply{}, ""},
		{"PreToolUse", api.ConversationReply{Deny: "Rewind not available in subagents."}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Rewind not available in subagents."}}`},
		{"Stop", api.ConversationReply{Reminder: "go on"}, `{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"go on"}}`},
		{"Stop", api.ConversationReply{Reminder: "go on", Notice: "n"}, `{"systemMessage":"n","hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"go on"}}`},
		{"UserPromptSubmit", api.ConversationReply{Context: "files"}, `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"files"}}`},
		{"Stop", api.ConversationReply{Notice: "n"}, `{"systemMessage":"n"}`},
	}
	for _, test := range tests {
		if got := string(New().Answer(test.event, test.reply)); got != test.want {
			t.Errorf("%s %+v: %s, want %s", test.event, test.reply, got, test.want)
		}
	}
}

func TestNotice(t *testing.T) {
	got := string(New().Notice("turn 5 not saved: \"disk\"\n"))
	if want := `{"systemMessage":"turn 5 not saved: \"disk\"\n"}`; got != want {
		t.Errorf("Notice = %s, want %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/payloads/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		object := fixture(f, strings.TrimSuffix(filepath.Base(file), ".json"))
		f.Add(event(f, object), object)
	}
	f.Add("PreToolUse", []byte(`{"cwd":"C:\Users\d","tool_name":"Write","tool_input":{"file_path":"C:\new\tmp"}}`))
	f.Fuzz(func(t *testing.T, event string, object []byte) {
		r, err := Adapter{}.Parse(event, object, noEnv)
		if err != nil {
			if diff := cmp.Diff(api.AgentReport{}, r); diff != "" {
				t.Errorf("an error, and a report:\n%s", diff)
			}
			return
		}
		paths := append([]string{r.Transcript, r.Dir}, r.Paths...)
		for _, p := range paths {
			if p != "" && (!filepath.IsAbs(p) || filepath.Clean(p) != p || strings.ContainsRune(p, 0)) {
				t.Errorf("the path %q", p)
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("the report cannot be sent: %v", err)
		}
	})
}
