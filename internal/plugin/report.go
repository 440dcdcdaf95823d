package plugin

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/opencode"
	"github.com/turnback/turnback/internal/agents/pi"
	"github.com/turnback/turnback/internal/api"
)

// How a turn came to its end.
const (
	HowDone    = "done"
	HowFailed  = "failed"  // the model or its provider did
	HowAborted = "aborted" // the person interrupted it
)

// reportWait bounds a report: what a turn's end saves is waited for.
const reportWait = 5 * time.Second

// adapter is what is known of an agent.
type adapter struct {
	writes func(tool string) bool
	place  func(transcript, entry string) string
}

func adapterOf(agent string) adapter {
	if agent == pi.Name {
		return adapter{writes: pi.Writes, place: pi.PlaceAt}
	}
	return adapter{writes: opencode.Writes, place: func(_, _ string) string { return "" }}
}

// report tells the daemon of the agent's turns, as the hooks of other agents do.
func (s *server) report(ctx context.Context, r Request) {
	a := api.AgentReport{
		Place: s.o.Place, Agent: s.o.Agent, Event: r.Do, SessionID: r.Session, PromptID: r.PromptID, Subagent: r.Subagent,
		Transcript: r.Transcript, Launch: s.o.Launch, AgentPID: s.o.AgentPID, AgentStarted: s.o.AgentStarted,
	}
	about := adapterOf(s.o.Agent)
	switch r.Do {
	case DoStarted:
		a.Kind, a.Reason = api.ReportSessionStart, r.Reason
	case DoLeft:
		a.Kind, a.Reason = api.ReportSessionEnd, r.Reason
	case DoPrompted:
		a.Kind, a.Prompt = api.ReportPrompt, r.Text
		a.SameTurn = r.SameTurn || !conversation.IsPersonsPrompt(r.Text)
	case DoTool:
		_, ours := conversation.ParseToolName(conversation.OtherAgent, "", r.Tool)
		a.Kind, a.ToolWrites = api.ReportToolStart, !ours && about.writes(r.Tool)
		if a.ToolWrites {
			a.Paths = s.paths(r.Paths)
		}
	case DoUsed:
		a.Kind = api.ReportToolEnd
	case DoAsked:
		a.Kind, a.Message = api.ReportNeedsInput, r.Text
	case DoEnded:
		a.Kind, a.Message, a.Settled = endOf(r.How), r.Text, true
		a.TranscriptPlace = about.place(r.Transcript, r.Entry)
	}
	var result api.SetAgentStateResult
	ctx, done := context.WithTimeout(ctx, reportWait)
	defer done()
	err := s.o.Daemon.Call(ctx, "agent-report", a, &result, nil)
	reply := failed(Reply{ID: r.ID, Context: result.Context}, err)
	var notices []string
	if result.Conversation != nil && result.Conversation.Notice != "" {
		notices = append(notices, result.Conversation.Notice)
	}
	if r.Do == DoEnded && !r.Subagent {
		notices = append(notices, unsaved(result, err)...)
	}
	reply.Notice = strings.Join(notices, "\n")
	s.reply(reply)
}

// unsaved is what the person is to be told of the end of a turn that was not
// saved.
func unsaved(result api.SetAgentStateResult, err error) []string {
	switch {
	case err != nil:
		return []string{"turnback: this turn is not saved: " + api.AsError(err).Message}
	case result.NotSaved != "":
		return []string{fmt.Sprintf("turnback: turn %d not saved: %s", result.Turn, result.NotSaved)}
	}
	return nil
}

func endOf(how string) api.ReportKind {
	switch how {
	case HowFailed:
		return api.ReportFailed
	case HowAborted:
		return api.ReportAborted
	}
	return api.ReportStop
}

// paths are the files that a tool names, as far as it can be told which.
func (s *server) paths(named []string) []string {
	var paths []string
	for _, p := range named {
		switch {
		case filepath.IsAbs(p):
			paths = append(paths, filepath.Clean(p))
		case filepath.IsLocal(p) && !strings.HasPrefix(p, "~") && !strings.HasPrefix(p, "@"):
			paths = append(paths, filepath.Join(s.o.Place.Dir, p))
		}
	}
	return paths
}
