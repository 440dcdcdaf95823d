//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// exploredMark is in what a model reads inside the span, and in nothing else.
const exploredMark = "EXPLORED"

// chatWorld is a world with an agent that speaks Chat Completions.
type chatWorld struct {
	*world
	chat *fakemodel.Chat
}

func newChatWorld(t *testing.T) *chatWorld {
	t.Helper()
	files := map[string]string{"a.txt": strings.Repeat(exploredMark+" line of a file\n", 400)}
	w := &chatWorld{&world{t: t, repo: gittest.NewCommitted(t, files), run: shortDir(t)}, fakemodel.StartChat(t)}
	w.model = fakemodel.Start(t) // asked for nothing
	w.tools = programs{turnback: os.Getenv("TURNBACK_E2E_BIN")}
	t.Cleanup(w.stopDaemon)
	return w
}

// script is one task and a later prompt, the same for every agent.
func (w *chatWorld) script() []fakemodel.ChatReply {
	call := func(name string, args map[string]any) fakemodel.ChatReply {
		return fakemodel.ChatReply{Calls: []fakemodel.ChatCall{{Name: name, Args: args}}}
	}
	return []fakemodel.ChatReply{
		call("checkpoint", map[string]any{"goal": "find what a.txt holds"}),
		call("read", map[string]any{"path": "a.txt"}),
		call("bash", map[string]any{"command": "wc -l a.txt"}),
		call("rewind", map[string]any{"report": "a.txt holds 400 equal lines"}),
		{Text: "It holds 400 equal lines."},
		{Text: "You are welcome."},
	}
}

// talked is what an agent cost in the script: of its requests after the rewind,
// all bytes, and those of the messages but for the system's.
type talked struct {
	calls, bytes, history int
	bodies                []string
}

// measure reads the requests that came in.
func (w *chatWorld) measure() talked {
	w.t.Helper()
	requests := w.chat.Requests()
	got := talked{calls: len(requests)}
	for i, r := range requests {
		if i < 4 {
			continue // the rewind is the fourth reply
		}
		got.bytes += len(r.Body)
		for _, m := range r.Messages {
			if m.Role != "system" && m.Role != "developer" {
				got.history += len(m.Raw)
			}
		}
		got.bodies = append(got.bodies, string(r.Body))
	}
	return got
}

// ohMyPi has omp do the script.
func ohMyPi(t *testing.T, program string) talked {
	w := newChatWorld(t)
	w.writeHome(".omp/agent/models.yml", fmt.Sprintf(`providers:
  mock:
    baseUrl: %s
    api: openai-completions
    apiKey: DUMMY_KEY
    models:
      - id: mock
        name: mock
        contextWindow: 200000
        maxTokens: 8000
`, w.chat.URL))
	w.writeHome(".omp/agent/config.yml", "checkpoint:\n  enabled: true\n")
	// It looks for models of others: a proxy that is not there keeps it off the network.
	w.extra = []string{"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost"}
	w.chat.Add(w.script()...)
	args := []string{"-p", "--model", "mock/mock", "--auto-approve", "--tools=bash,read,checkpoint,rewind"}
	for _, more := range [][]string{{"What does a.txt hold?"}, {"-c", "Thank you."}} {
		stdout, stderr, code := w.command(program, append(slices.Clone(args), more...)...)
		if code != 0 {
			t.Fatalf("omp %q: exit %d\n%s%s", more, code, stdout, stderr)
		}
	}
	return w.measure()
}

// ourAgent has `turnback agent` do the script.
func ourAgent(t *testing.T) talked {
	w := newChatWorld(t)
	w.chat.Add(w.script()...)
	for _, more := range [][]string{{"-p", "What does a.txt hold?"}, {"--continue", "-p", "Thank you."}} {
		args := append([]string{"agent", "--model", "openai/mock", "--yes", "--conversation"}, more...)
		w.extra = []string{"OPENAI_BASE_URL=" + w.chat.URL, "OPENAI_API_KEY=DUMMY_KEY"}
		w.turnback(args...)
	}
	if problems := w.chat.Problems(); len(problems) > 0 || w.chat.Pending() > 0 {
		t.Errorf("problems %q, %d replies were not asked for", problems, w.chat.Pending())
	}
	return w.measure()
}

// Beside the agent whose checkpoint and rewind ours come from, on one script: no
// more calls of the model, and no more bytes after the rewind.
func TestBesideOhMyPi(t *testing.T) {
	program := os.Getenv("TURNBACK_E2E_OMP")
	if program == "" && os.Getenv("CI") == "" {
		t.Skip("TURNBACK_E2E_OMP is not set: oh-my-pi could not be installed")
	}
	if !filepath.IsAbs(program) {
		t.Fatal("set TURNBACK_E2E_OMP to an absolute path, or run: make e2e")
	}
	theirs, ours := ohMyPi(t, program), ourAgent(t)
	for name, got := range map[string]talked{"oh-my-pi": theirs, "turnback agent": ours} {
		t.Logf("%s: %d calls of the model; after the rewind %d bytes, %d of them of the conversation", name, got.calls, got.bytes, got.history)
		if len(got.bodies) < 2 || strings.Contains(strings.Join(got.bodies, ""), exploredMark) {
			t.Errorf("%s: %d requests after the rewind, or with what was explored:\n%s", name, len(got.bodies), strings.Join(got.bodies, "\n"))
		}
	}
	if ours.calls > theirs.calls || ours.bytes > theirs.bytes || ours.history > theirs.history {
		t.Error("ours are more")
	}
}
