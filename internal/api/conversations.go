package api

import (
	"encoding/json"
	"time"
)

// ConversationCaller says whose conversation is meant, as far as a caller knows:
// an MCP server that got a tool call, a plugin, the proxy. Nothing in it is
// taken from an environment or a connection that an agent keeps over sessions.
type ConversationCaller struct {
	Agent     string `json:"agent,omitempty"`       // claude, codex, gemini, copilot, opencode, pi; empty: not known
	Session   string `json:"session,omitempty"`     // the agent's own session id
	ToolUseID string `json:"tool_use_id,omitempty"` // the agent's own id of the call
	Launch    string `json:"launch,omitempty"`      // the launch that `run --conversation` made, by its public id; never the proxy's secret
	Subagent  bool   `json:"subagent,omitempty"`    // not the top-level conversation
}

// ConversationCallParams are the parameters of conversation-call: a model called
// one of the two tools. The session is found by the tool call's id (recorded by
// conversation-calling or an agent's hook), else it is Caller.Session, else the
// one that the launch is known to be in.
type ConversationCallParams struct {
	Tool   string             `json:"tool"`          // checkpoint, rewind
	Text   string             `json:"text"`          // the goal, the report
	Caller ConversationCaller `json:"caller"`        //
	Dir    string             `json:"dir,omitempty"` // the caller's directory, absolute; where an agent's hooks told of none, its work tree is saved
}

// ConversationCallResult is the answer to a tool call, in the words that the
// model gets. A refusal is a result with IsError, not an error.
type ConversationCallResult struct {
	Texts   []string        `json:"texts"`             // one block each
	Details json.RawMessage `json:"details,omitempty"` // an object; absent in a refusal
	IsError bool            `json:"is_error,omitempty"`
}

// ConversationCallingParams are the parameters of conversation-calling: the
// model of a session is about to call one of the two tools. A plugin tells it
// before the call; Claude Code's hook does by agent-report.
type ConversationCallingParams struct {
	Tool   string             `json:"tool"`
	Caller ConversationCaller `json:"caller"`
	Dir    string             `json:"dir,omitempty"`
}

// ConversationCallingResult is the result of conversation-calling.
type ConversationCallingResult struct {
	Deny string `json:"deny,omitempty"` // the refusal that the call is to get in place of an answer
}

// ConversationSeenParams are the parameters of conversation-seen: what the proxy
// or a plugin saw in a request for a model. It is told when the request goes
// out, so that it is known before a call in the answer; figures, which come
// later, are told by conversation-figures.
type ConversationSeenParams struct {
	Caller ConversationCaller    `json:"caller"`         // Session and Launch as far as the request names them
	At     time.Time             `json:"at"`             // when the request came in
	Open   *ConversationOpenCall `json:"open,omitempty"` // the newest open checkpoint in it
	// Checkpoints are the call ids of all checkpoints in it, oldest first. One that
	// was open and is not among them was lost.
	Checkpoints []string `json:"checkpoints,omitempty"`
	// Completed: no checkpoint is open in it, and one was closed by a report.
	Completed bool   `json:"completed,omitempty"`
	Spans     int    `json:"spans,omitempty"`  // spans in it that were collapsed
	Rewrites  bool   `json:"rewrites"`         // what is sent is collapsed; false: a plugin that only looks
	Reason    string `json:"reason,omitempty"` // why the request went out unchanged though something was found; empty: no doubt
	// Unknown: the request tells nothing of checkpoints, since its history could
	// not be read, or is of a side question. What was known before holds on.
	Unknown bool `json:"unknown,omitempty"`
}

// ConversationOpenCall is an open checkpoint in a history.
type ConversationOpenCall struct {
	CallID     string `json:"call_id,omitempty"` // where a provider has none (Gemini) as package collapse makes it
	Goal       string `json:"goal"`
	BatchEnded bool   `json:"batch_ended"` // the results of its batch are all there
}

// ConversationFiguresParams are the parameters of conversation-figures: what one
// request with collapsed spans cost, and what it would have been.
type ConversationFiguresParams struct {
	Caller      ConversationCaller `json:"caller"`
	At          time.Time          `json:"at"`           // of the request, as in conversation-seen
	BytesBefore int64              `json:"bytes_before"` // of the history as the agent sent it
	BytesAfter  int64              `json:"bytes_after"`  // as it went out; equal to BytesBefore without a span
	Tokens      int64              `json:"tokens"`       // input tokens by the provider's own usage, cached ones included; 0: it told none
}

// ConversationSettledParams are the parameters of conversation-settled: the
// agent came to rest. A plugin asks; Claude Code's Stop hook does by
// agent-report.
type ConversationSettledParams struct {
	Caller     ConversationCaller `json:"caller"`
	PromptID   string             `json:"prompt_id,omitempty"`  // the person's prompt that the turn began with; empty: told by conversation-prompted
	Background int                `json:"background,omitempty"` // background tasks that still run
}

// ConversationSettledResult is the result of conversation-settled.
type ConversationSettledResult struct {
	Reminder string `json:"reminder,omitempty"` // what the model is to be told; it goes on then
	Notice   string `json:"notice,omitempty"`   // what the person is to be told
}

// ConversationPromptedParams are the parameters of conversation-prompted: a
// plugin tells of a prompt. Our own reminder that comes back counts for none.
type ConversationPromptedParams struct {
	Caller ConversationCaller `json:"caller"`
	Text   string             `json:"text"`
}

// ConversationTokens are the figures of a session, or of all. Those before are
// an estimate: after × bytes before / bytes after, of each request.
type ConversationTokens struct {
	Requests     int   `json:"requests"`
	BytesBefore  int64 `json:"bytes_before"`
	BytesAfter   int64 `json:"bytes_after"`
	TokensBefore int64 `json:"tokens_before"` // estimated
	TokensAfter  int64 `json:"tokens_after"`  // as the providers told, exact
}

// ConversationSession is one conversation of which a checkpoint, or the proxy,
// told.
type ConversationSession struct {
	Agent       string    `json:"agent"` // claude, ...; turnback for our own
	Session     string    `json:"session"`
	Title       string    `json:"title,omitempty"` // first line of the first prompt; of our own agent
	Dir         string    `json:"dir"`             // where the agent worked, absolute; may be empty
	Started     time.Time `json:"started"`
	Last        time.Time `json:"last"`        // the last that was heard of it
	Checkpoints int       `json:"checkpoints"` // that were opened
	Rewinds     int       `json:"rewinds"`     // that were closed by a report
	// Open is the checkpoint that is open now.
	Open   *ConversationCheckpoint `json:"open,omitempty"`
	Lost   bool                    `json:"lost,omitempty"` // the newest was lost in a compaction
	Tokens ConversationTokens      `json:"tokens"`
	// Proxied says that requests of it go through a proxy, or a plugin that
	// rewrites them; Reason is why the last one that was in doubt went out as it
	// came, at ReasonAt.
	Proxied  bool       `json:"proxied"`
	Reason   string     `json:"reason,omitempty"`
	ReasonAt *time.Time `json:"reason_at,omitempty"`
}

// ConversationCheckpoint is one checkpoint of a conversation.
type ConversationCheckpoint struct {
	Goal      string     `json:"goal"`
	State     string     `json:"state"` // open, rewound, abandoned, cleared, lost, replaced
	StartedAt time.Time  `json:"started_at"`
	ClosedAt  *time.Time `json:"closed_at,omitempty"`
	Report    string     `json:"report,omitempty"`
	// N is the checkpoint of the work tree that was taken with it, in Pane; 0: none.
	N    int    `json:"n,omitempty"`
	Pane string `json:"pane,omitempty"`
	// Reminders is how often the model was told to rewind.
	Reminders int `json:"reminders,omitempty"`
}

// ConversationListParams are the parameters of conversation-list and
// conversation-stats.
type ConversationListParams struct {
	Dir string `json:"dir,omitempty"` // only sessions of the work tree, or the directory, that this absolute path is in; empty: all
}

// ConversationListResult is the result of conversation-list: the sessions, the
// one heard of last first.
type ConversationListResult struct {
	Sessions  []ConversationSession `json:"sessions"`
	Problems  []string              `json:"problems,omitempty"` // session files that cannot be read
	Untrusted bool                  `json:"untrusted"`
}

// ConversationParams are the parameters of conversation-show,
// conversation-export, conversation-abandon and conversation-purge.
type ConversationParams struct {
	Session string `json:"session,omitempty"` // an id, or 4 or more of its first characters; empty: the newest of Dir
	Dir     string `json:"dir,omitempty"`     // the caller's directory, absolute
}

// ConversationShowResult is the result of conversation-show and
// conversation-export; the latter's reports are whole.
type ConversationShowResult struct {
	Conversation ConversationSession      `json:"conversation"`
	Checkpoints  []ConversationCheckpoint `json:"checkpoints"`          // oldest first
	Transcript   string                   `json:"transcript,omitempty"` // path of the agent's own file
	// Tree is told of our own agent's sessions: parents come before children.
	Tree      []ConversationNode `json:"tree,omitempty"`
	Untrusted bool               `json:"untrusted"`
}

// ConversationNode is a place in the tree of a conversation that a person would
// look for.
type ConversationNode struct {
	ID     string `json:"id"`               // its entry in the session file
	Parent string `json:"parent,omitempty"` // the node that it comes after
	// Kind is prompt, checkpoint, rewind (where a report took the place of what was
	// left), cleared, compaction or end. Where a branch ends that is not On, its
	// entry leads back to it.
	Kind  string    `json:"kind"`
	Text  string    `json:"text,omitempty"` // the prompt, goal, report, summary; cut but in an export
	At    time.Time `json:"at"`
	On    bool      `json:"on"`              // on the branch that goes on
	State string    `json:"state,omitempty"` // of a checkpoint, as in ConversationCheckpoint
	N     int       `json:"n,omitempty"`     // of a checkpoint: the work-tree checkpoint
}

// ConversationStatsResult is the result of conversation-stats.
type ConversationStatsResult struct {
	Sessions  []ConversationSession `json:"sessions"`
	Total     ConversationTokens    `json:"total"`
	Problems  []string              `json:"problems,omitempty"` // as in ConversationListResult
	Untrusted bool                  `json:"untrusted"`
}

// ConversationPurgeResult is the result of conversation-purge: what was removed.
type ConversationPurgeResult struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// Record is what was known of it, Transcript the copy of its transcript, Own the
	// session itself: of turnback's own agent.
	Record     bool `json:"record"`
	Transcript bool `json:"transcript"`
	Own        bool `json:"own"`
	Untrusted  bool `json:"untrusted"`
}

// ConversationAbandonResult is the result of conversation-abandon: the
// checkpoint that was closed.
type ConversationAbandonResult struct {
	Agent      string                 `json:"agent"`
	Session    string                 `json:"session"`
	Checkpoint ConversationCheckpoint `json:"checkpoint"`
	Untrusted  bool                   `json:"untrusted"`
}
