package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/hookstate"
	"github.com/turnback/turnback/internal/agents/payload"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/terminal"
)

// An agent waits for its hooks, so they keep to these times, counted from their
// start.
const (
	hookReadTime = 800 * time.Millisecond  // for the input
	hookCallTime = 2600 * time.Millisecond // for the daemon's answer
	hookHardTime = 2800 * time.Millisecond // then it ends, whatever still runs
	hookTellTime = 200 * time.Millisecond  // to tell that something was handed over
)

// maxPayload is the largest input of a hook that is acted on, in bytes.
const maxPayload = 8 << 20

// HookAdapter knows one agent's hooks.
type HookAdapter interface {
	// Parse turns the payload of a hook, a JSON object in UTF-8, into a report.
	// Its Dir may be empty; the terminal's keys, the pane and the start time of
	// the agent's process are filled in by the caller. An error holds nothing of
	// the payload.
	Parse(event string, payload []byte, env func(string) string) (api.AgentReport, error)
	// Answer is the JSON value by which the hook of an event denies a call, has
	// the model go on, or shows text to the person; empty: there is nothing to say.
	Answer(event string, reply api.ConversationReply) []byte
}

// HookDeps is what the hook command needs from outside.
type HookDeps struct {
	In       io.Reader // an *os.File where the time for reading is to hold
	Out, Err io.Writer
	Getenv   func(string) string
	Dir      func() (string, error) // the working directory, absolute
	Now      func() time.Time
	PID      int                    // of this process
	StateDir string                 // $XDG_STATE_HOME/turnback; empty: no log is kept
	Adapters map[string]HookAdapter // by the agent's name
	Connect  func(context.Context) (command.Caller, error)
}

// NewHookCommand makes `turnback hook AGENT EVENT`.
func NewHookCommand(d HookDeps) *cobra.Command {
	return &cobra.Command{
		Use:   "hook AGENT EVENT",
		Short: "Take a report from an agent's hook",
		Long: `Read one JSON object from standard input, the payload of a hook of AGENT, and
report it to the daemon. EVENT is the event's name in the agent's own spelling.
turnback setup AGENT writes this command into the agent's settings.

It ends within 3 seconds and always with status 0, so that it can never hold up
or break the agent. Standard output stays empty, or gets one JSON value by which
the agent shows a notice, refuses a subagent's call of checkpoint or rewind,
reminds the model of an open checkpoint, or tells it that files were restored since
its last turn. What goes wrong is written to hook.log in $XDG_STATE_HOME/turnback,
without any text of the agent.`,
		Example: `  echo '{"session_id":"s1","cwd":"'"$PWD"'"}' | turnback hook claude Stop`,
		Args:    cobra.ArbitraryArgs,
		// A hook must not fail because an agent learned a new option.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				_, _ = fmt.Fprintln(d.Err, "turnback: usage: turnback hook AGENT EVENT")
				args = append(args, "", "")
			}
			newHookRun(d, args[0], args[1]).do(cmd.Context())
			return nil
		},
	}
}

// hookRun is one run of a hook.
type hookRun struct {
	HookDeps
	agent, event string
	start        time.Time
	state        hookstate.Dir
}

func newHookRun(d HookDeps, agent, event string) hookRun {
	return hookRun{HookDeps: d, agent: agent, event: event, start: d.Now(), state: hookstate.Dir(d.StateDir)}
}

// hookResult is what a run came to: what to print, and what to log.
type hookResult struct {
	out  []byte
	err  error
	told *api.AgentReport // to be reported once out is written; nil: nothing
}

// do runs the hook and returns in time. Work that does not heed its deadline is
// left behind: the process ends right after.
func (h hookRun) do(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, h.start.Add(hookCallTime))
	defer cancel()
	done := make(chan hookResult, 1)
	go func() { done <- h.handle(ctx) }()
	hard := time.NewTimer(hookHardTime - h.Now().Sub(h.start))
	defer hard.Stop()
	var r hookResult
	select {
	case r = <-done:
	case <-hard.C:
		r.err = errors.New("no answer in time")
	}
	if r.err != nil {
		// Where the log cannot be written there is nobody left to tell.
		_ = h.state.Log(h.agent, h.event, h.start, h.Now(), r.err)
	}
	if len(r.out) == 0 {
		return
	}
	if _, err := h.Out.Write(append(r.out, '\n')); err == nil && r.told != nil {
		h.tellBack(*r.told)
	}
}

// tellBack tells that what the model is to know was handed over. Where that fails
// it is told again with the next prompt.
func (h hookRun) tellBack(r api.AgentReport) {
	ctx, cancel := context.WithTimeout(context.Background(), min(hookTellTime, hookHardTime-h.Now().Sub(h.start)))
	defer cancel()
	if _, err := h.call(ctx, r); err != nil {
		_ = h.state.Log(h.agent, h.event, h.start, h.Now(), err)
	}
}

// handle does the work of a run. A panic, be it in an adapter, is an error like
// any other: the agent must not see it.
func (h hookRun) handle(ctx context.Context) (r hookResult) {
	defer func() {
		if p := recover(); p != nil {
			r = hookResult{err: fmt.Errorf("panic of type %T", p)}
		}
	}()
	adapter, ok := h.Adapters[h.agent]
	if !ok {
		return hookResult{err: errors.New("no such agent")}
	}
	// Even a hook that cannot be read was seen to run.
	seen := h.state.Saw(h.agent, h.Now())
	object, err := payload.Read(h.In, maxPayload, h.start.Add(hookReadTime))
	if err != nil {
		return hookResult{err: errors.Join(err, seen)}
	}
	report, err := adapter.Parse(h.event, object, h.Getenv)
	if err != nil {
		return hookResult{err: errors.Join(err, seen)}
	}
	if err := h.place(&report); err != nil {
		return hookResult{err: errors.Join(err, seen)}
	}
	report.TellsBack = report.Kind == api.ReportPrompt
	reply, at, err := h.send(ctx, report)
	if at != nil {
		report.Kind, report.Told, report.TellsBack, report.Prompt = api.ReportSeen, at, false, ""
		r.told = &report
	}
	r.err = errors.Join(err, seen)
	r.out = adapter.Answer(h.event, reply)
	return r
}

// place fills in where the agent is.
func (h hookRun) place(r *api.AgentReport) error {
	if r.Dir == "" {
		dir, err := h.Dir()
		if err != nil {
			return fmt.Errorf("find the working directory: %w", err)
		}
		r.Dir = dir
	}
	r.PaneID, r.Launch = h.Getenv("TURNBACK_PANE_ID"), h.Getenv("TURNBACK_LAUNCH")
	r.AgentPID, r.AgentStarted = h.agentProcess(r.AgentPID)
	if r.AgentPID != 0 {
		// An agent may run its hooks without its terminal.
		r.TerminalKeys = terminal.IdentifyAgent(h.Getenv, r.AgentPID)
	} else {
		r.TerminalKeys = terminal.Identify(h.Getenv, h.PID)
	}
	return nil
}

// agentProcess returns the agent's process and its start time: pid where the
// agent told it, else the nearest ancestor with the agent's name; 0 when
// neither is there. A shell in between is not taken for the agent: its end
// would be taken for the end of the turn.
func (h hookRun) agentProcess(pid int) (int, string) {
	if started, err := terminal.ProcessStart(pid); err == nil {
		return pid, started
	}
	for _, p := range terminal.Ancestors(h.PID) {
		if strings.HasPrefix(p.Name, h.agent) {
			return p.PID, p.Started
		}
	}
	return 0, ""
}

// send reports to the daemon and returns what the hook is to answer, and what of it
// the daemon wants to hear back; nil: nothing.
func (h hookRun) send(ctx context.Context, r api.AgentReport) (api.ConversationReply, *time.Time, error) {
	result, err := h.call(ctx, r)
	var reply api.ConversationReply
	if result.Conversation != nil {
		reply = *result.Conversation
	}
	reply.Context = result.Context
	if notice := unsaved(r, result, err); notice != "" {
		reply.Notice = strings.TrimPrefix(reply.Notice+"\n"+notice, "\n")
	}
	if err != nil && r.Subagent {
		// What a subagent may not do hangs on nothing that the daemon knows.
		switch conversation.Tool(r.ConversationTool) {
		case conversation.ToolCheckpoint:
			reply.Deny = conversation.ErrCheckpointInSubagent.Error()
		case conversation.ToolRewind:
			reply.Deny = conversation.ErrRewindInSubagent.Error()
		}
	}
	return reply, result.ContextAt, err
}

// unsaved is what the person should know of a turn's end that was not saved.
func unsaved(r api.AgentReport, result api.SetAgentStateResult, err error) string {
	endsTurn := (r.Kind == api.ReportStop || r.Kind == api.ReportFailed) && !r.Subagent
	switch {
	case err != nil && !endsTurn:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "turnback: the daemon did not answer in time; this turn may not be saved"
	case err != nil:
		return "turnback: this turn is not saved: " + api.AsError(err).Message
	case result.NotSaved != "":
		return fmt.Sprintf("turnback: turn %d not saved: %s", result.Turn, result.NotSaved)
	}
	return ""
}

func (h hookRun) call(ctx context.Context, r api.AgentReport) (api.SetAgentStateResult, error) {
	var result api.SetAgentStateResult
	caller, err := h.Connect(ctx)
	if err != nil {
		return result, fmt.Errorf("connect: %w", err)
	}
	if err := caller.Call(ctx, "agent-report", r, &result, nil); err != nil {
		return result, fmt.Errorf("report: %w", err)
	}
	return result, nil
}
