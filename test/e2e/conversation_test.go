//go:build e2e

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// talk runs the CLI for one prompt with the MCP servers of the person's own
// configuration, and without leave to do anything that is not allowed there.
func (w *world) talk(prompt string, args ...string) string {
	w.t.Helper()
	args = append(w.claudeArgs("-p", prompt, "--output-format", "json", "--permission-mode", "default"), args...)
	stdout, stderr, code := w.command(w.tools.claude, args...)
	var result struct {
		Result  string `json:"result"`
		IsError bool   `json:"is_error"`
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != 0 || result.IsError {
		w.t.Fatalf("claude -p %q: exit %d, %v\nstdout: %s\nstderr: %s\nmodel:\n%s",
			prompt, code, err, stdout, stderr, fakemodel.Describe(w.model.Requests()))
	}
	return result.Result
}

func checkpoint(goal string) fakemodel.Block {
	return fakemodel.Tool("mcp__turnback__checkpoint", map[string]any{"goal": goal})
}

func rewind(report string) fakemodel.Block {
	return fakemodel.Tool("mcp__turnback__rewind", map[string]any{"report": report})
}

// news is the JSON of a request's history as far as the model has not answered it.
func news(r fakemodel.Request) string {
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return ""
	}
	var text string
	for _, m := range body.Messages {
		if text += string(m); strings.Contains(string(m), `"role":"assistant"`) {
			text = ""
		}
	}
	return text
}

// lastNews is the news of the newest request of a kind.
func (w *world) lastNews(kind fakemodel.Kind) string {
	w.t.Helper()
	requests := w.model.Requests()
	for _, r := range slices.Backward(requests) {
		if r.Kind == kind {
			return news(r)
		}
	}
	w.t.Fatalf("there is no request of kind %s", kind)
	return ""
}

// A model marks its conversation, explores, and rewinds, through the CLI with
// hooks and the MCP server and nothing else.
func TestConversationInClaudeCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	w.turnback("setup", "claude", "--conversation", "--yes")
	w.ownServers = true

	w.model.Add(
		does(checkpoint("find out"), checkpoint("in the same batch")),
		does(w.read("a.txt")),
		does(rewind("a.txt holds one")),
		does(rewind("again")),
		says("Done."),
	)
	if got := w.talk("Explore", "--session-id", session); got != "Done." {
		t.Errorf("the CLI answered %q", got)
	}
	var results []string
	for _, r := range w.model.Requests() {
		if r.Kind == fakemodel.Main {
			results = append(results, news(r))
		}
	}
	for i, want := range [][]string{
		1: {`Checkpoint created.\nGoal: find out\nRun your investigation, then call rewind with a concise report.`, `Checkpoint already active.`},
		3: {`Rewind requested.\nReport captured for context replacement.`, `Files changed since the checkpoint: none (work-tree checkpoint 1)\n` + conversation.NoProxyNote},
		4: {`Checkpoint already completed; continue from the retained report instead of calling rewind again.`},
	} {
		for _, text := range want {
			if !strings.Contains(results[i], text) {
				t.Errorf("request %d does not hold %q:\n%s", i, text, results[i])
			}
		}
		if strings.Contains(results[i], "startedAt") {
			t.Errorf("request %d holds details, which hide the texts:\n%s", i, results[i])
		}
	}
	w.wantCheckpoints(`1 turn 1 conversation working base: "find out"`)

	// Another process of the CLI and of the server, and another daemon.
	w.stopDaemon()
	w.model.Add(does(checkpoint("second")), says("Resting."), says("Resting."), says("Resting."), says("Resting."))
	w.talk("Again", "--resume", session)
	w.wantReminders(3)
	w.model.Add(does(rewind("found")), says("Over."))
	w.talk("Go on", "--resume", session)
	if news := w.lastNews(fakemodel.Main); !strings.Contains(news, "Rewind requested.") {
		t.Errorf("after a restart the rewind got:\n%s", news)
	}
	var list api.ConversationListResult
	if err := json.Unmarshal([]byte(w.turnback("call", "conversation-list", "{}")), &list); err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if s := list.Sessions[0]; s.Session != session || s.Checkpoints != 2 || s.Rewinds != 2 || s.Open != nil {
		t.Errorf("%+v", s)
	}
}

// wantReminders counts the reminders in the newest request.
func (w *world) wantReminders(want int) {
	w.t.Helper()
	requests := w.model.Requests()
	last := requests[len(requests)-1]
	history := string(last.Body)
	if got := strings.Count(history, "A checkpoint is active."); got != want {
		w.t.Errorf("the model was reminded %d times, want %d\n%s", got, want, fakemodel.Describe(requests))
	}
}

// A subagent's call is refused; the top level goes on with its checkpoint.
func TestConversationIsNotForSubagents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	w.turnback("setup", "claude", "--conversation", "--yes")
	w.ownServers = true
	w.model.Add(
		does(checkpoint("find out")),
		does(subagent("look around", false)),
		inSubagent(does(checkpoint("mine"))),
		inSubagent(does(rewind("theirs"))),
		inSubagent(says("I could not.")),
		does(rewind("nothing there")),
		says("Done."),
	)
	w.talk("Explore", "--session-id", session)
	var heard []string
	for _, r := range w.model.Requests() {
		if r.Kind == fakemodel.Sub {
			heard = append(heard, news(r))
		}
	}
	if len(heard) != 3 || !strings.Contains(heard[1], conversation.ErrCheckpointInSubagent.Error()) || !strings.Contains(heard[2], conversation.ErrRewindInSubagent.Error()) {
		t.Errorf("the subagent heard\n%s", strings.Join(heard, "\n"))
	}
	if news := w.lastNews(fakemodel.Main); !strings.Contains(news, "Rewind requested.") {
		t.Errorf("the top level's rewind got:\n%s", news)
	}
}

// One sitting: a session is cleared with its checkpoint open, and the same MCP
// server then answers for another session; a compaction loses that one's.
func TestConversationOverAClearAndACompaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "one\n"})
	w.turnback("setup", "claude", "--conversation", "--yes")
	w.ownServers = true
	term := w.start()
	term.waitFor(0, "shortcuts")

	rest := []fakemodel.Entry{says("One."), says("Two."), says("Three."), says("Four.")}
	w.model.Add(append([]fakemodel.Entry{does(checkpoint("left open"))}, rest...)...)
	term.submit("explore")
	w.eventually("the last reminder", func() bool { return w.hookCount("Stop") == 4 })
	term.waitFor(0, "is still open, after 3 reminders")
	first := lastOf(w.hooks(), "Stop").Session

	term.submit("/clear")
	w.eventually("the session to be cleared", func() bool { return w.lastSource() == "clear" })
	w.model.Add(append([]fakemodel.Entry{does(checkpoint("in a new session"))}, rest...)...)
	term.submit("explore again")
	w.eventually("the last reminder", func() bool { return w.hookCount("Stop") == 8 })
	if last := lastOf(w.hooks(), "Stop").Session; last == first {
		t.Fatalf("/clear went on with session %s", first)
	}
	var list api.ConversationListResult
	w.turnbackJSON(&list, "conversation", "list")
	if len(list.Sessions) != 2 || list.Sessions[0].Open == nil || list.Sessions[0].Open.Goal != "in a new session" || list.Sessions[1].Open.Goal != "left open" {
		t.Fatalf("%+v", list.Sessions)
	}

	w.model.Add(fakemodel.Entry{Kind: fakemodel.Main, Content: fakemodel.Say("<summary>What was said.</summary>")})
	from := term.size()
	term.submit("/compact")
	term.waitFor(from, "SessionStart:compact says")
	var after api.ConversationListResult
	w.turnbackJSON(&after, "conversation", "list")
	if s := after.Sessions[0]; !s.Lost || s.Open != nil {
		t.Errorf("after the compaction: %+v", s)
	}
	w.model.Add(does(rewind("too late")), says("I see."))
	term.submit("go on")
	w.eventually("the rewind's answer", func() bool { return w.hookCount("Stop") == 9 })
	if news := w.lastNews(fakemodel.Main); !strings.Contains(news, conversation.ErrLost.Error()) {
		t.Errorf("the rewind got:\n%s", news)
	}
	term.submit("/exit")
	term.waitExit()
}
