package text

import (
	"fmt"
	"io"
	"strconv"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Conversations writes the result of conversation-list, a row each.
func (f Format) Conversations(w io.Writer, r api.ConversationListResult) error {
	var l lines
	if len(r.Sessions) == 0 {
		l.addf("No conversation with a checkpoint is known. turnback setup claude --conversation offers them to Claude Code.")
		return l.writeTo(w)
	}
	rows := [][]string{{"AGENT", "SESSION", "LAST", "CHECKPOINTS", "REWINDS", "TOKENS", "STATE"}}
	for _, s := range r.Sessions {
		rows = append(rows, []string{
			dash(screen.Line(s.Agent)), screen.Line(s.Session), f.Taken(s.Last), strconv.Itoa(s.Checkpoints), strconv.Itoa(s.Rewinds),
			tokens(s.Tokens), conversationState(s),
		})
	}
	return screen.Table(w, rows)
}

// tokens tells what was sent, and what it would have been: that is estimated.
func tokens(t api.ConversationTokens) string {
	switch {
	case t.TokensAfter == 0:
		return "-"
	case t.TokensBefore == t.TokensAfter:
		return strconv.FormatInt(t.TokensAfter, 10)
	}
	return fmt.Sprintf("%d, before ~%d", t.TokensAfter, t.TokensBefore)
}

func conversationState(s api.ConversationSession) string {
	switch {
	case s.Open != nil:
		return "open: " + screen.Line(s.Open.Goal)
	case s.Lost:
		return "lost in a compaction"
	}
	return "-"
}

// Conversation writes the result of conversation-show: the session, and its
// checkpoints with their ends, oldest first.
func (f Format) Conversation(w io.Writer, r api.ConversationShowResult) error {
	s := r.Conversation
	rows := [][]string{
		{"agent:", dash(screen.Line(s.Agent))},
		{"session:", screen.Line(s.Session)},
		{"directory:", dash(screen.Line(s.Dir))},
		{"started:", f.Taken(s.Started)},
		{"last:", f.Taken(s.Last)},
		{"tokens:", tokens(s.Tokens)},
	}
	if s.Tokens.Requests > 0 {
		rows = append(rows, []string{"requests:", strconv.Itoa(s.Tokens.Requests)})
	}
	if s.Reason != "" {
		rows = append(rows, []string{"not collapsed:", screen.Line(s.Reason)})
	}
	if r.Transcript != "" {
		rows = append(rows, []string{"transcript:", screen.Line(r.Transcript)})
	}
	if err := screen.Table(w, rows); err != nil {
		return err
	}
	var l lines
	for i, c := range r.Checkpoints {
		l.addf("")
		l.addf("%d  %s  %s: %s", i+1, f.Taken(c.StartedAt), c.State, screen.Line(c.Goal))
		if c.N > 0 {
			l.addf("   work-tree checkpoint %d of pane %s", c.N, screen.Line(c.Pane))
		}
		if c.Reminders > 0 {
			l.addf("   reminded: %d", c.Reminders)
		}
		if c.Report != "" {
			l.addf("   report: %s", screen.Line(c.Report))
		}
	}
	return l.writeTo(w)
}

// ConversationStats writes the result of conversation-stats.
func (f Format) ConversationStats(w io.Writer, r api.ConversationStatsResult) error {
	var l lines
	if len(r.Sessions) == 0 {
		l.addf("No figures yet: they come with turnback run --conversation -- AGENT.")
		return l.writeTo(w)
	}
	rows := [][]string{{"AGENT", "SESSION", "REQUESTS", "TOKENS SENT", "WITHOUT REWINDS", "SAVED"}}
	for _, s := range r.Sessions {
		rows = append(rows, append([]string{dash(screen.Line(s.Agent)), screen.Line(s.Session)}, figures(s.Tokens)...))
	}
	rows = append(rows, append([]string{"all", ""}, figures(r.Total)...))
	if err := screen.Table(w, rows); err != nil {
		return err
	}
	l.addf("Tokens sent are the providers' own figures; ~ is estimated from the sizes of the requests.")
	return l.writeTo(w)
}

func figures(t api.ConversationTokens) []string {
	saved := "-"
	if t.TokensBefore > t.TokensAfter {
		saved = fmt.Sprintf("~%d %%", (t.TokensBefore-t.TokensAfter)*100/t.TokensBefore)
	}
	return []string{strconv.Itoa(t.Requests), strconv.FormatInt(t.TokensAfter, 10), fmt.Sprintf("~%d", t.TokensBefore), saved}
}

// ConversationAbandoned writes the result of conversation-abandon.
func (f Format) ConversationAbandoned(w io.Writer, r api.ConversationAbandonResult) error {
	_, err := fmt.Fprintf(w, "Closed the checkpoint of %s, session %s, without a report: %s\n",
		dash(screen.Line(r.Agent)), screen.Line(r.Session), screen.Line(r.Checkpoint.Goal))
	return err
}
