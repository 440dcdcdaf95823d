//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

func newOpenCodeWorld(t *testing.T) *pluginWorld {
	t.Helper()
	w := newPluginWorld(t, "opencode")
	config, err := json.Marshal(map[string]any{
		"$schema": "https://opencode.ai/config.json", // it would add that itself
		"provider": map[string]any{"mock": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "options": map[string]any{"baseURL": w.chat.URL, "apiKey": "dummy"},
			"models": map[string]any{"mock": map[string]any{}},
		}},
		"model": "mock/mock", "small_model": "mock/mock",
	})
	if err != nil {
		t.Fatal(err)
	}
	w.writeHome(".config/opencode/opencode.json", string(config))
	// With these it takes its package for plugins as installed, and asks no registry.
	w.writeHome(".config/opencode/package-lock.json", `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}}}`)
	w.writeHome(".config/opencode/node_modules/.none", "")
	w.chat.Add(titled())
	w.extra = []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
	return w
}

// opencode runs OpenCode for one prompt and returns what it printed.
func (w *pluginWorld) opencode(args ...string) (stdout, stderr string) {
	w.t.Helper()
	return w.agent("opencode", append([]string{"run", "--format", "json"}, args...)...)
}

// titled is the reply to each request for a title.
func titled() fakemodel.ChatReply {
	return fakemodel.ChatReply{Match: regexp.MustCompile("Generate a title"), Text: "A title", Keep: true}
}

func openCodeShell(command string) map[string]any {
	return map[string]any{"command": command, "description": "look around"}
}

// TestOpenCodeCollapsesInItself: the whole way, with the real OpenCode; each of
// its starts takes seconds. A subagent's calls are refused, and instructions that
// a read in the span loaded are still sent afterwards.
func TestOpenCodeCollapsesInItself(t *testing.T) {
	t.Parallel()
	w := newOpenCodeWorld(t)
	before := w.settingsOf(".config")
	w.repo.Write("sub/AGENTS.md", "NESTED-RULE\n")
	w.repo.Write("sub/b.txt", "EXPLORED-ONE-FILE\n")
	w.chat.Add(
		chatOpens("find it"),
		chatCalls("bash", openCodeShell("echo EXPLORED-ONE-A"), "read", map[string]any{"filePath": w.repo.Path("sub/b.txt")}),
		chatCalls("task", map[string]any{"description": "a part", "prompt": "look", "subagent_type": "general"}),
		chatOpens("mine"), chatCloses("mine"), chatSays("EXPLORED-ONE-SUB"),
		chatCloses("REPORT-ONE"), chatSays("done with it"),
	)
	if out, _ := w.opencode("explore"); !strings.Contains(out, "done with it") {
		t.Errorf("OpenCode answered %s", out)
	}
	w.wantSent("after the rewind", []string{"REPORT-ONE", "find it", "NESTED-RULE", "Files changed since the checkpoint: none"}, []string{"EXPLORED-ONE"})
	w.wantEverSent("Checkpoint not available in subagents.", "Rewind not available in subagents.", "EXPLORED-ONE-SUB")
	requests := len(w.chat.Requests())

	w.chat.Add(
		chatSays("more"),
		chatOpens("find more"), chatCalls("bash", openCodeShell("echo EXPLORED-TWO")), chatCalls("bash", openCodeShell("echo EXPLORED-TWO")),
		chatCloses("REPORT-TWO"), chatSays("done again"),
	)
	w.opencode("-c", "a later turn")
	w.wantSent("a turn later", []string{"REPORT-ONE", "a later turn"}, []string{"EXPLORED-ONE"})
	w.opencode("-c", "explore again")
	w.wantSent("after the second rewind", []string{"REPORT-ONE", "REPORT-TWO"}, []string{"EXPLORED"})

	w.chat.Add(chatOpens("left open"), chatSays("the end"))
	_, said := w.opencode("-c", "and another")
	w.wantSent("two turns later", []string{"REPORT-ONE", "REPORT-TWO", "and another", "left open"}, []string{"EXPLORED"})
	if !strings.Contains(said, `turnback: the checkpoint "left open" of this conversation is still open.`) {
		t.Errorf("of the open checkpoint was said: %s", said)
	}
	for _, r := range w.chat.Requests()[requests:] {
		if strings.Contains(string(r.Body), "EXPLORED-ONE") {
			t.Errorf("a later request has the exploration: %s", r.Body)
		}
	}
	s := w.session()
	if s.Agent != "opencode" || s.Rewinds != 2 || s.Open == nil || !s.Proxied || s.Tokens.TokensAfter == 0 || s.Tokens.TokensBefore <= s.Tokens.TokensAfter {
		t.Errorf("the daemon knows %+v", s)
	}
	w.wantSettings(before, ".config")
}

// wantEverSent says what some request has to have had.
func (w *pluginWorld) wantEverSent(marks ...string) {
	w.t.Helper()
	var all strings.Builder
	for _, r := range w.chat.Requests() {
		all.Write(r.Body)
	}
	for _, mark := range marks {
		if !strings.Contains(all.String(), mark) {
			w.t.Errorf("no request had %q", mark)
		}
	}
}

// openCodeServer is OpenCode without a terminal, as its clients talk to it.
type openCodeServer struct {
	*pluginWorld
	url     string
	session string
	events  *bufio.Scanner // what it tells its clients
}

func (w *pluginWorld) serveOpenCode() *openCodeServer {
	w.t.Helper()
	cmd := exec.Command(w.tools.turnback, "run", "--conversation", "--", filepath.Join(w.run, "opencode"), "serve", "--port", "0")
	cmd.Dir, cmd.Env = w.repo.Root, w.env()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); cmd.ProcessState == nil {
			w.t.Errorf("end the server: %v", err)
		}
	})
	s := &openCodeServer{pluginWorld: w}
	for lines := bufio.NewScanner(out); s.url == "" && lines.Scan(); {
		_, s.url, _ = strings.Cut(lines.Text(), "listening on ")
	}
	if s.url == "" {
		w.t.Fatalf("the server did not start: %s", errs.String())
	}
	var made struct{ ID string }
	s.post("/session", `{}`, &made)
	s.session = made.ID
	return s
}

func (s *openCodeServer) post(path, body string, result any) {
	s.t.Helper()
	response, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && result != nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil || response.StatusCode >= 300 {
		s.t.Fatalf("POST %s: %s, %v: %s", path, response.Status, err, text)
	}
}

// listen begins to take in what the server tells its clients.
func (s *openCodeServer) listen() {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/event", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	late := time.AfterFunc(3*patience, func() { _ = response.Body.Close() })
	s.t.Cleanup(func() { late.Stop() })
	s.events = bufio.NewScanner(response.Body)
	s.events.Buffer(nil, 16<<20)
}

// tells waits until the person has been shown a text.
func (s *openCodeServer) tells(text string) {
	s.t.Helper()
	for s.events.Scan() {
		if line := s.events.Text(); strings.Contains(line, "toast") && strings.Contains(line, text) {
			return
		}
	}
	s.t.Fatalf("the person was not told %q: %v\nsent:\n%s", text, s.events.Err(), s.sent())
}

// toldUntil is what the person has been shown before a text.
func (s *openCodeServer) toldUntil(text string) (told []string) {
	s.t.Helper()
	for s.events.Scan() {
		switch line := s.events.Text(); {
		case !strings.Contains(line, "tui.toast"):
		case strings.Contains(line, text):
			return told
		default:
			told = append(told, line)
		}
	}
	s.t.Fatalf("the person was not told %q: %v", text, s.events.Err())
	return nil
}

// prompt sends a prompt and does not wait for the answer.
func (s *openCodeServer) prompt(text string) {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"parts": []any{map[string]any{"type": "text", "text": text}}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.post("/session/"+s.session+"/prompt_async", string(body), nil)
}

// reaches waits until the newest request has a text.
func (s *openCodeServer) reaches(text string) {
	s.t.Helper()
	s.eventually(text, func() bool { return strings.Contains(s.sent(), text) })
}

// TestOpenCodeIsRemindedThreeTimes: a model that comes to rest in a span is told
// so three times, and no more. What the person types in a span stays.
func TestOpenCodeIsRemindedThreeTimes(t *testing.T) {
	t.Parallel()
	w := newOpenCodeWorld(t)
	s := w.serveOpenCode()
	s.listen()
	w.chat.Add(chatOpens("find it"), chatSays("one"), chatSays("two"), chatSays("three"), chatSays("four"))
	s.prompt("explore")
	s.reaches("This is the last reminder.")
	s.tells("is still open, after 3 reminders")
	if n := strings.Count(w.sent(), "A checkpoint is active."); n != 3 || w.chat.Pending() > 0 {
		t.Errorf("%d reminders, %d replies not asked for:\n%s", n, w.chat.Pending(), w.sent())
	}

	w.chat.Add(
		chatCalls("bash", openCodeShell("echo EXPLORED; until [ -e go ]; do sleep 0.1; done")), chatCloses("REPORT"), chatSays("closed"),
	)
	requests := len(w.chat.Requests())
	s.prompt("go on")
	w.eventually("the exploration", func() bool { return len(w.chat.Requests()) > requests })
	s.prompt("TYPED-AHEAD")
	w.repo.Write("go", "")
	s.reaches("REPORT")
	w.wantSent("after the rewind", []string{"go on", "TYPED-AHEAD", "four"}, []string{"A checkpoint is active.", "EXPLORED"})
}

func openCodeWrites(w *pluginWorld, path, text string) fakemodel.ChatReply {
	return chatCalls("write", map[string]any{"filePath": w.repo.Path(path), "content": text})
}

// Turns of OpenCode are saved: done, one that the provider failed, and one with a
// subagent, whose prompt is no turn.
func TestOpenCodeTurnsAreSaved(t *testing.T) {
	t.Parallel()
	w := newOpenCodeWorld(t)
	s := w.serveOpenCode()
	w.chat.Add(chatCalls("bash", openCodeShell("until [ -e .git/go ]; do sleep 0.1; done")), openCodeWrites(w, "a.txt", "two\n"), chatSays("It is done."))
	s.prompt("Change a.txt\nas I said")
	w.waitState("working")
	w.repo.Write(".git/go", "") // no edit before the turn
	w.waitState("done")
	w.saved(`1 turn 1 turn done base:HEAD "Change a.txt"`)

	w.chat.Add(
		chatCalls("task", map[string]any{"description": "a part", "prompt": "write", "subagent_type": "general"}),
		openCodeWrites(w, "sub.txt", "s\n"), chatSays("Written."), chatSays("All done."),
	)
	s.prompt("By another")
	s.reaches("Written.")
	w.waitState("done")

	w.chat.Add(openCodeWrites(w, "b.txt", "b\n"), fakemodel.ChatReply{Status: 400, Message: "no such thing"})
	s.prompt("And b.txt")
	w.waitState("errored")
	w.saved(
		`1 turn 1 turn done base:HEAD "Change a.txt"`, `2 turn 2 turn done base:checkpoint "By another"`, `3 turn 3 turn errored base:checkpoint "And b.txt"`,
	)

	// Its conversations are in a database of its own: the files alone go back.
	stdout, _, code := w.command(w.tools.turnback, "checkpoint", "restore", "1", "--conversation", "--json")
	if code != 1 || !strings.Contains(stdout, `"unsupported"`) || !strings.Contains(stdout, "opencode --session "+s.session+" --fork") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	if got := w.repo.Read("b.txt"); got != "b\n" {
		t.Errorf("after the refusal b.txt holds %q", got)
	}
	w.turnback("checkpoint", "restore", "1")
	if _, err := os.Stat(w.repo.Path("b.txt")); !os.IsNotExist(err) {
		t.Errorf("after the restore b.txt is there: %v", err)
	}
}

// A compaction loses the checkpoint that was open: a rewind is told so, the guard
// is silent, and the person is told, once.
func TestB143OpenCodeLosesTheCheckpointInACompaction(t *testing.T) {
	t.Parallel()
	w := newOpenCodeWorld(t)
	s := w.serveOpenCode()
	s.listen()
	w.chat.Add(chatOpens("find it"), chatSays("one"), chatSays("two"), chatSays("three"), chatSays("four"))
	s.prompt("explore")
	s.tells("is still open, after 3 reminders")

	w.chat.Add(chatSays("A SUMMARY"))
	s.post("/session/"+s.session+"/summarize", `{"providerID":"mock","modelID":"mock"}`, nil)
	w.chat.Add(chatCloses("too late"), chatSays("I see."))
	s.prompt("go on")
	s.reaches(conversation.ErrLost.Error())
	s.tells("was lost in a compaction; the history is unchanged")
	w.wantSent("after the compaction", []string{"A SUMMARY"}, []string{"A checkpoint is active."})

	w.chat.Add(chatSays("Well."))
	s.prompt("and then")
	s.reaches("and then")
	w.waitState("done")
	s.post("/tui/show-toast", `{"message":"ALL OF IT","variant":"info"}`, nil)
	if told := s.toldUntil("ALL OF IT"); len(told) > 0 {
		t.Errorf("the person is told more: %q", told)
	}
}
