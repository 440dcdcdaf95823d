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

// pluginWorld is a world with an agent that speaks Chat Completions, and that gets
// the tools by a plugin of ours.
type pluginWorld struct {
	*world
	chat *fakemodel.Chat
}

// newPluginWorld finds the agent of the name.
func newPluginWorld(t *testing.T, agent string) *pluginWorld {
	t.Helper()
	variable := "TURNBACK_E2E_" + strings.ToUpper(agent)
	program := os.Getenv(variable)
	if !filepath.IsAbs(program) {
		t.Fatalf("set %s to an absolute path, or run: make e2e", variable)
	}
	w := &pluginWorld{&world{t: t, repo: gittest.NewCommitted(t, map[string]string{"a.txt": "one\n"}), run: shortDir(t)}, fakemodel.StartChat(t)}
	w.model = fakemodel.Start(t) // asked for nothing
	w.tools = programs{turnback: os.Getenv("TURNBACK_E2E_BIN")}
	t.Cleanup(w.checkChat)
	t.Cleanup(w.stopDaemon)
	w.agentNamed(agent, program)
	return w
}

// checkChat runs at the end of each test.
func (w *pluginWorld) checkChat() {
	if problems := w.chat.Problems(); len(problems) > 0 || w.chat.Pending() > 0 && !w.t.Failed() {
		w.t.Errorf("problems %q, %d replies were not asked for", problems, w.chat.Pending())
	}
}

// chatCalls is a reply that calls tools, by name and arguments in turn.
func chatCalls(namesAndArguments ...any) fakemodel.ChatReply {
	var r fakemodel.ChatReply
	for i := 0; i < len(namesAndArguments); i += 2 {
		r.Calls = append(r.Calls, fakemodel.ChatCall{Name: namesAndArguments[i].(string), Args: namesAndArguments[i+1].(map[string]any)})
	}
	return r
}

func chatOpens(goal string) fakemodel.ChatReply {
	return chatCalls("turnback_checkpoint", map[string]any{"goal": goal})
}

func chatCloses(report string) fakemodel.ChatReply {
	return chatCalls("turnback_rewind", map[string]any{"report": report})
}

func chatSays(text string) fakemodel.ChatReply { return fakemodel.ChatReply{Text: text} }

// sent is the history of the newest request that offers tools, a message a line.
func (w *pluginWorld) sent() string {
	w.t.Helper()
	var text strings.Builder
	for _, r := range w.chat.Requests() {
		if len(r.Tools) == 0 {
			continue
		}
		text.Reset()
		for _, m := range r.Messages {
			if m.Role != "system" && m.Role != "developer" {
				fmt.Fprintf(&text, "%s\n", m.Raw)
			}
		}
	}
	return text.String()
}

// wantSent says what the newest request is to have and not to have.
func (w *pluginWorld) wantSent(when string, has, hasNot []string) {
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
		w.t.Fatalf("%s: the request was\n%s", when, body)
	}
}

// agent runs the agent through `turnback run --conversation`, to an exit of 0.
func (w *pluginWorld) agent(name string, args ...string) (stdout, stderr string) {
	w.t.Helper()
	args = append([]string{"run", "--conversation", "--", filepath.Join(w.run, name)}, args...)
	stdout, stderr, code := w.command(w.tools.turnback, args...)
	if code != 0 {
		w.t.Fatalf("%s: exit %d\nstdout: %s\nstderr: %s\nproblems: %q\nsent:\n%s", strings.Join(args, " "), code, stdout, stderr, w.chat.Problems(), w.sent())
	}
	return stdout, stderr
}

// session is the one conversation that the daemon knows.
func (w *pluginWorld) session() api.ConversationSession {
	w.t.Helper()
	var stats api.ConversationStatsResult
	w.turnbackJSON(&stats, "call", "conversation-stats")
	if len(stats.Sessions) != 1 {
		w.t.Fatalf("stats: %+v", stats)
	}
	return stats.Sessions[0]
}

// settingsOf are the files below a folder of the home, but those of sessions.
func (w *pluginWorld) settingsOf(folders ...string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(w.repo.Home, folder), func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "sessions" || d.Name() == "node_modules"):
				return filepath.SkipDir
			case d.IsDir():
				return nil
			}
			text, err := os.ReadFile(path)
			files[path] = string(text)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return files
}

// wantSettings checks that settings are as they were. Files of the agent's own
// may have come; nothing of ours is in them.
func (w *pluginWorld) wantSettings(before map[string]string, folders ...string) {
	w.t.Helper()
	after := w.settingsOf(folders...)
	for path, text := range after {
		old, was := before[path]
		if was && text != old || !was && strings.Contains(text, "turnback") {
			w.t.Errorf("%s was %q and is %q", path, old, text)
		}
	}
	for path := range before {
		if _, there := after[path]; !there {
			w.t.Errorf("%s is gone", path)
		}
	}
}

func newPiWorld(t *testing.T) *pluginWorld {
	t.Helper()
	w := newPluginWorld(t, "pi")
	models, err := json.Marshal(map[string]any{"providers": map[string]any{"mock": map[string]any{
		"baseUrl": w.chat.URL, "api": "openai-completions", "apiKey": "dummy", "models": []any{map[string]any{"id": "mock"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	w.writeHome(".pi/agent/models.json", string(models))
	w.extra = []string{"PI_OFFLINE=1", "PI_TELEMETRY=0", "PI_SKIP_VERSION_CHECK=1"}
	return w
}

// pi runs pi for one prompt.
func (w *pluginWorld) pi(args ...string) string {
	w.t.Helper()
	stdout, _ := w.agent("pi", append([]string{"-p", "--provider", "mock", "--model", "mock"}, args...)...)
	return strings.TrimSpace(stdout)
}

func (w *pluginWorld) piExplores(goal, mark, report string) {
	w.chat.Add(
		chatOpens(goal),
		chatCalls("bash", map[string]any{"command": "echo " + mark + "-A"}),
		chatCalls("bash", map[string]any{"command": "echo " + mark + "-B"}, "read", map[string]any{"path": "a.txt"}),
		chatCloses(report), chatSays("done with "+goal),
	)
}

// TestPiCollapsesInItself: the whole way, with the real pi.
func TestPiCollapsesInItself(t *testing.T) {
	t.Parallel()
	w := newPiWorld(t)
	before := w.settingsOf(".pi")
	w.piExplores("find it", "EXPLORED-ONE", "REPORT-ONE")
	if got := w.pi("explore"); got != "done with find it" {
		t.Errorf("pi answered %q", got)
	}
	w.wantSent("after the rewind", []string{"REPORT-ONE", "find it", "Files changed since the checkpoint: none"}, []string{"EXPLORED-ONE", "rewind\""})

	w.chat.Add(chatSays("more"))
	w.pi("-c", "a later turn")
	w.wantSent("a turn later", []string{"REPORT-ONE", "a later turn"}, []string{"EXPLORED-ONE"})

	w.piExplores("find more", "EXPLORED-TWO", "REPORT-TWO")
	w.pi("-c", "explore again")
	w.wantSent("after the second rewind", []string{"REPORT-ONE", "REPORT-TWO"}, []string{"EXPLORED-ONE", "EXPLORED-TWO"})

	w.chat.Add(chatSays("the end"))
	w.pi("-c", "and another")
	w.wantSent("two turns later", []string{"REPORT-ONE", "REPORT-TWO", "and another"}, []string{"EXPLORED-ONE", "EXPLORED-TWO"})

	if s := w.session(); s.Agent != "pi" || s.Rewinds != 2 || s.Open != nil || !s.Proxied || s.Tokens.TokensAfter == 0 || s.Tokens.TokensBefore <= s.Tokens.TokensAfter {
		t.Errorf("the daemon knows %+v", s)
	}
	w.wantSettings(before, ".pi")
}

// A model that comes to rest in a span is told so three times, and no more. Two
// checkpoints in one batch are one.
func TestPiIsRemindedThreeTimes(t *testing.T) {
	t.Parallel()
	w := newPiWorld(t)
	w.chat.Add(
		chatCalls("turnback_checkpoint", map[string]any{"goal": "find it"}, "turnback_checkpoint", map[string]any{"goal": "twice"}),
		chatSays("one"), chatSays("two"), chatSays("three"), chatSays("four"),
	)
	if got := w.pi("explore"); got != "four" {
		t.Errorf("pi answered %q", got)
	}
	w.wantSent("at rest", []string{"Checkpoint already active.", "This is the last reminder."}, nil)
	if n := strings.Count(w.sent(), "A checkpoint is active."); n != 3 {
		t.Errorf("%d reminders:\n%s", n, w.sent())
	}
	w.chat.Add(chatCloses("REPORT"), chatSays("closed"))
	w.pi("-c", "go on")
	w.wantSent("after the rewind", []string{"REPORT", "go on", "four"}, []string{"A checkpoint is active."})
	w.chat.Add(chatCloses("again"), chatSays("refused"))
	w.pi("-c", "once more")
	w.wantSent("a rewind without a checkpoint", []string{"Checkpoint already completed; continue from the retained report instead of calling rewind again."}, nil)
}
