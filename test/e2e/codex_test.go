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
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// codexWorld is a world with Codex in place of Claude Code, and a model that
// speaks Responses.
type codexWorld struct {
	*world
	responses *fakemodel.Responses
}

func newCodexWorld(t *testing.T) *codexWorld {
	t.Helper()
	program := os.Getenv("TURNBACK_E2E_CODEX")
	if !filepath.IsAbs(program) {
		t.Fatal("set TURNBACK_E2E_CODEX to an absolute path, or run: make e2e")
	}
	w := &codexWorld{&world{t: t, repo: gittest.NewCommitted(t, map[string]string{"a.txt": "one\n"}), run: shortDir(t)}, fakemodel.StartResponses(t)}
	w.model = fakemodel.Start(t) // asked for nothing
	w.tools = programs{turnback: os.Getenv("TURNBACK_E2E_BIN")}
	w.writeHome(".codex/config.toml", fmt.Sprintf(`model = "mock"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = %q
wire_api = "responses"
[features]
plugins = false
[analytics]
enabled = false
`, w.responses.URL))
	t.Cleanup(w.stopDaemon)
	w.agentNamed("codex", program)
	return w
}

// exec runs Codex for one prompt through `turnback run --conversation`, and
// returns the id of its thread.
func (w *codexWorld) exec(args ...string) string {
	w.t.Helper()
	args = append([]string{"run", "--conversation", "--", filepath.Join(w.run, "codex"), "exec"}, args...)
	stdout, stderr, code := w.command(w.tools.turnback, args...)
	var thread string
	for line := range strings.Lines(stdout) {
		var e struct {
			Type   string `json:"type"`
			Thread string `json:"thread_id"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "thread.started" {
			thread = e.Thread
		}
	}
	if code != 0 || thread == "" || strings.Contains(stdout, `"turn.failed"`) {
		w.t.Fatalf("codex exec: exit %d\nstdout: %s\nstderr: %s\nproblems: %q", code, stdout, stderr, w.responses.Problems())
	}
	return thread
}

func (w *codexWorld) wantSent(when string, has, hasNot []string) {
	w.t.Helper()
	requests := w.responses.Requests()
	body := string(requests[len(requests)-1].Body)
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
		_, input, _ := strings.Cut(body, `"input":`)
		w.t.Fatalf("%s: the request's input was\n%s", when, input)
	}
}

func codexCalls(namespace, name string, arguments map[string]any) fakemodel.ResponsesReply {
	return fakemodel.ResponsesReply{Calls: []fakemodel.ResponsesCall{{Namespace: namespace, Name: name, Arguments: arguments}}}
}

func codexOpens(goal string) fakemodel.ResponsesReply {
	return codexCalls("mcp__turnback", "checkpoint", map[string]any{"goal": goal})
}

func codexCloses(report string) fakemodel.ResponsesReply {
	return codexCalls("mcp__turnback", "rewind", map[string]any{"report": report})
}

func codexShell(command string) fakemodel.ResponsesReply {
	return codexCalls("", "exec_command", map[string]any{"cmd": command})
}

func (w *codexWorld) explores(goal, mark, report string) {
	w.responses.Add(codexOpens(goal), codexShell("echo "+mark), codexShell("echo "+mark), codexCloses(report), fakemodel.ResponsesReply{Text: "done"})
}

// TestCodexCollapsesThroughTheProxy: the whole way, with the real Codex.
func TestCodexCollapsesThroughTheProxy(t *testing.T) {
	w := newCodexWorld(t)
	w.explores("find it", "EXPLORED-ONE", "REPORT-ONE")
	thread := w.exec("--json", "-s", "danger-full-access", "explore")
	w.wantSent("after the rewind", []string{"REPORT-ONE", "find it"}, []string{"EXPLORED-ONE"})

	w.exec("resume", thread, "--json", "a later turn")
	w.wantSent("a turn later", []string{"REPORT-ONE", "a later turn"}, []string{"EXPLORED-ONE"})

	w.explores("find more", "EXPLORED-TWO", "REPORT-TWO")
	w.exec("resume", thread, "--json", "explore again")
	w.wantSent("after the second rewind", []string{"REPORT-ONE", "REPORT-TWO"}, []string{"EXPLORED-ONE", "EXPLORED-TWO"})

	if problems := w.responses.Problems(); len(problems) > 0 || w.responses.Pending() > 0 {
		t.Errorf("problems %q, %d replies were not asked for", problems, w.responses.Pending())
	}
	var stats api.ConversationStatsResult
	w.turnbackJSON(&stats, "call", "conversation-stats")
	if len(stats.Sessions) != 1 || stats.Sessions[0].Session != thread || stats.Sessions[0].Agent != "codex" || stats.Sessions[0].Rewinds != 2 {
		t.Errorf("stats: %+v", stats)
	}
}

// TestCodexUsesNoWebSocketBeforeTheProxy: what would go over one is collapsed by
// nobody, so it is off for the process, whatever the person's configuration says.
func TestCodexUsesNoWebSocketBeforeTheProxy(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	config := filepath.Join(w.repo.Home, ".codex/config.toml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	w.writeHome(".codex/config.toml", "\ufeff"+strings.Replace(string(text), "[features]", "supports_websockets = true\n[features]", 1))
	stdout, stderr, _ := w.command(filepath.Join(w.run, "codex"), "exec", "--json", "-s", "danger-full-access", "hello")
	asked := w.responses.Upgrades()
	if asked == 0 {
		t.Fatalf("started by itself it asks for no WebSocket, so this test shows nothing\nstdout: %s\nstderr: %s", stdout, stderr)
	}
	w.exec("--json", "-s", "danger-full-access", "hello")
	if n := w.responses.Upgrades() - asked; n > 0 {
		t.Errorf("it asked for a WebSocket %d times", n)
	}
}

// TestCodexSubagentsAreRefused: a subagent can use neither tool, and the span in
// which it worked collapses.
func TestCodexSubagentsAreRefused(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	config := filepath.Join(w.repo.Home, ".codex/config.toml")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	inSub := func(r fakemodel.ResponsesReply) fakemodel.ResponsesReply {
		r.Sub = true
		return r
	}
	w.responses.Add(
		codexOpens("find it"), codexCalls("multi_agent_v1", "spawn_agent", map[string]any{"message": "look around"}),
		inSub(codexOpens("mine")), inSub(codexCloses("mine")), inSub(codexShell("touch sub-done")), inSub(fakemodel.ResponsesReply{Text: "SUB-SAYS"}),
		codexShell("until [ -e sub-done ]; do sleep 0.1; done; echo EXPLORED"), codexCloses("REPORT"), fakemodel.ResponsesReply{Text: "done"},
	)
	thread := w.exec("--json", "-s", "danger-full-access", "explore")
	var subs strings.Builder
	for _, r := range w.responses.Requests() {
		if r.Sub {
			subs.Write(r.Body)
		}
	}
	for _, refusal := range []string{"Checkpoint not available in subagents.", "Rewind not available in subagents."} {
		if !strings.Contains(subs.String(), refusal) {
			t.Errorf("no subagent's request has %q", refusal)
		}
	}
	w.exec("resume", thread, "--json", "a later turn")
	w.wantSent("a turn later", []string{"REPORT", "find it", "a later turn"}, []string{"EXPLORED", "touch sub-done"})
	if problems := w.responses.Problems(); len(problems) > 0 || w.responses.Pending() > 0 {
		t.Errorf("problems %q, %d replies were not asked for", problems, w.responses.Pending())
	}
	// Codex itself writes which folders it trusts, and nothing of ours.
	after, err := os.ReadFile(config)
	if err != nil || !strings.HasPrefix(string(after), string(before)) || strings.Contains(strings.ToLower(string(after)), "turnback_") || strings.Contains(string(after), "mcp_servers") {
		t.Errorf("the configuration is %s, %v", after, err)
	}
}

// TestCodexIsRemindedThreeTimes: a model that comes to rest in a span is told so
// three times, and no more.
func TestCodexIsRemindedThreeTimes(t *testing.T) {
	t.Parallel()
	w := newCodexWorld(t)
	says := func(text string) fakemodel.ResponsesReply { return fakemodel.ResponsesReply{Text: text} }
	w.responses.Add(codexOpens("find it"), says("one"), says("two"), says("three"), says("four"))
	thread := w.exec("--json", "-s", "danger-full-access", "explore")
	requests := w.responses.Requests()
	last := string(requests[len(requests)-1].Body)
	if n := strings.Count(last, "A checkpoint is active."); n != 3 || !strings.Contains(last, "This is the last reminder.") || w.responses.Pending() > 0 {
		t.Errorf("%d reminders, %d replies not asked for:\n%s", n, w.responses.Pending(), last)
	}
	w.responses.Add(codexShell("echo EXPLORED"), codexCloses("REPORT"), says("closed"))
	w.exec("resume", thread, "--json", "go on")
	w.wantSent("after the rewind", []string{"REPORT", "go on", "four"}, []string{"A checkpoint is active.", "EXPLORED", `\nthree`})
	if problems := w.responses.Problems(); len(problems) > 0 {
		t.Errorf("problems %q", problems)
	}
}
