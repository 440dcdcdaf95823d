//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// What the model calls the tools.
const (
	toolCheckpoint = "mcp__turnback__checkpoint"
	toolRewind     = "mcp__turnback__rewind"
)

// calls is a reply that calls one tool.
func calls(name string, input map[string]any) fakemodel.Entry {
	return fakemodel.Entry{Content: []fakemodel.Block{fakemodel.Tool(name, input)}}
}

// explores is a span: a checkpoint, a look around that prints a mark, and a
// rewind to a report.
func explores(goal, mark, report string) []fakemodel.Entry {
	return []fakemodel.Entry{
		calls("ToolSearch", map[string]any{"query": "select:" + toolCheckpoint + "," + toolRewind, "max_results": 5}),
		calls(toolCheckpoint, map[string]any{"goal": goal}),
		calls("Bash", map[string]any{"command": "echo " + mark, "description": "look around"}),
		calls(toolRewind, map[string]any{"report": report}),
	}
}

// agentNamed gives an agent the name by which turnback knows it.
func (w *world) agentNamed(name, program string) string {
	w.t.Helper()
	path := filepath.Join(w.run, name)
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", program)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// runClaude asks the CLI for one prompt through `turnback run --conversation`.
func (w *world) runClaude(prompt string, args ...string) string {
	w.t.Helper()
	args = w.claudeArgs(append([]string{"-p", prompt, "--output-format", "json", "--dangerously-skip-permissions"}, args...)...)
	args = append([]string{"run", "--conversation", "--", w.agentNamed("claude", w.tools.claude)}, args...)
	stdout, stderr, code := w.command(w.tools.turnback, args...)
	var result struct {
		Result  string `json:"result"`
		IsError bool   `json:"is_error"`
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != 0 || result.IsError {
		w.t.Fatalf("turnback run -- claude -p %q: exit %d, %v\nstdout: %s\nstderr: %s\nmodel:\n%s",
			prompt, code, err, stdout, stderr, fakemodel.Describe(w.model.Requests()))
	}
	return result.Session
}

// sent is the body of the newest main request that the model got.
func (w *world) sent() string {
	w.t.Helper()
	body := ""
	for _, r := range w.model.Requests() {
		if r.Kind == fakemodel.Main {
			body = string(r.Body)
		}
	}
	return body
}

// has says which of the marks the newest main request has.
func (w *world) wantSent(when string, has, hasNot []string) {
	w.t.Helper()
	body := w.sent()
	for _, mark := range has {
		if !strings.Contains(body, mark) {
			w.t.Errorf("%s: the request lacks %q", when, mark)
		}
	}
	for _, mark := range hasNot {
		if strings.Contains(body, mark) {
			w.t.Errorf("%s: the request still has %q", when, mark)
		}
	}
	if w.t.Failed() {
		w.t.Logf("%s: the request was\n%s", when, body)
	}
}

// TestClaudeCollapsesThroughTheProxy: the whole way, with the real CLI.
func TestClaudeCollapsesThroughTheProxy(t *testing.T) {
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	w.model.Add(explores("find it", "EXPLORED-ONE", "REPORT-ONE")...)
	w.model.Add(says("done"))
	session := w.runClaude("explore")
	w.wantSent("after the rewind", []string{"REPORT-ONE", "find it"}, []string{"EXPLORED-ONE"})

	w.model.Add(says("more"))
	w.runClaude("a later turn", "--resume", session)
	w.wantSent("a turn later", []string{"REPORT-ONE", "a later turn"}, []string{"EXPLORED-ONE"})

	w.model.Add(explores("find more", "EXPLORED-TWO", "REPORT-TWO")[1:]...)
	w.model.Add(says("done again"))
	w.runClaude("explore again", "--resume", session)
	w.wantSent("after the second rewind", []string{"REPORT-ONE", "REPORT-TWO"}, []string{"EXPLORED-ONE", "EXPLORED-TWO"})

	w.model.Add(says("the end"))
	w.runClaude("and another", "--resume", session)
	w.wantSent("two turns later", []string{"REPORT-ONE", "REPORT-TWO", "and another"}, []string{"EXPLORED-ONE", "EXPLORED-TWO"})

	var stats api.ConversationStatsResult
	w.turnbackJSON(&stats, "call", "conversation-stats")
	requests, tokens := 0, int64(0)
	for _, r := range w.model.Requests() {
		var body struct{ Messages json.RawMessage }
		if r.Kind == fakemodel.Main && json.Unmarshal(r.Body, &body) == nil {
			requests++
			tokens += int64(len(body.Messages)+3) / 4 // what the model's usage said
		}
	}
	if got := stats.Total; got.Requests != requests || got.TokensAfter != tokens || got.TokensBefore <= tokens {
		t.Errorf("stats %+v; the model counted %d tokens in %d requests", got, tokens, requests)
	}
}

// TestClaudeAtTheTerminalThroughTheProxy: what a person types inside a span stays,
// and /clear begins a conversation in which the tools work anew.
func TestClaudeAtTheTerminalThroughTheProxy(t *testing.T) {
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	search := calls("ToolSearch", map[string]any{"query": "select:" + toolCheckpoint + "," + toolRewind, "max_results": 5})
	gate, begun := filepath.Join(w.run, "gate"), filepath.Join(w.run, "begun")
	w.model.Add(
		search, calls(toolCheckpoint, map[string]any{"goal": "find it"}),
		calls("Bash", map[string]any{"command": "echo EXPLORED-ONE; touch '" + begun + "'; until [ -e '" + gate + "' ]; do sleep 0.1; done", "description": "look around"}),
		calls(toolRewind, map[string]any{"report": "REPORT-ONE"}), says("first done"),
	)
	term := w.open(w.tools.turnback, append(
		[]string{"run", "--conversation", "--", w.agentNamed("claude", w.tools.claude)},
		w.claudeArgs("--permission-mode", "manual", "--allowedTools=Bash,ToolSearch")...,
	)...)
	term.waitFor(0, "manual mode")
	term.submit("explore")
	w.eventually("the look around", func() bool { _, err := os.Stat(begun); return err == nil })
	term.submit("TYPED-AHEAD words")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.turnEnds(1)
	w.wantSent("after the rewind", []string{"REPORT-ONE", "TYPED-AHEAD"}, []string{"EXPLORED-ONE"})

	w.model.Add(says("second done"))
	term.submit("and a later turn")
	w.turnEnds(2)
	w.wantSent("a turn later", []string{"REPORT-ONE", "TYPED-AHEAD", "and a later turn"}, []string{"EXPLORED-ONE"})

	term.submit("/clear")
	w.eventually("the new session", func() bool { return w.hookCount("SessionStart") >= 2 })
	w.model.Add(
		search, calls(toolCheckpoint, map[string]any{"goal": "find more"}),
		calls("Bash", map[string]any{"command": "echo EXPLORED-TWO", "description": "look again"}),
		calls(toolRewind, map[string]any{"report": "REPORT-TWO"}), says("third done"),
	)
	term.submit("explore anew")
	w.turnEnds(3)
	w.wantSent("after /clear and another span", []string{"REPORT-TWO", "explore anew"}, []string{"REPORT-ONE", "TYPED-AHEAD", "EXPLORED-TWO"})
}

// TestClaudeSearchesTheWebInsideASpan: the CLI does so by a request of its own under
// the session's id, without the history. The checkpoint is not lost by it.
func TestClaudeSearchesTheWebInsideASpan(t *testing.T) {
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	span := explores("find it", "EXPLORED-ONE", "REPORT-ONE")
	w.model.Add(span[:3]...)
	w.model.Add(calls("ToolSearch", map[string]any{"query": "select:WebSearch", "max_results": 5}))
	w.model.Add(fakemodel.Entry{Content: []fakemodel.Block{
		fakemodel.Tool("WebSearch", map[string]any{"query": "release notes"}),
		fakemodel.Tool(toolRewind, map[string]any{"report": "REPORT-ONE"}),
	}})
	w.model.Add(says("found nothing"), says("done"))
	w.runClaude("explore")
	w.wantSent("after the rewind", []string{"REPORT-ONE", "found nothing"}, []string{"EXPLORED-ONE"})
}
