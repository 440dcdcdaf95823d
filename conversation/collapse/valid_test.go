package collapse_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/conversation/collapse"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// problemsOf is what a provider would refuse in a body; nothing when it would
// take it.
func problemsOf(p collapse.Provider, body []byte) []string {
	switch p {
	case collapse.Anthropic:
		return anthropicProblems(body)
	case collapse.Chat:
		return chatProblems(body)
	case collapse.Responses:
		return responsesProblems(body)
	case collapse.Pi, collapse.OpenCode:
		return inProcessProblems(body)
	default:
		return geminiProblems(body)
	}
}

// anthropicProblems are those of the scripted model, and that roles alternate:
// a system message only behind a user's, before the assistant's or the end.
func anthropicProblems(body []byte) []string {
	var b fakemodel.Body
	if err := json.Unmarshal(body, &b); err != nil {
		return []string{err.Error()}
	}
	problems := fakemodel.Validate(b)
	before, said := "", ""
	for i, m := range b.Messages.List {
		if m.Role == "system" && before != "user" {
			problems = append(problems, fmt.Sprintf("messages.%d: system behind %q", i, before))
		}
		if m.Role != "system" {
			if m.Role == said {
				problems = append(problems, fmt.Sprintf("messages.%d: %s twice", i, m.Role))
			}
			said = m.Role
		}
		before = m.Role
	}
	return problems
}

func chatProblems(body []byte) []string {
	var b struct {
		Messages []struct {
			Role      string
			Content   json.RawMessage
			CallID    string                `json:"tool_call_id"`
			ToolCalls []struct{ ID string } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return []string{err.Error()}
	}
	var problems, open []string
	for i, m := range b.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.CallID)
			if at < 0 {
				problems = append(problems, fmt.Sprintf("messages.%d: result %s without its call right before", i, m.CallID))
				continue
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			problems = append(problems, fmt.Sprintf("messages.%d: calls %v have no result", i, open))
		}
		open = nil
		if m.Role == "assistant" {
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		}
		if content := string(m.Content); content == "[]" || content == "" && m.Role != "assistant" {
			problems = append(problems, fmt.Sprintf("messages.%d: empty", i))
		}
	}
	if len(open) > 0 {
		problems = append(problems, fmt.Sprintf("end: calls %v have no result", open))
	}
	return problems
}

func responsesProblems(body []byte) []string {
	var b struct {
		Input []struct {
			Type, Role string
			CallID     string `json:"call_id"`
			Content    json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return []string{err.Error()}
	}
	var problems []string
	calls, results := map[string]int{}, map[string]int{}
	for i, item := range b.Input {
		switch {
		case strings.HasSuffix(item.Type, "_call") && item.CallID != "":
			calls[item.CallID]++
		case strings.HasSuffix(item.Type, "_output") && item.CallID != "":
			results[item.CallID]++
			if calls[item.CallID] == 0 {
				problems = append(problems, fmt.Sprintf("input.%d: result %s before its call", i, item.CallID))
			}
		case item.Type == "reasoning":
			if i+1 == len(b.Input) || b.Input[i+1].Role != "assistant" && b.Input[i+1].Type != "reasoning" && !strings.HasSuffix(b.Input[i+1].Type, "_call") {
				problems = append(problems, fmt.Sprintf("input.%d: reasoning without what it led to", i))
			}
		}
		if string(item.Content) == "[]" {
			problems = append(problems, fmt.Sprintf("input.%d: empty", i))
		}
	}
	for id, n := range calls {
		if n != 1 || results[id] != 1 {
			problems = append(problems, fmt.Sprintf("call %s comes %d times, its result %d", id, n, results[id]))
		}
	}
	return problems
}

func geminiProblems(body []byte) []string {
	var b struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Call     *struct{ Name string } `json:"functionCall"`
				Response *struct{ Name string } `json:"functionResponse"`
			}
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return []string{err.Error()}
	}
	var problems, open []string
	for i, c := range b.Contents {
		var calls, results []string
		for _, p := range c.Parts {
			if p.Call != nil {
				calls = append(calls, p.Call.Name)
			}
			if p.Response != nil {
				results = append(results, p.Response.Name)
			}
		}
		if len(c.Parts) == 0 {
			problems = append(problems, fmt.Sprintf("contents.%d: no parts", i))
		}
		if !slices.Equal(results, open) {
			problems = append(problems, fmt.Sprintf("contents.%d: results %v for the calls %v", i, results, open))
		}
		if len(calls) > 0 && i == 0 {
			problems = append(problems, "contents.0: calls without a question")
		}
		open = calls
	}
	if len(open) > 0 {
		problems = append(problems, fmt.Sprintf("end: calls %v have no result", open))
	}
	return problems
}
