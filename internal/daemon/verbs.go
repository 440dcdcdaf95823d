package daemon

import (
	"context"
	"fmt"
	"os"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/verbs"
)

// ownVerbs are the verbs that need a daemon. Those about checkpoints, which do
// not, stand in package verbs.
func (s *Server) ownVerbs() []verbs.Verb {
	return append(s.stateVerbs(), s.serverVerbs()...)
}

func (s *Server) stateVerbs() []verbs.Verb {
	t := s.rooms.Tracker
	return []verbs.Verb{
		{
			Name: "set-agent-state", Grant: verbs.GrantOwn,
			Summary: "Report an agent's state; a turn that starts or ends is saved.",
			Params:  func() any { return &api.SetAgentStateParams{} },
			Errors:  placeErrors(),
			Example: `{"state":"working","session":"api","window":"build","prompt":"Add a retry","dir":"/home/u/src/api"}`,
			Run: func(ctx context.Context, c verbs.Call) (any, error) {
				return t.SetState(ctx, *c.Params.(*api.SetAgentStateParams))
			},
		},
		{
			Name: "get-agent-state", Grant: verbs.GrantRead,
			Summary: "Show a window's state, where it was learned, and since when.",
			Params:  func() any { return &api.GetAgentStateParams{} },
			Errors:  placeErrors(),
			Example: `{"window":"build"}`,
			Run: func(ctx context.Context, c verbs.Call) (any, error) {
				return t.GetState(ctx, *c.Params.(*api.GetAgentStateParams))
			},
		},
		{
			Name: "agent-report", Grant: verbs.GrantOwn,
			Summary: "Report an event of an agent's hook.",
			Params:  func() any { return &api.AgentReport{} },
			Errors:  placeErrors(),
			Example: `{"agent":"claude","event":"Stop","kind":"stop","session_id":"5f2c","dir":"/home/u/src/api"}`,
			Run: func(ctx context.Context, c verbs.Call) (any, error) {
				return s.report(ctx, *c.Params.(*api.AgentReport))
			},
		},
		{
			Name: "list-windows", Grant: verbs.GrantRead,
			Summary: "List the windows with their states and work trees.",
			Run:     func(ctx context.Context, _ verbs.Call) (any, error) { return t.Windows(ctx) },
		},
	}
}

// report takes in what a hook tells. An agent that is told to go on has not come
// to rest: its turn goes on too.
func (s *Server) report(ctx context.Context, r api.AgentReport) (api.SetAgentStateResult, error) {
	var reply *api.ConversationReply
	if s.rooms.Talks != nil {
		reply = s.rooms.Talks.Report(r)
	}
	if reply != nil && reply.Reminder != "" {
		r.Kind = api.ReportSeen
	}
	result, err := s.rooms.Tracker.Report(ctx, r)
	if reply != nil && err != nil {
		// The model is to hear of its checkpoint, whatever becomes of the turn.
		s.log.Warn("report", "error", err.Error())
		result, err = api.SetAgentStateResult{NotSaved: api.AsError(err).Message}, nil
	}
	result.Conversation = reply
	return result, err
}

// placeErrors are the codes of a verb that looks for a window.
func placeErrors() []string {
	codes := []api.Code{api.CodeSessionNotFound, api.CodeWindowNotFound, api.CodeAmbiguousWindow, api.CodeNotRepo}
	out := make([]string, 0, len(codes))
	for _, c := range codes {
		out = append(out, string(c))
	}
	return out
}

func (s *Server) serverVerbs() []verbs.Verb {
	return []verbs.Verb{
		{
			Name: "status", Grant: verbs.GrantRead,
			Summary: "Show the daemon: version, socket, git, config, and what it is doing.",
			Params:  func() any { return &api.StatusParams{} },
			Example: `{}`,
			Run: func(ctx context.Context, c verbs.Call) (any, error) {
				return s.status(ctx, *c.Params.(*api.StatusParams))
			},
		},
		{
			Name: "list-verbs", Grant: verbs.GrantRead,
			Summary: "List every verb with its grant, parameters and errors.",
			Run: func(context.Context, verbs.Call) (any, error) {
				return api.ListVerbsResult{Verbs: s.table.List()}, nil
			},
		},
		{
			Name: "stop-daemon", Grant: verbs.GrantAdmin,
			Summary: "Stop the daemon; what is mid-turn is saved first.",
			Run: func(context.Context, verbs.Call) (any, error) {
				s.Stop()
				return api.StopDaemonResult{PID: os.Getpid()}, nil
			},
		},
	}
}

func (s *Server) status(ctx context.Context, p api.StatusParams) (api.StatusResult, error) {
	windows, err := s.rooms.Tracker.Windows(ctx)
	if err != nil {
		return api.StatusResult{}, fmt.Errorf("list windows: %w", err)
	}
	r := api.StatusResult{
		Version:   s.o.Version,
		PID:       os.Getpid(),
		Socket:    s.o.Socket.Path,
		Started:   s.started.UTC(),
		Git:       s.rooms.Git(),
		Config:    s.config.Path(),
		LogFile:   LogPath(s.o.StateDir),
		StateFile: s.rooms.StateFile,
		Windows:   len(windows.Windows),
	}
	for _, w := range windows.Windows {
		if w.TurnOpen {
			r.OpenTurns++
		}
	}
	if s.rooms.Saving != nil {
		r.Saving = s.rooms.Saving()
	}
	if s.rooms.Uncollapsed != nil {
		r.Uncollapsed = s.rooms.Uncollapsed()
	}
	if err := s.config.Err(); err != nil {
		r.ConfigError = err.Error()
	}
	r.Warnings = s.warnings(p, r.Git)
	return r, nil
}

func (s *Server) warnings(p api.StatusParams, git api.GitInfo) []string {
	var out []string
	if p.Version != "" && p.Version != s.o.Version {
		out = append(out, fmt.Sprintf("the daemon is version %s, this program %s: run turnback daemon stop, the next command starts the new one", s.o.Version, p.Version))
	}
	if want := s.config.Get().Git; want != "" && git.Path != "" && want != git.Path {
		out = append(out, fmt.Sprintf("the config names %s as git, the daemon uses %s until it is restarted", want, git.Path))
	}
	if s.noState != nil {
		out = append(out, "there is no state folder, and no log; windows outside of repositories are forgotten at the daemon's end: "+s.noState.Error())
	} else if err := s.logFile.problem(); err != nil {
		out = append(out, "the log cannot be written: "+err.Error())
	}
	return out
}
