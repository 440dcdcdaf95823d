package codex

import (
	"slices"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
)

// The hashes that Codex 0.171.0 tells of these hooks by hooks/list, asked for with a
// timeout of 10 s.
func TestHashIsThatOfCodex(t *testing.T) {
	t.Parallel()
	all, err := Hooks("/opt/turnback")
	if err != nil {
		t.Fatal(err)
	}
	for label, hash := range map[string]string{
		"user_prompt_submit": "579599276362a282d4bcb11b7c9c46f5ae4271c76447a0078d86270b503b422f",
		"stop":               "69681bbbf30888bd99c8bd9ace8ad141defa925dea41dc012b68af5bfc27d1e2",
		"interrupt":          "fdc2207d176a6a340198cc1b6b5f75ea3e1cb2e3f1d29d723ad5e4bbb84a3f63",
		"session_end":        "9c0980c157ff367d02cecf9a7921684769147eb479a5b54bad8d3b9175b90c0a",
	} {
		if want := `:` + label + `:0:0"={trusted_hash="sha256:` + hash + `"}`; !strings.Contains(all[len(all)-1], want) {
			t.Errorf("%s is not trusted by %s: %s", label, hash, all[len(all)-1])
		}
	}
	sets, err := Hooks("/opt/a b/turnback")
	if err != nil || len(sets) != 5 || !slices.Contains(sets, `hooks.Stop=[{hooks=[{type="command",command="'/opt/a b/turnback' hook codex Stop",timeout=10}]}]`) {
		t.Errorf("%q, %v", sets, err)
	}
	if last := sets[len(sets)-1]; !strings.HasPrefix(last, `hooks.state={"/<session-flags>/config.toml:user_prompt_submit:0:0"={trusted_hash="sha256:`) {
		t.Errorf("trust: %s", last)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]struct {
		payload string
		report  api.AgentReport
	}{
		"UserPromptSubmit": {`{"session_id":"s","turn_id":"t","cwd":"/w/","transcript_path":"/h/r.jsonl","prompt":"do it"}`, api.AgentReport{
			Place: api.Place{Dir: "/w"}, Kind: api.ReportPrompt, SessionID: "s", PromptID: "t", Prompt: "do it", Transcript: "/h/r.jsonl",
		}},
		"Stop":       {`{"session_id":"s","agent_id":"a","cwd":"w","last_assistant_message":"done"}`, api.AgentReport{Kind: api.ReportStop, SessionID: "s", Subagent: true, Message: "done"}},
		"Interrupt":  {`{"session_id":"a b"}`, api.AgentReport{Kind: api.ReportAborted}},
		"SessionEnd": {`{"reason":"exit"}`, api.AgentReport{Kind: api.ReportSessionEnd, Reason: "exit"}},
		"PreCompact": {`{}`, api.AgentReport{Kind: api.ReportSeen}},
	} {
		want.report.Agent, want.report.Event = Name, event
		got, err := Adapter{}.Parse(event, []byte(want.payload), nil)
		if err != nil || !equal(got, want.report) {
			t.Errorf("%s: %+v, %v", event, got, err)
		}
	}
	if _, err := (Adapter{}).Parse("Stop", []byte("["), nil); err == nil {
		t.Error("a payload that is no object was read")
	}
}

func equal(a, b api.AgentReport) bool {
	return a.Agent == b.Agent && a.Event == b.Event && a.Kind == b.Kind && a.SessionID == b.SessionID && a.PromptID == b.PromptID && a.Dir == b.Dir &&
		a.Prompt == b.Prompt && a.Transcript == b.Transcript && a.Subagent == b.Subagent && a.Message == b.Message && a.Reason == b.Reason
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for want, reply := range map[string]api.ConversationReply{
		"":                                  {},
		`{"systemMessage":"n"}`:             {Notice: "n"},
		`{"decision":"block","reason":"r"}`: {Reminder: "r"},
	} {
		if got := string(Adapter{}.Answer("Stop", reply)); got != want {
			t.Errorf("%+v: %s", reply, got)
		}
	}
}
