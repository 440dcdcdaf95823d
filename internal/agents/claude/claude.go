// Package claude is the adapter for Claude Code: it reads the payloads of its
// hooks, the ends of its transcripts, and its settings files.
//
// What it relies on was measured with version 2.1.332 of the command line. The
// texts that it reads come from an agent: they are carried, never logged, and
// never trusted to be of the announced type.
package claude

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/payload"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/terminal"
)

// Name is the agent's name in reports, commands and settings.
const Name = "claude"

// ErrForeignPath says that a payload's directory is none of this system (a
// Windows path, for example). Taking any other for it would save the wrong tree.
var ErrForeignPath = errors.New("the payload's directory is not a path of this system")

// notificationPrefix starts the prompt by which the agent tells itself that a
// background task has ended.
const notificationPrefix = "<task-notification>"

// Adapter is the Claude Code adapter. The zero value takes every process for one
// that a person started.
type Adapter struct {
	outer func(pid int) int // the agent process from whose tool call pid runs; 0: none
}

// New returns the adapter that asks the process table of this system.
func New() Adapter { return Adapter{outer: outerAgent} }

// Parse turns the payload of a hook into a report. event is the agent's own
// spelling; one that is not known is ReportSeen. Dir is the payload's cwd: the
// rule of which work tree is meant. It is empty when the payload has none, and
// the caller then takes the hook's own, where the agent started it. env is the
// hook's environment.
func (a Adapter) Parse(event string, object []byte, env func(string) string) (api.AgentReport, error) {
	f, err := payload.Parse(object)
	if err != nil {
		return api.AgentReport{}, err
	}
	r := api.AgentReport{
		Agent: Name, Event: event, Kind: api.ReportSeen,
		SessionID: identifier(f.Text("session_id")), PromptID: identifier(f.Text("prompt_id")),
		Subagent: f.Text("agent_id") != "",
	}
	if r.Dir, err = directory(f); err != nil {
		return api.AgentReport{}, err
	}
	r.Transcript = path(f, "transcript_path")
	if pid, err := strconv.Atoi(env("CLAUDE_PID")); err == nil && pid > 0 {
		r.AgentPID = pid
	}
	read(&r, event, f)
	if a.outer != nil && r.AgentPID != 0 {
		if pid := a.outer(r.AgentPID); pid != 0 {
			return childReport(r, pid), nil
		}
	}
	return r, nil
}

// childReport is r of a session that another session's tool call runs: to the
// person it is part of that call. Its tools count as those of a subagent of the
// outer agent, and it has no turns.
func childReport(r api.AgentReport, outer int) api.AgentReport {
	child := api.AgentReport{
		Place: r.Place, Agent: r.Agent, Event: r.Event, Kind: api.ReportSeen,
		Subagent: true, AgentPID: outer,
	}
	if r.Kind == api.ReportToolStart || r.Kind == api.ReportToolEnd {
		child.Kind, child.ToolWrites, child.Paths = r.Kind, r.ToolWrites, r.Paths
		child.ConversationTool, child.ToolUseID = r.ConversationTool, r.ToolUseID
	}
	return child
}

// outerAgent looks at the environment that process pid was started with: what
// an agent's tool call runs has the agent's id in it, and descends from it.
func outerAgent(pid int) int {
	outer, err := strconv.Atoi(terminal.Variable(pid, "CLAUDE_PID"))
	if err != nil || outer == pid {
		return 0
	}
	for _, p := range terminal.Ancestors(pid) {
		if p.PID == outer {
			return outer
		}
	}
	return 0
}

// read fills in what the event is about.
func read(r *api.AgentReport, event string, f payload.Fields) {
	switch event {
	case "SessionStart":
		r.Kind, r.Reason = api.ReportSessionStart, f.Text("source")
		// A compaction goes on with the same session, often in the middle of a turn.
		if r.Reason == "compact" {
			r.Kind = api.ReportCompacted
		}
	case "PostCompact":
		r.Kind = api.ReportCompacted
	case "SessionEnd":
		r.Kind, r.Reason = api.ReportSessionEnd, f.Text("reason")
	case "UserPromptSubmit":
		r.Kind, r.Prompt = api.ReportPrompt, f.Text("prompt")
		r.SameTurn = strings.HasPrefix(strings.TrimSpace(r.Prompt), notificationPrefix)
	case "PreToolUse":
		r.Kind = api.ReportToolStart
		readTool(r, f)
		if tool, ours := conversation.ParseToolName(conversation.OtherAgent, "", f.Text("tool_name")); ours {
			r.ConversationTool, r.ToolUseID = string(tool), identifier(f.Text("tool_use_id"))
		}
	case "PostToolUse", "PostToolUseFailure":
		r.Kind = api.ReportToolEnd
		readTool(r, f)
	case "PostToolBatch", "ElicitationResult":
		r.Kind = api.ReportToolEnd
	case "PermissionRequest", "Elicitation":
		r.Kind, r.Message = api.ReportNeedsInput, f.Text("message")
	case "Notification":
		readNotification(r, f)
	case "Stop":
		r.Kind, r.Message = api.ReportStop, f.Text("last_assistant_message")
		r.Background = running(f.List("background_tasks"))
		r.TranscriptPlace = place(r.Transcript, r.PromptID, r.Message)
	case "StopFailure":
		r.Kind, r.Message = api.ReportFailed, f.Text("last_assistant_message")
		if r.Message == "" {
			r.Message = f.Text("error")
		}
		r.TranscriptPlace = place(r.Transcript, r.PromptID, r.Message)
	}
}

// readNotification tells a question from a mere sign of life. idle_prompt comes
// a minute after the agent came to rest: it asks for nothing.
func readNotification(r *api.AgentReport, f payload.Fields) {
	message := f.Text("message")
	asks := false
	switch f.Text("notification_type") {
	case "permission_prompt", "worker_permission_prompt", "agent_needs_input", "elicitation_dialog":
		asks = true
	case "": // older versions name no type
		asks = strings.Contains(message, "needs your permission")
	}
	if asks {
		r.Kind, r.Message = api.ReportNeedsInput, message
	}
}

// readTool reads which tool runs and the files that it names.
func readTool(r *api.AgentReport, f payload.Fields) {
	r.ToolWrites = writes(f.Text("tool_name"))
	if !r.ToolWrites {
		return
	}
	input := f.Object("tool_input")
	for _, name := range []string{"file_path", "notebook_path"} {
		if p := path(input, name); p != "" {
			r.Paths = append(r.Paths, p)
		}
	}
}

// writes says whether a tool can change files. Tools that are not known, those
// of MCP servers among them, can. Starting a subagent changes nothing: the
// subagent's own calls are reported one by one.
func writes(tool string) bool {
	switch tool {
	case "Read", "Glob", "Grep", "LS", "LSP", "NotebookRead", "WebFetch", "WebSearch",
		"Agent", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop",
		"TodoRead", "TodoWrite", "BashOutput", "AgentOutputTool", "KillBash", "KillShell",
		"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "ToolSearch", "StructuredOutput",
		"ListMcpResourcesTool", "ReadMcpResourceTool":
		return false
	}
	_, ours := conversation.ParseToolName(conversation.OtherAgent, "", tool)
	return !ours
}

// running counts the background tasks that still work. The agent lists only
// such; the state is looked at all the same, for a list that says otherwise.
func running(tasks []payload.Fields) int {
	n := 0
	for _, t := range tasks {
		switch t.Text("status") {
		case "running", "pending", "":
			n++
		}
	}
	return n
}

// directory reads the payload's cwd.
func directory(f payload.Fields) (string, error) {
	cwd := f.Text("cwd")
	switch {
	case cwd == "", strings.ContainsRune(cwd, utf8.RuneError):
		return "", nil // absent, or not told in full
	case !usable(f, cwd):
		return "", ErrForeignPath
	}
	return filepath.Clean(cwd), nil
}

// path reads a field that is an absolute path of this system; anything else is
// as if it were not there, because a wrong path is worse than none.
func path(f payload.Fields, name string) string {
	p := f.Text(name)
	if p == "" || strings.ContainsRune(p, utf8.RuneError) || !usable(f, p) {
		return ""
	}
	return filepath.Clean(p)
}

func usable(f payload.Fields, p string) bool {
	if f.Repaired && strings.ContainsAny(p, "\\\b\f\n\r\t") {
		return false // `\new` and a line feed followed by "ew" cannot be told apart any more
	}
	return filepath.IsAbs(p) && !strings.ContainsRune(p, 0)
}

// identifier lets an id pass that can be one: ids end up in keys and records.
func identifier(id string) string {
	if len(id) > 200 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c == 0x7f || c == utf8.RuneError }) {
		return ""
	}
	return id
}

// Notice is what a hook prints to show text to the person.
func (a Adapter) Notice(text string) []byte { return a.Answer("", api.ConversationReply{Notice: text}) }

// Answer is what a hook prints: a notice is shown to the person and not to the
// model, a reminder goes to the model, which then goes on, a context goes to it
// with the prompt, and a denied call gets its refusal in place of an answer. Empty: nothing is to be said.
func (Adapter) Answer(event string, a api.ConversationReply) []byte {
	type specific struct {
		Event    string `json:"hookEventName"`
		Context  string `json:"additionalContext,omitempty"`
		Decision string `json:"permissionDecision,omitempty"`
		Reason   string `json:"permissionDecisionReason,omitempty"`
	}
	var value struct {
		SystemMessage string    `json:"systemMessage,omitempty"`
		Specific      *specific `json:"hookSpecificOutput,omitempty"`
	}
	value.SystemMessage = a.Notice
	switch {
	case a.Deny != "":
		value.Specific = &specific{Event: event, Decision: "deny", Reason: a.Deny}
	case a.Reminder != "":
		value.Specific = &specific{Event: event, Context: a.Reminder}
	case a.Context != "" && event == "UserPromptSubmit":
		value.Specific = &specific{Event: event, Context: a.Context}
	case a.Notice == "":
		return nil
	}
	out, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return out
}
