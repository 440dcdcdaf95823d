package conversations

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
)

// The forms of an export.
const (
	formatJSON     = "json"
	formatJSONL    = "jsonl"
	formatMarkdown = "markdown"
)

func newExport(d command.Deps) *cobra.Command {
	format := formatJSON
	cmd := &cobra.Command{
		Use:   "export [SESSION]",
		Short: "Write a conversation as JSON, JSON lines or Markdown",
		Long: `Write what is known of a conversation to standard output:

  json      its checkpoints and figures, reports whole, as one JSON value
  jsonl     the agent's own session file, its whole lines as they are
  markdown  its checkpoints with goals and reports, for people

Secrets in it are not masked.
` + sessionArgument + command.ExitsRead,
		Example: `  turnback conversation export 5f2c >conversation.json
  turnback conversation export 5f2c --format jsonl | jq -c .type`,
		Args:              command.MaxArgs(1),
		ValidArgsFunction: completeSessions(d),
		RunE:              func(cmd *cobra.Command, args []string) error { return export(cmd, d, format, args) },
	}
	cmd.Flags().StringVar(&format, "format", formatJSON, "`FORM`: json, jsonl, markdown")
	command.MustComplete(cmd, "format", cobra.FixedCompletions([]string{formatJSON, formatJSONL, formatMarkdown}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func export(cmd *cobra.Command, d command.Deps, format string, args []string) error {
	if err := command.OneOf("format", format, formatJSON, formatJSONL, formatMarkdown); err != nil {
		return err
	}
	p, err := oneConversation(d, args)
	if err != nil {
		return err
	}
	raw, err := d.Call(cmd.Context(), command.StartDaemon, "conversation-export", p)
	if err != nil {
		return err
	}
	if format == formatJSON {
		return command.WriteJSON(d.Streams.Out, raw)
	}
	var r api.ConversationShowResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("decode the result: %w", err)
	}
	if format == formatMarkdown {
		return markdown(d.Streams.Out, r)
	}
	return wholeLines(d.Streams.Out, r)
}

// wholeLines copies the session's own file but for a last line that is being
// written.
func wholeLines(w io.Writer, r api.ConversationShowResult) error {
	f, err := os.Open(r.Transcript)
	if r.Transcript == "" {
		err = errors.New("no hook told where it is")
	}
	if err != nil {
		return api.Errorf(api.CodeContentMissing, "the session file of %s cannot be had: %v", r.Conversation.Session, err).
			WithHint(api.Hint{Detail: "--format json has what is known without it"})
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the session file: %w", err)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

// markdown writes the checkpoints for people. Texts of agents stand in fences, so
// that nothing in them is taken for our own.
func markdown(w io.Writer, r api.ConversationShowResult) error {
	var b strings.Builder
	s := r.Conversation
	fmt.Fprintf(&b, "# Conversation %s\n\n", screen.Line(s.Session))
	fmt.Fprintf(&b, "* agent: %s\n* directory: %s\n* started: %s\n", orDash(s.Agent), orDash(s.Dir), s.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	if s.Tokens.Requests > 0 {
		fmt.Fprintf(&b, "* tokens sent: %d in %d requests; without rewinds ~%d\n", s.Tokens.TokensAfter, s.Tokens.Requests, s.Tokens.TokensBefore)
	}
	nodes := r.Tree
	if len(nodes) == 0 {
		nodes = asNodes(r.Checkpoints)
	}
	for _, n := range nodes {
		title := map[string]string{"prompt": "Prompt", "checkpoint": "Checkpoint", "rewind": "Report", "compaction": "Summary", "cleared": "Closed without a report"}[n.Kind]
		if title == "" {
			continue
		}
		if n.Kind == "checkpoint" {
			title += ", " + n.State
			if n.N > 0 {
				title += fmt.Sprintf(", work-tree checkpoint %d", n.N)
			}
		}
		if len(r.Tree) > 0 && !n.On {
			title += ", on a branch that was left"
		}
		fmt.Fprintf(&b, "\n## %s\n", title)
		if n.Text != "" {
			fence := fenceFor(n.Text)
			fmt.Fprintf(&b, "\n%s\n%s\n%s\n", fence, strings.TrimSpace(n.Text), fence)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return screen.Line(text)
}

// asNodes are checkpoints of an agent whose tree is not known.
func asNodes(checkpoints []api.ConversationCheckpoint) []api.ConversationNode {
	var nodes []api.ConversationNode
	for _, c := range checkpoints {
		nodes = append(nodes, api.ConversationNode{Kind: "checkpoint", Text: c.Goal, State: c.State, N: c.N})
		if c.Report != "" {
			nodes = append(nodes, api.ConversationNode{Kind: "rewind", Text: c.Report})
		}
	}
	return nodes
}

// fenceFor is a row of backquotes that a text does not have.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}
