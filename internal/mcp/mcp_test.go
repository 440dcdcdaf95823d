package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/mcp"
)

// daemon answers verbs as the test says and remembers what it was asked.
type daemon struct {
	mu     sync.Mutex
	asked  []string // verb and parameters
	answer func(verb string, params []byte) (any, error)
}

func (d *daemon) Call(_ context.Context, verb string, params, result any, _ func(api.Progress)) error {
	given, err := json.Marshal(params)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.asked = append(d.asked, verb+" "+string(given))
	d.mu.Unlock()
	value, err := d.answer(verb, given)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// connect is a client called name of a server.
func connect(t *testing.T, name string, o mcp.Options, serve func(context.Context, mcp.Options) error) *sdk.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	o.In, o.Out, o.Dir = fromClient, toClient, "/home/u/src/api"
	var served sync.WaitGroup
	served.Go(func() {
		if err := serve(t.Context(), o); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	client := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		served.Wait()
	})
	return session
}

func conversation(enabled bool) func(context.Context, mcp.Options) error {
	return func(ctx context.Context, o mcp.Options) error { return mcp.ServeConversation(ctx, o, enabled) }
}

func names(t *testing.T, s *sdk.ClientSession) []string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	slices.Sort(out)
	return out
}

func texts(r *sdk.CallToolResult) []string {
	var out []string
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			out = append(out, text.Text)
		}
	}
	return out
}

func TestToolsAreServedOnlyWhenEnabled(t *testing.T) {
	off := connect(t, "test", mcp.Options{}, conversation(false))
	if got := names(t, off); len(got) != 0 {
		t.Errorf("not enabled, and it serves %q", got)
	}
	on := connect(t, "test", mcp.Options{}, conversation(true))
	if diff := cmp.Diff([]string{"checkpoint", "rewind"}, names(t, on)); diff != "" {
		t.Error(diff)
	}
	instructions := on.InitializeResult().Instructions
	if !strings.Contains(instructions, "checkpoint") || !strings.Contains(instructions, "rewind") {
		t.Errorf("the instructions do not name the tools: %q", instructions)
	}
	list, err := on.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if _, always := tool.Meta["anthropic/alwaysLoad"]; always {
			t.Errorf("%s is never deferred", tool.Name)
		}
		text, err := json.Marshal(tool.InputSchema)
		argument := map[string]string{"checkpoint": "goal", "rewind": "report"}[tool.Name]
		if err != nil || !strings.Contains(string(text), `"required":["`+argument+`"]`) {
			t.Errorf("%s takes %s, %v", tool.Name, text, err)
		}
	}
	files := connect(t, "test", mcp.Options{}, mcp.ServeFiles)
	if diff := cmp.Diff([]string{"diff", "list", "restore", "show"}, names(t, files)); diff != "" {
		t.Error(diff)
	}
}

func TestWhoseCallItIs(t *testing.T) {
	tests := []struct {
		name, client, launch string
		meta                 sdk.Meta
		want                 api.ConversationCaller
	}{
		{"Claude Code", "claude-code", "l1", sdk.Meta{"claudecode/toolUseId": "toolu_1"}, api.ConversationCaller{Agent: "claude", ToolUseID: "toolu_1"}},
		{"Claude Code without an id is nobody, also in a launch", "claude-code", "l1", nil, api.ConversationCaller{Agent: "claude"}},
		{
			"Codex", "codex-mcp-client", "",
			sdk.Meta{"threadId": "th1", "callId": "c1", "x-codex-turn-metadata": map[string]any{"session_id": "th1", "turn_id": "t"}},
			api.ConversationCaller{Agent: "codex", Session: "th1", ToolUseID: "c1"},
		},
		{
			"a subagent of Codex", "codex-mcp-client", "",
			sdk.Meta{"threadId": "th2", "callId": "c1", "x-codex-turn-metadata": `{"session_id":"th1"}`},
			api.ConversationCaller{Agent: "codex", Session: "th2", ToolUseID: "c1", Subagent: true},
		},
		{"an agent that says nothing, in a launch", "gemini-cli", "l1", nil, api.ConversationCaller{Launch: "l1"}},
		{"a script", "script", "", sdk.Meta{"turnback/session": "s1"}, api.ConversationCaller{Session: "s1"}},
		{"a script whose name is too long", "script", "", sdk.Meta{"turnback/session": strings.Repeat("s", 201)}, api.ConversationCaller{}},
		{"a script whose name no line can hold", "script", "l1", sdk.Meta{"turnback/session": "a\nb"}, api.ConversationCaller{}},
		{"nobody", "script", "", nil, api.ConversationCaller{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got api.ConversationCallParams
			d := &daemon{answer: func(_ string, params []byte) (any, error) {
				return api.ConversationCallResult{Texts: []string{"ok"}}, json.Unmarshal(params, &got)
			}}
			s := connect(t, test.client, mcp.Options{Caller: d, Launch: test.launch}, conversation(true))
			if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "checkpoint", Arguments: map[string]any{"goal": "g"}, Meta: test.meta}); err != nil {
				t.Fatal(err)
			}
			want := api.ConversationCallParams{Tool: "checkpoint", Text: "g", Caller: test.want, Dir: "/home/u/src/api"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersComeThroughAsTheyAre(t *testing.T) {
	results := map[string]api.ConversationCallResult{
		"g": {Texts: []string{"one", "two"}, Details: json.RawMessage(`{"goal":"g"}`)},
		"":  {Texts: []string{"Goal cannot be empty."}, IsError: true},
	}
	d := &daemon{answer: func(_ string, params []byte) (any, error) {
		var p api.ConversationCallParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		if p.Text == "no daemon" {
			return nil, api.Errorf(api.CodeNoDaemon, "no daemon is running").WithHint(api.Hint{Command: "turnback daemon start"})
		}
		return results[p.Text], nil
	}}
	for _, agent := range []string{"script", "claude-code", "codex-mcp-client", "gemini-cli-mcp-client"} {
		s := connect(t, agent, mcp.Options{Caller: d}, conversation(true))
		call := func(arguments any) *sdk.CallToolResult {
			t.Helper()
			r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "checkpoint", Arguments: arguments})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := call(map[string]any{"goal": "g"})
		if diff := cmp.Diff([]string{"one", "two"}, texts(r)); diff != "" || r.IsError {
			t.Errorf("%s: %+v %s", agent, r, diff)
		}
		// A model that is shown details beside a text reads the details alone.
		if details := r.StructuredContent != nil; details != (agent == "script") {
			t.Errorf("%s gets the details %v", agent, r.StructuredContent)
		}
		for _, arguments := range []map[string]any{{}, {"goal": ""}, nil} {
			if r := call(arguments); !r.IsError || texts(r)[0] != "Goal cannot be empty." || r.StructuredContent != nil {
				t.Errorf("%s, %v: %+v", agent, arguments, r)
			}
		}
		if r := call(map[string]any{"goal": 7}); !r.IsError || texts(r)[0] != "goal has to be a text" {
			t.Errorf("%s: %+v", agent, texts(r))
		}
		for _, arguments := range []any{"g", []string{"g"}} {
			if r := call(arguments); !r.IsError || texts(r)[0] != "the arguments are no JSON object" {
				t.Errorf("%s, %v: %q", agent, arguments, texts(r))
			}
		}
		if r := call(map[string]any{"goal": "no daemon"}); !r.IsError || texts(r)[0] != "no daemon is running\nTo see more: turnback daemon start" {
			t.Errorf("%s: %q", agent, texts(r))
		}
	}
}

func TestALongReportGetsItsProperRefusal(t *testing.T) {
	d := &daemon{answer: func(_ string, params []byte) (any, error) {
		return api.ConversationCallResult{Texts: []string{"Report too long."}, IsError: true}, nil
	}}
	s := connect(t, "script", mcp.Options{Caller: d}, conversation(true))
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "rewind", Arguments: map[string]any{"report": strings.Repeat("x", 20<<20)}})
	if err != nil || !r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}

// The server of files stays in the client's work tree and forces nothing.
func TestFilesOfTheOwnWorkTreeOnly(t *testing.T) {
	other := false
	d := &daemon{answer: func(verb string, params []byte) (any, error) {
		r := api.ListCheckpointsResult{Pane: api.Pane{Worktree: "/home/u/src/api"}}
		if verb == "restore-checkpoint" {
			return nil, api.Errorf(api.CodeNotReady, "another agent works in the tree").WithHint(api.Hint{Detail: "wait for it"})
		}
		if other && strings.Contains(string(params), `"window":"far"`) {
			r.Worktree = "/home/u/src/web"
		}
		return r, nil
	}}
	s := connect(t, "script", mcp.Options{Caller: d, PaneID: "0a1b2c3d", Parents: []int{7}}, mcp.ServeFiles)
	restore := func(arguments map[string]any) *sdk.CallToolResult {
		t.Helper()
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "restore", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := restore(map[string]any{"n": 2, "force": true, "here": true, "overwrite": true})
	if !r.IsError || texts(r)[0] != "another agent works in the tree\nwait for it" {
		t.Errorf("%q", texts(r))
	}
	want := `restore-checkpoint {"dir":"/home/u/src/api","pane_id":"0a1b2c3d","ancestors":[7],"n":2}`
	if got := d.asked[len(d.asked)-1]; got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
	other = true
	asked := len(d.asked)
	r = restore(map[string]any{"n": 2, "window": "far"})
	if !r.IsError || !strings.Contains(texts(r)[0], "another work tree") {
		t.Errorf("%q", texts(r))
	}
	for _, a := range d.asked[asked:] {
		if strings.HasPrefix(a, "restore") {
			t.Errorf("it asked for %s", a)
		}
	}
	if r := restore(map[string]any{}); !r.IsError {
		t.Errorf("without a number: %q", texts(r))
	}
}
