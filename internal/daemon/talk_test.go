package daemon_test

import (
	"context"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/daemon"
)

// reminds answers every stop with a reminder.
type reminds struct{}

func (reminds) Report(r api.AgentReport) *api.ConversationReply {
	if r.Kind != api.ReportStop {
		return nil
	}
	return &api.ConversationReply{Reminder: "go on"}
}

// A model that is reminded goes on: its stop ends no turn.
func TestAReminderKeepsTheTurnOpen(t *testing.T) {
	s := newServer(t)
	build := s.options.Build
	s.options.Build = func(ctx context.Context, services daemon.Services) (daemon.Rooms, error) {
		rooms, err := build(ctx, services)
		rooms.Talks = reminds{}
		return rooms, err
	}
	s.start()
	var result api.SetAgentStateResult
	for _, kind := range []api.ReportKind{api.ReportPrompt, api.ReportStop} {
		if err := s.client.Call(t.Context(), "agent-report", api.AgentReport{Agent: "claude", Event: "x", Kind: kind}, &result, nil); err != nil {
			t.Fatal(err)
		}
	}
	if result.Conversation == nil || result.Conversation.Reminder != "go on" {
		t.Errorf("the hook gets %+v", result)
	}
	noted := strings.Join(s.tracker.noted(), "\n")
	if strings.Contains(noted, "stop") || !strings.Contains(noted, "seen") {
		t.Errorf("the tracker was told\n%s", noted)
	}
}
