// Package report tells the daemon what our agent does, as the hooks of other
// agents do, and has it save and restore the work tree.
package report

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/coder/loop"
)

// Agent is the name under which our agent reports.
const Agent = "turnback"

// callTime is how long the daemon may take to answer a report.
const callTime = 5 * time.Second

// Caller runs verbs of the daemon.
type Caller interface {
	Call(ctx context.Context, verb string, params, result any, progress func(api.Progress)) error
}

// Daemon is the daemon as our agent sees it.
type Daemon struct {
	Caller     Caller
	Place      api.Place // of the agent; Ancestors holds the agent's own process
	SessionID  string
	Transcript string // absolute path of the session file
	Headless   bool   // one task, without a person
	PID        int
	Started    string            // start time of the process, as package terminal tells it
	Note       func(text string) // tells the person

	mu   sync.Mutex
	told bool   // that there is no daemon
	turn string // id of the prompt
}

var (
	_ loop.Reporter = (*Daemon)(nil)
	_ loop.Files    = (*Daemon)(nil)
)

// Begin tells that the session begins or is gone on with.
func (d *Daemon) Begin(ctx context.Context, reason string) {
	r := d.report(api.ReportSessionStart, "session_start")
	r.Reason = reason
	d.send(ctx, r)
}

// End tells that the agent leaves.
func (d *Daemon) End(ctx context.Context) { d.send(ctx, d.report(api.ReportSessionEnd, "session_end")) }

// Prompt implements loop.Reporter.
func (d *Daemon) Prompt(ctx context.Context, id, text string) string {
	d.mu.Lock()
	d.turn = id
	d.mu.Unlock()
	r := d.report(api.ReportPrompt, "prompt")
	r.Prompt = text
	result, _ := d.send(ctx, r)
	return result.Context
}

// ToolStart implements loop.Reporter.
func (d *Daemon) ToolStart(ctx context.Context, writes bool, paths []string) {
	r := d.report(api.ReportToolStart, "tool_start")
	r.ToolWrites, r.Paths = writes, paths
	d.send(ctx, r)
}

// ToolEnd implements loop.Reporter.
func (d *Daemon) ToolEnd(ctx context.Context) { d.send(ctx, d.report(api.ReportToolEnd, "tool_end")) }

// Waits tells that the person is asked something.
func (d *Daemon) Waits(ctx context.Context, question string) {
	r := d.report(api.ReportNeedsInput, "needs_input")
	r.Message = question
	d.send(ctx, r)
}

// Rest implements loop.Reporter.
func (d *Daemon) Rest(ctx context.Context, how loop.Rest, said, place string) {
	kind := map[loop.Rest]api.ReportKind{
		loop.Done: api.ReportStop, loop.Aborted: api.ReportAborted, loop.Failed: api.ReportFailed,
	}[how]
	r := d.report(kind, string(how))
	r.Message, r.TranscriptPlace = said, place
	if result, ok := d.send(ctx, r); ok && result.NotSaved != "" {
		d.Note("This turn is not saved: " + result.NotSaved)
	}
}

func (d *Daemon) report(kind api.ReportKind, event string) api.AgentReport {
	d.mu.Lock()
	defer d.mu.Unlock()
	return api.AgentReport{
		Place: d.Place, Agent: Agent, Event: event, Kind: kind, SessionID: d.SessionID, PromptID: d.turn,
		Transcript: d.Transcript, Headless: d.Headless, AgentPID: d.PID, AgentStarted: d.Started,
	}
}

// send reports. That there is no daemon is said once: the agent works without.
func (d *Daemon) send(ctx context.Context, r api.AgentReport) (api.SetAgentStateResult, bool) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var result api.SetAgentStateResult
	err := d.Caller.Call(ctx, "agent-report", r, &result, nil)
	if err == nil {
		return result, true
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return result, false // the turn was aborted meanwhile, which is told next
	}
	d.mu.Lock()
	told := d.told
	d.told = true
	d.mu.Unlock()
	if !told {
		d.Note("Turns are not saved: " + api.AsError(err).Message)
	}
	return result, false
}

// Save implements loop.Files.
func (d *Daemon) Save(ctx context.Context, goal string) (int, error) {
	var result api.SaveCheckpointResult
	err := d.Caller.Call(ctx, "save-checkpoint", api.SaveCheckpointParams{Place: d.Place, Label: goal, Conversation: true}, &result, nil)
	if err != nil {
		return 0, words(err)
	}
	return result.Checkpoint.N, nil
}

// Changed implements loop.Files.
func (d *Daemon) Changed(ctx context.Context, n int) ([]string, error) {
	var result api.CheckpointDiffResult
	err := d.Caller.Call(ctx, "checkpoint-diff", api.CheckpointDiffParams{Place: d.Place, N: n, Worktree: true, Stat: true}, &result, nil)
	if err != nil {
		return nil, words(err)
	}
	files := make([]string, 0, len(result.Files))
	for _, f := range result.Files {
		files = append(files, f.Path)
	}
	return files, nil
}

// Restore implements loop.Files.
func (d *Daemon) Restore(ctx context.Context, n int) error {
	var result api.RestoreResult
	return words(d.Caller.Call(ctx, "restore-checkpoint", api.RestoreCheckpointParams{Place: d.Place, N: n}, &result, nil))
}

// words is an error as a person or a model reads it.
func words(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(api.AsError(err).Message)
}
