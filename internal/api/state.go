package api

import "time"

// SetAgentStateParams are the parameters of set-agent-state.
type SetAgentStateParams struct {
	Place
	State   string `json:"state"`             // none, working, needs_input, idle, done, errored, unknown
	Message string `json:"message,omitempty"` // what the agent says about the state
	Prompt  string `json:"prompt,omitempty"`  // the prompt that starts a turn
	Agent   string `json:"agent,omitempty"`   // the agent's name, if known
}

// SetAgentStateResult is the answer to set-agent-state and to agent-report.
// At most one of Checkpoint, NotSaved, Pending and Unchanged tells what became
// of the save that the state caused; none of them means that no save was due.
type SetAgentStateResult struct {
	State      string      `json:"state"`                // the state that stands
	Applied    bool        `json:"applied"`              // false: a claim of a higher rank stands
	Turn       int         `json:"turn"`                 // the open or newest turn
	Pane       string      `json:"pane"`                 // the window's id
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // what was saved
	NotSaved   string      `json:"not_saved,omitempty"`  // why the save failed
	Pending    bool        `json:"pending,omitempty"`    // the save still runs
	Unchanged  bool        `json:"unchanged,omitempty"`  // nothing had changed
	// Context is what the agent's model is to be told beside a prompt: that files
	// were restored. It is given once; to a reporter that says TellsBack, until it has
	// told that it was handed over, by a report of ContextAt as Told.
	Context   string     `json:"context,omitempty"`
	ContextAt *time.Time `json:"context_at,omitempty"`
	// Conversation is set where an open checkpoint of the agent's conversation
	// asks for something.
	Conversation *ConversationReply `json:"conversation,omitempty"`
}

// ConversationReply is what an agent's hook is to answer for the sake of the
// agent's conversation.
type ConversationReply struct {
	Deny     string `json:"deny,omitempty"`     // ReportToolStart: the refusal that the call is to get
	Reminder string `json:"reminder,omitempty"` // ReportStop: what the model is told; it goes on, and so does the turn
	Notice   string `json:"notice,omitempty"`   // what the person is told
	Context  string `json:"context,omitempty"`  // ReportPrompt: what the model is told beside the prompt
}

// GetAgentStateParams are the parameters of get-agent-state.
type GetAgentStateParams struct{ Place }

// GetAgentStateResult is the result of get-agent-state.
type GetAgentStateResult struct {
	State   string    `json:"state"`
	Source  string    `json:"source"` // report, osc, screen, detect, stall; empty: nothing was ever claimed
	Since   time.Time `json:"since"`
	Turn    int       `json:"turn"`
	Agent   string    `json:"agent"`
	Message string    `json:"message,omitempty"`
}

// ReportKind is what a hook event means, whatever the agent calls it.
type ReportKind string

// The kinds of report. Each adapter maps its agent's events to these.
const (
	ReportSessionStart ReportKind = "session_start" // a session begins, resumes, or continues after a clear
	ReportSessionEnd   ReportKind = "session_end"   // the agent leaves, or its session is cleared
	ReportPrompt       ReportKind = "prompt"        // a prompt was submitted (PromptID tells a queued one)
	ReportToolStart    ReportKind = "tool_start"    // a tool is about to run
	ReportToolEnd      ReportKind = "tool_end"      // a tool has run
	ReportNeedsInput   ReportKind = "needs_input"   // the agent asks the person
	ReportStop         ReportKind = "stop"          // the agent rests
	ReportFailed       ReportKind = "failed"        // the turn ended with an error
	ReportAborted      ReportKind = "aborted"       // the person interrupted the turn
	ReportCompacted    ReportKind = "compacted"     // the agent summarised its conversation
	ReportSeen         ReportKind = "seen"          // nothing but a sign of life
)

// AgentReport is one hook event of an agent in our words. Hooks send it with
// the verb agent-report. Texts in it come from an agent: never trusted, never
// logged.
type AgentReport struct {
	Place
	Agent      string     `json:"agent"`                // claude, codex, ...
	Event      string     `json:"event"`                // the agent's own spelling
	Kind       ReportKind `json:"kind"`                 //
	SessionID  string     `json:"session_id,omitempty"` // the agent's session
	PromptID   string     `json:"prompt_id,omitempty"`  // the same id within a turn: a queued message, not a new turn
	Prompt     string     `json:"prompt,omitempty"`     // ReportPrompt: its text
	SameTurn   bool       `json:"same_turn,omitempty"`  // ReportPrompt: goes on with the newest turn (a background task's notice)
	TellsBack  bool       `json:"tells_back,omitempty"` // ReportPrompt: that the answer's Context was handed to the agent is told by another report
	Told       *time.Time `json:"told,omitempty"`       // ReportSeen: the ContextAt of what was handed over
	Message    string     `json:"message,omitempty"`    // ReportStop, ReportFailed, ReportNeedsInput: the line that the agent ended with
	Subagent   bool       `json:"subagent,omitempty"`   // from a subagent: neither starts nor ends a turn
	Background int        `json:"background,omitempty"` // ReportStop: background tasks that still run; the turn goes on
	Settled    bool       `json:"settled,omitempty"`    // ReportStop: what the model is to be told was asked by conversation-settled, nothing more is
	Reason     string     `json:"reason,omitempty"`     // session start and end: the agent's own word (clear, resume, ...)
	Transcript string     `json:"transcript,omitempty"` // absolute path of the agent's transcript
	// TranscriptPlace says where in the transcript the turn ended; ReportStop,
	// ReportFailed and ReportAborted, opaque, kept with the checkpoint. Empty: not known.
	TranscriptPlace string   `json:"transcript_place,omitempty"`
	ToolWrites      bool     `json:"tool_writes,omitempty"` // ReportToolStart: the tool can write files; a start save holds it back
	Paths           []string `json:"paths,omitempty"`       // files that the tool names, absolute
	// ConversationTool is checkpoint or rewind where the report is about a call of
	// that tool of ours; ToolUseID is the agent's id of the call.
	ConversationTool string `json:"conversation_tool,omitempty"`
	ToolUseID        string `json:"tool_use_id,omitempty"`
	Launch           string `json:"launch,omitempty"`        // the launch of run --conversation that the agent belongs to, TURNBACK_LAUNCH of its environment
	Headless         bool   `json:"headless,omitempty"`      // it does one task without a person; ls lists its window no longer than it runs
	AgentPID         int    `json:"agent_pid,omitempty"`     // the agent's process
	AgentStarted     string `json:"agent_started,omitempty"` // its start time as package terminal tells it, so that a used-again pid is seen
}
