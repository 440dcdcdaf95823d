package conversation_test

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation"
)

func TestParseToolName(t *testing.T) {
	const other, own = conversation.OtherAgent, conversation.OwnAgent
	for _, c := range []struct {
		host            conversation.Host
		namespace, name string
		want            conversation.Tool
	}{
		{other, "", "mcp__turnback__checkpoint", "checkpoint"},
		{other, "", "mcp__turnback__rewind", "rewind"},
		{other, "", "mcp__plugin_turnback_turnback__rewind", "rewind"},
		{other, "", "mcp__plugin_a__b_turnback__rewind", ""},
		{other, "mcp__turnback", "rewind", "rewind"},
		{other, "", "turnback_checkpoint", "checkpoint"},
		{other, "", "mcp_turnback_rewind", "rewind"},
		{other, "", "turnback-rewind", "rewind"},
		{own, "", "checkpoint", "checkpoint"},

		{other, "", "checkpoint", ""},
		{own, "", "turnback_checkpoint", ""},
		{own, "mcp__turnback", "checkpoint", ""},
		{other, "mcp__other", "rewind", ""},
		{other, "", "mcp__other__rewind", ""},
		{other, "", "plugin_x_turnback__rewind", ""},
		{other, "", "mcp__plugin__turnback__rewind", ""},
		{other, "", "mcp__turnback__list", ""},
		{other, "", "turnback_rewind_more", ""},
		{other, "", "", ""},
	} {
		got, ok := conversation.ParseToolName(c.host, c.namespace, c.name)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("host %d, namespace %q, name %q: %q, %v; want %q", c.host, c.namespace, c.name, got, ok, c.want)
		}
	}
}

func TestRemindersAreKnownAgain(t *testing.T) {
	for n := 1; n <= conversation.MaxReminders; n++ {
		text := conversation.Reminder(n)
		for _, handed := range []string{
			text,
			"<system-reminder>\nStop hook additional context: " + text + "</system-reminder>",
			"<system-reminder>\nStop hook additional context: " + text + "\n</system-reminder>\n",
			`<hook_prompt hook_run_id="stop:1">` + text + "</hook_prompt>",
			`<hook_prompt hook_run_id="stop:1">` + strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text) + "</hook_prompt>",
		} {
			if !conversation.IsReminder(handed) {
				t.Errorf("reminder %d is not known again in %q", n, handed)
			}
		}
		if isLast := strings.Contains(text, "last reminder"); isLast != (n == conversation.MaxReminders) {
			t.Errorf("reminder %d: says that it is the last: %v", n, isLast)
		}
		if conversation.IsReminder("Please read this: " + text) {
			t.Error("a text of the person that quotes a reminder is taken for one")
		}
	}
	for _, n := range []int{-1, 0, conversation.MaxReminders + 1} {
		if got := conversation.Reminder(n); got != "" {
			t.Errorf("reminder %d: %q", n, got)
		}
	}
	if conversation.IsReminder("") {
		t.Error("an empty text is taken for a reminder")
	}
}

func TestFrame(t *testing.T) {
	long := strings.Repeat("é", conversation.MaxSaidEach+1)
	frame := conversation.Frame{
		Report: "the cause is in a.go",
		Facts:  "Files changed since the checkpoint: a.go (work-tree checkpoint 3)",
		Said:   []string{"first", " ", long, long, long, long, long},
	}.String()
	for _, want := range []string{"the cause is in a.go", "Files changed", "Already said to the user:\nfirst\n"} {
		if strings.Count(frame, want) != 1 {
			t.Errorf("the frame has %q %d times", want, strings.Count(frame, want))
		}
	}
	if got := strings.Count(frame, "é"); got != conversation.MaxSaidAll-len("first") {
		t.Errorf("%d characters of what was said are left", got)
	}
	if strings.Contains(frame, strings.Repeat("é", conversation.MaxSaidEach+1)) {
		t.Error("a text is longer than the limit")
	}
	if strings.Contains(frame, conversation.InvestigateLine) {
		t.Error("the frame asks for another rewind")
	}
	if !conversation.IsFramed(frame) || conversation.IsFramed("Checkpoint created.") {
		t.Error("a frame is not known again")
	}
	if short := (conversation.Frame{Report: "r"}).String(); strings.Contains(short, "Already said") {
		t.Errorf("nothing was said: %q", short)
	}
}
