package loop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/coder/provider"
	"github.com/turnback/turnback/internal/coder/tool"
)

// ownTools are those that need the loop itself.
func (a *Agent) ownTools() []tool.Tool {
	line := func(name, field string) func(json.RawMessage) string {
		return func(raw json.RawMessage) string { return name + " " + firstLine(text(string(raw), field)) }
	}
	tools := []tool.Tool{
		{
			Tool: provider.Tool{
				Name: tool.Task, Description: "Give a task to a helper that works on its own, with the same tools and without this conversation, and get its report. Tell it all that it has to know.",
				Schema: tool.Schema("prompt", "the task, and what the report is to hold"),
			},
			Line: line(tool.Task, "prompt"), Run: a.task,
			Writes: true, // its own tools may
		},
		{
			Tool: provider.Tool{
				Name: tool.FindTools, Description: "Look for further tools by words about what they do. Those that are found can be called from then on.",
				Schema: tool.Schema("query", "words; empty lists all"),
			},
			Line: line(tool.FindTools, "query"), Run: a.findTools,
		},
	}
	if !a.o.Checkpoints {
		return tools
	}
	checkpoint, rewind := string(conversation.ToolCheckpoint), string(conversation.ToolRewind)
	return append(tools,
		tool.Tool{
			Tool: provider.Tool{
				Name: checkpoint, Description: "Mark this place in the conversation. The exploration that follows will be replaced by a report: call rewind with it.",
				Schema: tool.Schema("goal", "what is to be found out"),
			},
			Line: line(checkpoint, "goal"), Hidden: true,
		},
		tool.Tool{
			Tool: provider.Tool{
				Name: rewind, Description: "Replace everything since the checkpoint by this report.",
				Schema: tool.Schema("report", "what was found, in short: all that is needed to go on"),
			},
			Line: line(rewind, "report"), Hidden: true,
		},
	)
}

func firstLine(text string) string {
	first, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(first); len(runes) > 200 {
		first, more = string(runes[:200]), true
	}
	if more {
		first += " ..."
	}
	return first
}

// findTools finds hidden tools by any of the words.
func (a *Agent) findTools(_ context.Context, call tool.Call) (tool.Result, error) {
	query := strings.ToLower(text(string(call.Arguments), "query"))
	var lines, names []string
	for _, t := range a.tools {
		if t.Hidden && describes(t, query) {
			lines, names = append(lines, t.Name+": "+t.Description), append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return tool.Said("There are no further tools for that."), nil
	}
	r := tool.Said("These can be called now:\n%s", strings.Join(lines, "\n"))
	r.Loads = names
	return r, nil
}

func describes(t tool.Tool, query string) bool {
	words := strings.FieldsFunc(query, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
	about := strings.ToLower(t.Name + " " + t.Description)
	return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(about, w) })
}

func (a *Agent) task(ctx context.Context, call tool.Call) (tool.Result, error) {
	prompt := text(string(call.Arguments), "prompt")
	if strings.TrimSpace(prompt) == "" {
		return tool.Result{}, errors.New("the prompt is empty")
	}
	report, err := newHelper(a, prompt).run(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Said("%s", report), nil
}
