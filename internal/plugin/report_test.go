package plugin

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
)

// reports has one request of an agent taken in, and returns what the daemon was
// told and the reply.
func reports(t *testing.T, d *daemon, agent string, r Request) (api.AgentReport, Reply) {
	t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := Options{
		Agent: agent, Launch: "l1", Place: api.Place{Dir: "/w", TerminalKeys: []string{"tty"}}, AgentPID: 7, AgentStarted: "then",
		Daemon: d, Now: time.Now,
	}
	if err := Serve(t.Context(), o, bytes.NewReader(line), &out); err != nil {
		t.Fatal(err)
	}
	var reply Reply
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil {
		t.Fatal(err)
	}
	var told api.AgentReport
	for _, asked := range d.asked {
		verb, params, _ := strings.Cut(asked, " ")
		if verb != "agent-report" {
			t.Fatalf("asked %s", asked)
		}
		if err := json.Unmarshal([]byte(params), &told); err != nil {
			t.Fatal(err)
		}
	}
	if told.Agent != agent || told.Launch != "l1" || told.AgentPID != 7 || told.AgentStarted != "then" || told.Dir != "/w" || len(told.TerminalKeys) != 1 {
		t.Errorf("told %+v", told)
	}
	told.Place, told.Agent, told.Event, told.Launch, told.AgentPID, told.AgentStarted = api.Place{}, "", "", "", 0, ""
	return told, reply
}

func TestReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent string
		r     Request
		want  api.AgentReport
	}{
		"a session": {
			"pi",
			Request{Do: DoStarted, Session: "s", Reason: "resume", Transcript: "/s.jsonl"},
			api.AgentReport{Kind: api.ReportSessionStart, SessionID: "s", Reason: "resume", Transcript: "/s.jsonl"},
		},
		"its end": {"pi", Request{Do: DoLeft, Session: "s", Reason: "quit"}, api.AgentReport{Kind: api.ReportSessionEnd, SessionID: "s", Reason: "quit"}},
		"a prompt": {
			"opencode",
			Request{Do: DoPrompted, Session: "s", PromptID: "m1", Text: "Fix it"},
			api.AgentReport{Kind: api.ReportPrompt, SessionID: "s", PromptID: "m1", Prompt: "Fix it"},
		},
		"a prompt meanwhile": {
			"opencode",
			Request{Do: DoPrompted, Session: "s", Text: "and that", SameTurn: true},
			api.AgentReport{Kind: api.ReportPrompt, SessionID: "s", Prompt: "and that", SameTurn: true},
		},
		"our own reminder": {
			"opencode",
			Request{Do: DoPrompted, Session: "s", Text: conversation.Reminder(1)},
			api.AgentReport{Kind: api.ReportPrompt, SessionID: "s", Prompt: conversation.Reminder(1), SameTurn: true},
		},
		"a tool that reads": {"pi", Request{Do: DoTool, Session: "s", Tool: "read", Paths: []string{"a.txt"}}, api.AgentReport{Kind: api.ReportToolStart, SessionID: "s"}},
		"a tool that writes": {
			"pi",
			Request{Do: DoTool, Session: "s", Tool: "write", Paths: []string{"d/a.txt", "/b/../c.txt", "~/x", "../y", "@z"}},
			api.AgentReport{Kind: api.ReportToolStart, SessionID: "s", ToolWrites: true, Paths: []string{"/w/d/a.txt", "/c.txt"}},
		},
		"a tool of ours":       {"pi", Request{Do: DoTool, Session: "s", Tool: "turnback_rewind"}, api.AgentReport{Kind: api.ReportToolStart, SessionID: "s"}},
		"a tool of a subagent": {"opencode", Request{Do: DoTool, Session: "s", Tool: "mcp_do", Subagent: true}, api.AgentReport{Kind: api.ReportToolStart, SessionID: "s", Subagent: true, ToolWrites: true}},
		"its end, of a tool":   {"opencode", Request{Do: DoUsed, Session: "s"}, api.AgentReport{Kind: api.ReportToolEnd, SessionID: "s"}},
		"a question":           {"opencode", Request{Do: DoAsked, Session: "s", Text: "bash"}, api.AgentReport{Kind: api.ReportNeedsInput, SessionID: "s", Message: "bash"}},
		"a turn of pi": {
			"pi",
			Request{Do: DoEnded, Session: "s", How: HowDone, Text: "Done.", Transcript: "/s.jsonl", Entry: "e1"},
			api.AgentReport{
				Kind: api.ReportStop, SessionID: "s", Message: "Done.", Settled: true, Transcript: "/s.jsonl",
				TranscriptPlace: `{"path":"/s.jsonl","entry":"e1"}`,
			},
		},
		"a turn of pi without a file": {"pi", Request{Do: DoEnded, Session: "s", Entry: "e1"}, api.AgentReport{Kind: api.ReportStop, SessionID: "s", Settled: true}},
		"a failed turn":               {"opencode", Request{Do: DoEnded, Session: "s", How: HowFailed}, api.AgentReport{Kind: api.ReportFailed, SessionID: "s", Settled: true}},
		"an interrupted turn":         {"opencode", Request{Do: DoEnded, Session: "s", How: HowAborted}, api.AgentReport{Kind: api.ReportAborted, SessionID: "s", Settled: true}},
	} {
		got, reply := reports(t, &daemon{}, c.agent, c.r)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if reply.Error != "" {
			t.Errorf("%s: %+v", name, reply)
		}
	}
}

// What a report brings goes to the model or to the person; that a turn is not
// saved is said, also when there is nobody to save it.
func TestAnswersToReports(t *testing.T) {
	t.Parallel()
	ended := Request{Do: DoEnded, Session: "s"}
	for name, c := range map[string]struct {
		d    *daemon
		r    Request
		want Reply
	}{
		"restored": {
			&daemon{answers: map[string]any{"agent-report": api.SetAgentStateResult{Context: "files were put back"}}},
			Request{Do: DoPrompted, Session: "s", Text: "x"},
			Reply{Context: "files were put back"},
		},
		"not saved": {
			&daemon{answers: map[string]any{"agent-report": api.SetAgentStateResult{
				Turn: 3, NotSaved: "no space left", Conversation: &api.ConversationReply{Notice: "lost"},
			}}},
			ended,
			Reply{Notice: "lost\nturnback: turn 3 not saved: no space left"},
		},
		"no daemon": {
			&daemon{fails: api.Errorf(api.CodeNoDaemon, "no daemon listens")},
			ended,
			Reply{Notice: "turnback: this turn is not saved: no daemon listens", Error: "no daemon listens"},
		},
		"no daemon for a prompt": {&daemon{fails: api.Errorf(api.CodeNoDaemon, "no daemon listens")}, Request{Do: DoPrompted}, Reply{Error: "no daemon listens"}},
	} {
		_, got := reports(t, c.d, "pi", c.r)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
