package turns

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/agentstate"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

// defaultName is the name of a window whose agent is not known.
const defaultName = "agent"

// Report takes in one hook event of an agent. A report that causes a checkpoint
// waits for it, at most 2 s; a tool that can write waits for the checkpoint of
// its turn's start, at most 2.5 s.
func (t *Tracker) Report(ctx context.Context, r api.AgentReport) (api.SetAgentStateResult, error) {
	if !knownKind(r.Kind) {
		return api.SetAgentStateResult{}, api.Errorf(api.CodeInvalidParams, "there is no kind of report %q", r.Kind)
	}
	where := t.trees.at(ctx, r.Dir, r.Kind == api.ReportPrompt)
	s, files := sighting(r, where), named(r)

	t.mu.Lock()
	w, ok := t.reported(r, s)
	if t.unsure[w.ID] || !ok && makesWindow(r) {
		t.mu.Unlock()
		if err := t.prepare(ctx, r, s, w, where); err != nil {
			return api.SetAgentStateResult{}, err
		}
		t.mu.Lock()
		w, ok = t.reported(r, s)
	}
	if t.closing {
		t.mu.Unlock()
		return api.SetAgentStateResult{}, stopping()
	}
	if !ok {
		t.mu.Unlock()
		return api.SetAgentStateResult{State: string(agentstate.None)}, nil
	}
	t.count(w.ID, +1)
	result, jobs := t.take(r, s, w, where, files)
	t.mu.Unlock()

	limit := hookWait
	if r.Kind == api.ReportToolStart {
		limit = toolWait
	}
	t.await(ctx, limit, jobs, &result)

	t.mu.Lock()
	t.count(w.ID, -1)
	t.mu.Unlock()
	return result, nil
}

// prepare makes the window of a report, or finds out how far the turns of w had
// come. It asks git, so t.mu is not held.
func (t *Tracker) prepare(ctx context.Context, r api.AgentReport, s registry.Sighting, w registry.Window, where place) error {
	if w.ID != "" {
		t.settle(ctx, w)
		return nil
	}
	_, err := t.make(ctx, s, s.Key(), where.session(), cmp.Or(r.Agent, defaultName))
	return err
}

// take applies the report to its window and returns the answer so far, with
// what is to be waited for. t.mu is held.
func (t *Tracker) take(r api.AgentReport, s registry.Sighting, w registry.Window, where place, files []string) (api.SetAgentStateResult, []*job) {
	jobs := t.leaveOthers(r, w)
	c := t.change(w, where)
	child := t.isChild(r, w)
	if !child {
		c.see(r, s)
	}
	c.w.LastActive = c.now
	c.transcript, c.elsewhere = r.TranscriptPlace, c.w.AgentSession != w.AgentSession
	if r.Kind == api.ReportPrompt {
		c.prompt = r.PromptID
	}
	for _, e := range events(r, c.w, w, child) {
		c.apply(e)
	}
	c.names(files)
	var told api.SetAgentStateResult
	c.tell(r, &told)
	result := c.finish()
	result.Context, result.ContextAt = told.Context, told.ContextAt
	c.complain(&result)
	jobs = append(jobs, c.jobs...)
	current := t.turns[w.ID]
	switch {
	case current == nil || len(jobs) > 0:
	case r.Kind == api.ReportToolStart && r.ToolWrites && current.start != nil:
		jobs = append(jobs, pending(current.start)...)
	case r.Kind == api.ReportStop && !c.w.TurnOpen && current.save != nil:
		// Another stop event of the same turn: its save is this one's too.
		jobs = append(jobs, pending(current.save)...)
	}
	return result, jobs
}

// reported finds the window that a report is about. What a session reports in
// the middle of a turn belongs to the window of that turn, wherever the agent
// has changed its directory to. t.mu is held.
func (t *Tracker) reported(r api.AgentReport, s registry.Sighting) (registry.Window, bool) {
	w, ok := t.o.Registry.Find(s, t.alive)
	if !ok || r.Kind == api.ReportPrompt || r.Kind == api.ReportSessionStart {
		foreign := t.takeIn(s.CommonDir)
		if w, ok = t.o.Registry.Find(s, t.alive); !ok {
			w, ok = t.takeOver(foreign, s)
		}
	}
	if !ok && s.CommonDir != "" {
		w, ok = t.homeless(r, s)
	}
	if open, found := t.openTurn(r); found && !(ok && w.TurnOpen) && staysInTurn(r, open) {
		return open, true
	}
	if ok && r.Kind == api.ReportSessionEnd && w.AgentSession != "" && r.SessionID != "" && w.AgentSession != r.SessionID {
		return registry.Window{}, false // the end of a session that the window no longer has
	}
	return w, ok
}

// homeless finds the window of s that was made where nothing could be saved
// then, and now can. t.mu is held.
func (t *Tracker) homeless(r api.AgentReport, s registry.Sighting) (registry.Window, bool) {
	s.Worktree = realPath(r.Dir)
	w, ok := t.o.Registry.Find(s, t.alive)
	return w, ok && w.CommonDir == ""
}

// rehomed returns w as a window of a work tree that it is in, if it was made
// where no repository could be used.
func rehomed(w registry.Window, worktree, commonDir string) registry.Window {
	if commonDir == "" || w.Worktree != worktree && (w.CommonDir != "" || !registry.Holds(worktree, w.Worktree)) {
		return w
	}
	w.Worktree, w.CommonDir = worktree, commonDir
	return w
}

// openTurn returns the window in which the session of r has a turn open, unless
// that is another process with the same session. t.mu is held.
func (t *Tracker) openTurn(r api.AgentReport) (registry.Window, bool) {
	w, ok := t.o.Registry.OpenTurn(r.Agent, r.SessionID)
	process := registry.Process{PID: r.AgentPID, Started: r.AgentStarted}
	other := process.PID != 0 && !process.Same(w.AgentProcess()) && t.alive(w.AgentProcess())
	return w, ok && !other
}

// staysInTurn reports whether r belongs to the turn that its session has open
// in w, even when it comes from another work tree.
func staysInTurn(r api.AgentReport, w registry.Window) bool {
	switch r.Kind {
	case api.ReportPrompt:
		return r.SameTurn || r.Subagent || r.PromptID != "" && slices.Contains(w.PromptIDs, r.PromptID)
	case api.ReportSessionStart:
		return goesOn(r)
	}
	return true
}

// leaveOthers ends the turn that the session of a new prompt has open in
// another work tree: the agent has moved. t.mu is held.
func (t *Tracker) leaveOthers(r api.AgentReport, w registry.Window) []*job {
	if r.Kind != api.ReportPrompt || r.Subagent {
		return nil
	}
	open, found := t.openTurn(r)
	if !found || open.ID == w.ID || open.Worktree == w.Worktree {
		return nil
	}
	c := t.change(open, place{})
	c.apply(agentstate.Event{Kind: agentstate.Exit})
	c.finish()
	return c.jobs
}

// isChild reports whether r comes from an agent that the window's agent has
// started: another process in the same terminal, while the window's own lives
// and is in the middle of a turn.
func (t *Tracker) isChild(r api.AgentReport, w registry.Window) bool {
	process := registry.Process{PID: r.AgentPID, Started: r.AgentStarted}
	return w.TurnOpen && r.SessionID != "" && w.AgentSession != "" && r.SessionID != w.AgentSession &&
		process.PID != 0 && !process.Same(w.AgentProcess()) && t.alive(w.AgentProcess())
}

// see notes what the report tells of the agent and its terminal.
func (c *change) see(r api.AgentReport, s registry.Sighting) {
	if len(s.Keys) > 0 {
		c.w.Keys = s.Keys
	}
	if r.Agent != "" {
		c.w.Agent = r.Agent
	}
	if r.SessionID != "" && !r.Subagent {
		c.w.AgentSession = r.SessionID
	}
	if s.Process.PID != 0 && !r.Subagent {
		c.w.AgentPID, c.w.AgentStarted = s.Process.PID, s.Process.Started
	}
	if !r.Subagent {
		c.w.Headless = r.Headless
	}
	if r.Transcript != "" && !r.Subagent {
		c.w.Transcript = r.Transcript
	}
	c.w = rehomed(c.w, s.Worktree, s.CommonDir)
	c.w.Gone = r.Headless && r.Kind == api.ReportSessionEnd
}

// events are what r means for the window's agent. before is the window as it
// was until now.
func events(r api.AgentReport, w, before registry.Window, child bool) []agentstate.Event {
	e := agentstate.Event{
		Source: agentstate.Report, PromptID: r.PromptID, Subagent: r.Subagent || child, Message: line(r),
	}
	claim := func(s agentstate.State) []agentstate.Event {
		e.Kind, e.State = agentstate.Claim, s
		return []agentstate.Event{e}
	}
	switch r.Kind {
	case api.ReportSessionStart:
		return sessionStart(r, w, before, e)
	case api.ReportSessionEnd:
		e.Kind, e.PromptID = agentstate.Exit, ""
	case api.ReportPrompt:
		e.Kind, e.SameTurn, e.Label = agentstate.Prompt, r.SameTurn, checkpoint.Label(r.Prompt)
	case api.ReportToolStart:
		e.Kind = agentstate.ToolStart
	case api.ReportToolEnd:
		e.Kind = agentstate.ToolEnd
	case api.ReportNeedsInput:
		return claim(agentstate.NeedsInput)
	case api.ReportStop:
		e.Background = r.Background
		return claim(agentstate.Done)
	case api.ReportFailed:
		return claim(agentstate.Errored)
	case api.ReportAborted:
		e.Kind = agentstate.Interrupt
	default:
		return nil
	}
	return []agentstate.Event{e}
}

// sessionStart brings the agent to rest, unless it only goes on with its
// session. A turn that was open was never ended: its agent has gone.
func sessionStart(r api.AgentReport, w, before registry.Window, e agentstate.Event) []agentstate.Event {
	sameProcess := before.AgentProcess().Same(w.AgentProcess())
	if goesOn(r) || sameProcess && before.AgentSession == r.SessionID && before.TurnOpen {
		return nil
	}
	var events []agentstate.Event
	e.PromptID = ""
	if before.TurnOpen {
		exit := e
		exit.Kind = agentstate.Exit
		events = append(events, exit)
	}
	e.Kind, e.State = agentstate.Claim, agentstate.Idle
	return append(events, e)
}

// goesOn reports whether a session start is one in the middle of the session:
// its history was made smaller.
func goesOn(r api.AgentReport) bool { return r.Reason == "compact" }

// line is the line that the agent ended with, or asks the person.
func line(r api.AgentReport) string {
	switch r.Kind {
	case api.ReportStop, api.ReportFailed:
		return checkpoint.Label(lastLine(r.Message))
	case api.ReportNeedsInput:
		return checkpoint.Label(r.Message)
	}
	return ""
}

// make makes a window, unless it is there by now, with its turns counted on
// from the highest that the store knows. t.mu is not held.
func (t *Tracker) make(ctx context.Context, s registry.Sighting, key, session, name string) (registry.Window, error) {
	if s.Worktree == "" {
		return registry.Window{}, api.Errorf(api.CodeInvalidParams, "a new window needs a directory").WithHint(api.Hint{Param: "dir"})
	}
	id := registry.MakeID(key, s.Worktree, func(string) bool { return false })
	highest, err := t.highestTurn(ctx, s, id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if w, ok := t.o.Registry.Get(id); ok && w.Key == key && w.Worktree == s.Worktree {
		return w, nil
	}
	w := t.o.Registry.Make(s, key, session, name)
	w.Turn, w.LastActive = highest, t.o.Now()
	if err != nil {
		t.unsure[w.ID] = true
		t.o.Problem(err)
	}
	return t.keep(w), nil
}

// count notes that a report about a window begins or was answered. t.mu is held.
func (t *Tracker) count(id string, by int) {
	c := t.calls[id]
	c.running += by
	if by < 0 {
		c.answered = t.o.Now()
	}
	t.calls[id] = c
}

func sighting(r api.AgentReport, where place) registry.Sighting {
	return registry.Sighting{
		Worktree: where.Root, CommonDir: where.CommonDir, Keys: r.TerminalKeys, Agent: r.Agent, AgentSession: r.SessionID,
		Process: registry.Process{PID: r.AgentPID, Started: r.AgentStarted},
	}
}

// makesWindow reports whether a report is reason enough to make a window.
func makesWindow(r api.AgentReport) bool {
	return !r.Subagent && r.Kind != api.ReportSeen && r.Kind != api.ReportSessionEnd
}

func knownKind(k api.ReportKind) bool {
	switch k {
	case api.ReportSessionStart, api.ReportSessionEnd, api.ReportPrompt, api.ReportToolStart, api.ReportToolEnd,
		api.ReportNeedsInput, api.ReportStop, api.ReportFailed, api.ReportAborted, api.ReportCompacted, api.ReportSeen:
		return true
	}
	return false
}

// pending returns j alone if it is not done, else nothing.
func pending(j *job) []*job {
	select {
	case <-j.done:
		return nil
	default:
		return []*job{j}
	}
}

// lastLine is the last line of text with something on it.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

func stopping() error {
	return api.Errorf(api.CodeNoDaemon, "the daemon is stopping")
}
