package loop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
	"github.com/turnback/turnback/internal/coder/tool"
)

// maxSteps bounds how often the model of a task is asked.
const maxSteps = 200

const helperRules = "You are a helper with one task. Nobody answers questions. End with a report of what you found or did: it is all that is read of you."

// helper is a subagent: the same model and tools, a conversation of its own that
// is gone with it.
type helper struct {
	agent    *Agent
	tools    []tool.Tool
	messages []session.Message
}

func newHelper(a *Agent, prompt string) *helper {
	bench := *a.o.Bench
	bench.Shown = tool.NewShown()
	return &helper{agent: a, tools: bench.Tools(), messages: []session.Message{session.UserMessage(prompt)}}
}

func (h *helper) run(ctx context.Context) (string, error) {
	r := provider.Request{System: h.agent.o.System + "\n\n" + helperRules}
	for _, t := range h.tools {
		r.Tools = append(r.Tools, t.Tool)
	}
	for range maxSteps {
		r.Messages = h.messages
		reply, err := h.agent.o.Model.Answer(ctx, r, func(string) {})
		if err != nil {
			return "", err
		}
		h.messages = append(h.messages, reply.Message)
		calls := reply.Message.Calls()
		switch text := reply.Message.JoinedText(); {
		case len(calls) > 0:
		case reply.Declined:
			return "", provider.Declined(reply)
		case text == "":
			return "", provider.Empty(reply)
		default:
			return text, nil
		}
		results := session.Message{Role: session.RoleTool}
		for _, call := range calls {
			results.Parts = append(results.Parts, h.call(ctx, call))
		}
		h.messages = append(h.messages, results)
	}
	return "", errors.New("the helper did not come to an end")
}

func (h *helper) call(ctx context.Context, call session.Part) session.Part {
	if h.agent.isOwn(call.Name) {
		return refuse(call)
	}
	result := session.Part{Kind: session.KindResult, CallID: call.CallID}
	i := slices.IndexFunc(h.tools, func(t tool.Tool) bool { return t.Name == call.Name })
	if i < 0 {
		fail(&result, errors.New("there is no tool "+call.Name))
		return result
	}
	t := h.tools[i]
	line := "task: " + t.Line(json.RawMessage(call.Arguments))
	h.agent.face.with(func(f Face) { f.Calling(call.CallID, call.Name, line, []byte(call.Arguments)) })
	h.agent.runTool(ctx, t, call, &result)
	h.agent.face.with(func(f Face) { f.Called(call.CallID, call.Name, textOf(result.Content), result.IsError) })
	// A picture that a helper reads lives in its own conversation, not in a file.
	return result
}

// refuse answers a helper's call of checkpoint or rewind.
func refuse(call session.Part) session.Part {
	var nobodys conversation.State
	c := conversation.Call{ID: call.CallID, Subagent: true}
	var r conversation.Result
	var err error
	if conversation.Tool(call.Name) == conversation.ToolCheckpoint {
		r, err = nobodys.Checkpoint(c)
	} else {
		r, err = nobodys.Rewind(c)
	}
	return session.Answer(call.CallID, r, err)
}
