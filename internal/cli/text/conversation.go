package text

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Conversations writes the result of conversation-list, a row each.
func (f Format) Conversations(w io.Writer, r api.ConversationListResult) error {
	var l lines
	for _, p := range r.Problems {
		l.addf("not listed: %s", screen.Line(p))
	}
	if len(r.Sessions) == 0 {
		l.addf("No conversation with a checkpoint is known here. turnback setup claude --conversation offers them to Claude Code.")
		return l.writeTo(w)
	}
	rows := [][]string{{"AGENT", "SESSION", "LAST", "CHECKPOINTS", "REWINDS", "TOKENS", "STATE"}}
	for _, s := range r.Sessions {
		rows = append(rows, []string{
			dash(screen.Line(s.Agent)), screen.Line(s.Session), f.Taken(s.Last), strconv.Itoa(s.Checkpoints), strconv.Itoa(s.Rewinds),
			tokens(s.Tokens), conversationState(s),
		})
	}
	l.table(rows)
	return l.writeTo(w)
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
	return dash(screen.Cut(screen.Line(s.Title), 40))
}

// Conversation writes the result of conversation-show: the session, and its
// checkpoints with their ends, oldest first.
func (f Format) Conversation(w io.Writer, r api.ConversationShowResult) error {
	s := r.Conversation
	rows := [][]string{
		{"agent:", dash(screen.Line(s.Agent))},
		{"session:", screen.Line(s.Session)},
		{"directory:", dash(f.Name(s.Dir))},
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
	if len(r.Tree) > 0 {
		f.conversationTree(&l, r)
		return l.writeTo(w)
	}
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
			l.addf("   report: %s", firstLine(c.Report))
		}
	}
	return l.writeTo(w)
}

// conversationTree writes the tree of a session: what goes on stands at the left,
// a branch that was left is indented below the place where it began.
func (f Format) conversationTree(l *lines, r api.ConversationShowResult) {
	children := map[string][]api.ConversationNode{}
	for _, n := range r.Tree {
		children[n.Parent] = append(children[n.Parent], n)
	}
	var rows [][]string
	var below func(parent string, depth int)
	show := func(n api.ConversationNode, depth int) {
		rows = append(rows, f.node(n, depth, r.Conversation.Session))
		if n.Kind != "end" { // its id may be its parent's
			below(n.ID, depth)
		}
	}
	below = func(parent string, depth int) {
		next := children[parent]
		if len(next) == 0 {
			return
		}
		goesOn := len(next) - 1
		if i := slices.IndexFunc(next, func(n api.ConversationNode) bool { return n.On }); i >= 0 {
			goesOn = i
		}
		for i, n := range next {
			if i != goesOn {
				show(n, depth+1)
			}
		}
		show(next[goesOn], depth)
	}
	below("", 0)
	l.addf("")
	l.table(rows)
}

func (f Format) node(n api.ConversationNode, depth int, session string) []string {
	mark, kind, text := strings.Repeat("  ", depth)+"-", n.Kind, firstLine(n.Text)
	if n.On {
		mark = "*"
	}
	switch n.Kind {
	case "rewind":
		kind = "report"
	case "cleared":
		text = "the checkpoint was closed without a report"
	case "checkpoint":
		text += " (" + n.State
		if n.N > 0 {
			text += fmt.Sprintf(", work-tree checkpoint %d", n.N)
		}
		text += ")"
	case "end":
		kind, text = "here", "entry "+screen.Line(n.ID)
		if !n.On {
			kind, text = "left", "turnback agent --resume "+screen.Line(session)+"/"+screen.Line(n.ID)
		}
	}
	return []string{mark, f.Taken(n.At), kind, text}
}

// firstLine is the first line of a text, with a mark where there is more.
func firstLine(text string) string {
	first, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 100
	line := screen.Cut(screen.Line(first), most)
	if more && !strings.HasSuffix(line, "...") {
		line += " ..."
	}
	return line
}

// ConversationStats writes the result of conversation-stats.
func (f Format) ConversationStats(w io.Writer, r api.ConversationStatsResult) error {
	var l lines
	for _, p := range r.Problems {
		l.addf("not listed: %s", screen.Line(p))
	}
	if len(r.Sessions) == 0 {
		l.addf("No figures yet: they come with turnback run --conversation -- AGENT and with turnback agent.")
		return l.writeTo(w)
	}
	rows := [][]string{{"AGENT", "SESSION", "REQUESTS", "TOKENS SENT", "WITHOUT REWINDS", "SAVED"}}
	for _, s := range r.Sessions {
		rows = append(rows, append([]string{dash(screen.Line(s.Agent)), screen.Line(s.Session)}, figures(s.Tokens)...))
	}
	rows = append(rows, append([]string{"all", ""}, figures(r.Total)...))
	l.table(rows)
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

// ConversationPurged writes the result of conversation-purge.
func (f Format) ConversationPurged(w io.Writer, r api.ConversationPurgeResult) error {
	what := "nothing was kept"
	switch {
	case r.Own:
		what = "the session is removed"
	case r.Record && r.Transcript:
		what = "what was known of it and the copy of its transcript are removed"
	case r.Record:
		what = "what was known of it is removed"
	case r.Transcript:
		what = "the copy of its transcript is removed"
	}
	_, err := fmt.Fprintf(w, "Conversation %s of %s: %s.\n", screen.Line(r.Session), dash(screen.Line(r.Agent)), what)
	return err
}

// ConversationAbandoned writes the result of conversation-abandon.
func (f Format) ConversationAbandoned(w io.Writer, r api.ConversationAbandonResult) error {
	_, err := fmt.Fprintf(w, "Closed the checkpoint of %s, session %s, without a report: %s\n",
		dash(screen.Line(r.Agent)), screen.Line(r.Session), screen.Line(r.Checkpoint.Goal))
	return err
}
