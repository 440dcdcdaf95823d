package conversation

import "strings"

// Tool is one of the two tools that a model is given.
type Tool string

// The tools, by the names that a model calls.
const (
	ToolCheckpoint Tool = "checkpoint" // takes a goal
	ToolRewind     Tool = "rewind"     // takes a report
)

// Told is what a model is told of a tool.
type Told struct {
	Description string
	Argument    string // its one argument, a text
	About       string // what the argument is for
	Snippet     string // the tool in a line
}

// Told words a tool for models.
func (t Tool) Told() Told {
	if t == ToolCheckpoint {
		return Told{
			Description: "Mark the conversation here before an exploration. A later rewind replaces everything that follows by a report. At most one checkpoint is open at a time; not available in subagents.",
			Argument:    "goal", About: "What the exploration is to find out.",
			Snippet: "mark the conversation before a long exploration",
		}
	}
	return Told{
		Description: "Replace everything since the open checkpoint by this report. Put in what you found and what later work needs; the rest is gone from your context. Files are not changed.",
		Argument:    "report", About: "The findings, concise and complete: at most 500,000 characters.",
		Snippet: "replace the exploration since the checkpoint by a report, before you yield to the user",
	}
}

// Host says who keeps the conversation, and with that which names a call of a
// tool has in it.
type Host int

// The hosts.
const (
	OtherAgent Host = iota // an agent that gets the tools from our MCP server or plugin
	OwnAgent               // `turnback agent`
)

// ParseToolName says which tool a call names. Namespace is the one that a call
// carries beside its name (Responses), empty where there is none. Names of other
// servers' tools are not ours, even when they end in the same word.
func ParseToolName(host Host, namespace, name string) (Tool, bool) {
	if host == OwnAgent {
		return tool(name, namespace == "")
	}
	if namespace != "" {
		return tool(name, strings.TrimSuffix(namespace, "__") == "mcp__turnback")
	}
	for _, prefix := range []string{"mcp__turnback__", "mcp_turnback_", "turnback_", "turnback-"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return tool(rest, true)
		}
	}
	// mcp__plugin_<P>_turnback__X: the name of a plugin is not known.
	server, rest, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	plugin, isPlugin := strings.CutPrefix(server, "plugin_")
	return tool(rest, ok && isPlugin && strings.HasSuffix(plugin, "_turnback") && strings.HasPrefix(name, "mcp__"))
}

func tool(name string, ours bool) (Tool, bool) {
	if t := Tool(name); ours && (t == ToolCheckpoint || t == ToolRewind) {
		return t, true
	}
	return "", false
}
