package conversation

import (
	"html"
	"strings"
)

// What the tools answer. Other programs and the models themselves go by these
// texts, so they never change.
const (
	CreatedPrefix   = "Checkpoint created."
	InvestigateLine = "Run your investigation, then call rewind with a concise report."
	RewindPrefix    = "Rewind requested."
	rewindLine      = "Report captured for context replacement."
)

// MaxReport is the longest report, in characters.
const MaxReport = 500_000

// CreatedText is the answer to a checkpoint: three lines, for a goal of one.
func CreatedText(goal string) string {
	return CreatedPrefix + "\nGoal: " + goal + "\n" + InvestigateLine
}

// RewindText is the answer to a rewind.
func RewindText() string { return RewindPrefix + "\n" + rewindLine }

// Refusal is an error of a tool, in the words that the model reads.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// The refusals. Where several hold, the first of a tool's goes.
const (
	ErrCheckpointInSubagent Refusal = "Checkpoint not available in subagents."
	ErrCheckpointActive     Refusal = "Checkpoint already active."
	ErrGoalEmpty            Refusal = "Goal cannot be empty."

	ErrRewindInSubagent Refusal = "Rewind not available in subagents."
	ErrLost             Refusal = "The checkpoint was lost in a compaction; the history is unchanged."
	ErrAlreadyCompleted Refusal = "Checkpoint already completed; continue from the retained report instead of calling rewind again."
	ErrNoCheckpoint     Refusal = "No active checkpoint. Create a checkpoint before calling rewind."
	ErrReportEmpty      Refusal = "Report cannot be empty."
	ErrReportTooLong    Refusal = "Report too long."

	// ErrSessionUnknown is for a caller that cannot be told from others.
	ErrSessionUnknown Refusal = "Session unknown; run turnback doctor."
)

// NoProxyNote tells a model that its host cannot shorten what is sent.
const NoProxyNote = "The exploration stays in context: start with turnback run --conversation."

// MaxReminders is how often a model is told, for one open checkpoint and one
// prompt of the person, to rewind before it yields.
const MaxReminders = 3

const (
	reminderText = "<system-warning>\n" +
		"A checkpoint is active. Call rewind with your findings before you yield. Do not yield while the checkpoint is open.\n" +
		"</system-warning>"
	lastReminderText = "<system-warning>\n" +
		"A checkpoint is active. Call rewind with your findings before you yield. Do not yield while the checkpoint is open. This is the last reminder.\n" +
		"</system-warning>"
)

// Reminder is the nth text that a model gets when it settles with a checkpoint
// open, for n from 1 to [MaxReminders]; the last one says so. It is empty for
// any other n.
func Reminder(n int) string {
	switch {
	case n < 1 || n > MaxReminders:
		return ""
	case n == MaxReminders:
		return lastReminderText
	default:
		return reminderText
	}
}

// IsReminder says whether a text is one of the guard's own, as it is or as an
// agent hands it on: Claude Code as a system reminder of its Stop hook, Codex as
// a hook prompt.
func IsReminder(text string) bool {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "<hook_prompt"); ok {
		_, rest, _ = strings.Cut(rest, ">")
		// As XML, in which Codex escapes it.
		text = strings.TrimSpace(html.UnescapeString(strings.TrimSuffix(rest, "</hook_prompt>")))
	}
	if rest, ok := strings.CutPrefix(text, "<system-reminder>"); ok {
		text = strings.TrimSpace(strings.TrimSuffix(rest, "</system-reminder>"))
	}
	for _, label := range []string{"Stop hook additional context:", "Stop hook feedback:"} {
		text = strings.TrimSpace(strings.TrimPrefix(text, label))
	}
	return text == reminderText || text == lastReminderText
}
