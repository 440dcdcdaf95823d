package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
)

const conversationInstructions = `Two tools keep this conversation short. Before a long exploration whose details you will not need afterwards
(reading many files, searching, trying things out), call checkpoint with its goal. When you know what you wanted to know, call rewind
with a concise report: what you found, where, and what is still open. The report takes the place of everything since the checkpoint.
Call rewind before you yield to the user. Only the top-level conversation can use them; files are not changed by either.`

// ServeConversation serves checkpoint and rewind; without enabled it serves no
// tool. It returns when the client is gone.
func ServeConversation(ctx context.Context, o Options, enabled bool) error {
	if !enabled {
		return serve(ctx, o, "", nil)
	}
	return serve(ctx, o, conversationInstructions, []tool{
		o.conversationTool(conversation.ToolCheckpoint),
		o.conversationTool(conversation.ToolRewind),
	})
}

// conversationTool is one of the two: its one argument goes to the daemon, which
// knows whose call it is.
func (o Options) conversationTool(name conversation.Tool) tool {
	told := name.Told()
	argument := told.Argument
	no := false
	t := tool{Tool: sdk.Tool{
		Name: string(name), Description: told.Description,
		InputSchema: object([]string{argument}, map[string]property{argument: {Type: "string", Description: told.About}}),
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no},
	}}
	t.answer = func(ctx context.Context, r *sdk.CallToolRequest) (answer, error) {
		var given map[string]any
		if err := arguments(r, &given); err != nil {
			return answer{}, err
		}
		text, isText := given[argument].(string)
		if _, there := given[argument]; there && !isText {
			return answer{}, api.Errorf(api.CodeInvalidParams, "%s has to be a text", argument)
		}
		var result api.ConversationCallResult
		params := api.ConversationCallParams{Tool: string(name), Text: text, Caller: o.caller(r), Dir: o.Dir}
		if err := o.Caller.Call(ctx, "conversation-call", params, &result, nil); err != nil {
			return answer{}, err
		}
		a := answer{texts: result.Texts, failed: result.IsError}
		if len(result.Details) > 0 && !o.isAgent(r) {
			a.details = result.Details
		}
		return a, nil
	}
	return t
}

// caller says whose call it is by what the client says of it, and nothing else:
// the environment of Claude Code's servers names the session that they were
// started in, which may be another by now.
func (o Options) caller(r *sdk.CallToolRequest) api.ConversationCaller {
	meta := r.Params.Meta
	text := func(name string) string {
		s, _ := meta[name].(string)
		return s
	}
	switch {
	case text("claudecode/toolUseId") != "":
		return api.ConversationCaller{Agent: "claude", ToolUseID: text("claudecode/toolUseId")}
	case text("threadId") != "":
		return api.ConversationCaller{
			Agent: "codex", Session: text("threadId"), ToolUseID: text("callId"), Launch: o.Launch,
			Subagent: isSubthread(meta["x-codex-turn-metadata"], text("threadId")),
		}
	case isClaude(r):
		return api.ConversationCaller{Agent: "claude"}
	case text("turnback/session") != "":
		return api.ConversationCaller{Session: sessionName(text("turnback/session"))}
	}
	return api.ConversationCaller{Launch: o.Launch}
}

// longestName is how long the name of a session may be, in bytes.
const longestName = 200

// sessionName lets a name pass that a row of a list can hold.
func sessionName(name string) string {
	if len(name) > longestName || strings.ContainsFunc(name, unicode.IsControl) {
		return ""
	}
	return name
}

// isSubthread says whether Codex's turn metadata names another session than the
// thread: that of the root, whose subagent calls. It comes as an object or as
// the text of one.
func isSubthread(metadata any, thread string) bool {
	if text, ok := metadata.(string); ok {
		var object map[string]any
		if json.Unmarshal([]byte(text), &object) != nil {
			return false
		}
		metadata = object
	}
	object, _ := metadata.(map[string]any)
	session, _ := object["session_id"].(string)
	return session != "" && session != thread
}

func isClaude(r *sdk.CallToolRequest) bool { return strings.HasPrefix(clientName(r), "claude") }

func clientName(r *sdk.CallToolRequest) string {
	if info := r.ClientInfo(); info != nil {
		return strings.ToLower(info.Name)
	}
	return ""
}

// isAgent says whether a model reads the results. Given details beside the
// texts, some agents show it the details alone, and what it is to do next is
// lost.
func (o Options) isAgent(r *sdk.CallToolRequest) bool {
	if c := o.caller(r); c.Agent != "" || c.Launch != "" {
		return true
	}
	for _, agent := range []string{"codex", "gemini", "copilot", "opencode"} {
		if strings.Contains(clientName(r), agent) {
			return true
		}
	}
	return false
}
