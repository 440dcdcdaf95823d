package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/launch"
)

// world is a home, a work tree and a folder of an administrator.
type world struct {
	t    *testing.T
	root string
	o    launch.Options
}

func newWorld(t *testing.T, agent string, environ ...string) *world {
	root := t.TempDir()
	w := &world{t, root, launch.Options{
		Args: []string{agent}, Dir: filepath.Join(root, "tree"), Self: "/usr/bin/turnback", ID: "l1", Managed: filepath.Join(root, "managed"),
		Environ: append([]string{"HOME=" + filepath.Join(root, "home")}, environ...),
	}}
	w.write("tree/.git", "")
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	path = filepath.Join(w.root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// refused plans and gives the text of the refusal.
func (w *world) refused() string {
	w.t.Helper()
	_, err := launch.New(w.o)
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.CodeUnsupported {
		w.t.Fatalf("it is not refused: %v", err)
	}
	return e.Message
}

func (w *world) plan() *launch.Plan {
	w.t.Helper()
	p, err := launch.New(w.o)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

const key = "ANTHROPIC_API_KEY=sk-x"

// Settings of an administrator win over --settings, so what they say of the way to
// the provider is looked at first.
func TestClaudesManagedSettings(t *testing.T) {
	t.Run("what goes past the proxy is refused, and its file named", func(t *testing.T) {
		for text, says := range map[string]string{
			`{"env":{"ANTHROPIC_BASE_URL":"http://gateway.example"}}`: "sets ANTHROPIC_BASE_URL",
			`{"allowedProviders":["anthropic"]}`:                      "allowedProviders",
			`{"forceLoginMethod":"console"}`:                          "asks for a login",
			`{"forceLoginOrgUUID":["a"]}`:                             "asks for a login",
			`{"env":{"CLAUDE_CODE_USE_BEDROCK":1}}`:                   "Amazon Bedrock",
			`{`:                                                       "cannot be read",
		} {
			for _, path := range []string{"managed/managed-settings.json", "managed/managed-settings.d/10-way.json", "home/.claude/remote-settings.json"} {
				w := newWorld(t, "claude", key)
				w.o.Configured = map[string]string{"anthropic": "http://mine.example"}
				w.write("home/.claude/settings.json", `{"env":{"ANTHROPIC_BASE_URL":"http://user.example","CLAUDE_CODE_USE_BEDROCK":""}}`)
				w.write(path, text)
				got := w.refused()
				if !strings.Contains(got, says) || says != "Amazon Bedrock" && !strings.Contains(got, filepath.Join(w.root, path)) {
					t.Errorf("%s in %s: %s", text, path, got)
				}
			}
		}
	})
	t.Run("its key is one", func(t *testing.T) {
		w := newWorld(t, "claude")
		w.refused()
		w.write("managed/managed-settings.json", "\ufeff"+`{"apiKeyHelper":"/opt/key"}`)
		w.plan()
	})
	t.Run("what it says wins, of two files the later by name", func(t *testing.T) {
		w := newWorld(t, "claude", key, "CLAUDE_CODE_USE_VERTEX=1")
		w.o.Args = append(w.o.Args, "--settings", `{"env":{"CLAUDE_CODE_USE_VERTEX":"1"}}`)
		w.write("managed/managed-settings.d/10-a.json", `{"env":{"CLAUDE_CODE_USE_VERTEX":"1"}}`)
		w.write("managed/managed-settings.d/20-b.json", `{"env":{"CLAUDE_CODE_USE_VERTEX":"0"}}`)
		w.write("managed/managed-settings.d/30-c.json.old", `{"env":{"CLAUDE_CODE_USE_VERTEX":"1"}}`)
		w.write("managed/managed-settings.d/.40-d.json", `{`)
		w.plan()
	})
	t.Run("hooks that do not run are told", func(t *testing.T) {
		for _, text := range []string{`{"allowManagedHooksOnly":true}`, `{"disableAllHooks":true}`} {
			w := newWorld(t, "claude", key)
			w.write("managed/managed-settings.json", text)
			if notes := strings.Join(w.plan().Notes, "\n"); !strings.Contains(notes, filepath.Join(w.root, "managed/managed-settings.json")+" lets no hooks") {
				t.Errorf("%s: notes %q", text, notes)
			}
		}
	})
	t.Run("the systems have it in places of their own", func(t *testing.T) {
		for system, want := range map[string]string{
			"linux": "/etc/claude-code", "darwin": "/Library/Application Support/ClaudeCode", "windows": `C:\Program Files\ClaudeCode`,
		} {
			if got := launch.ManagedFolder(system); got != want {
				t.Errorf("%s: %s", system, got)
			}
		}
	})
}

// An upstream of the configuration is no way around a provider that is not spoken:
// no base URL is asked there.
func TestAConfiguredUpstreamIsNoWayToBedrock(t *testing.T) {
	w := newWorld(t, "claude", key, "CLAUDE_CODE_USE_BEDROCK=1")
	w.o.Configured = map[string]string{"anthropic": "http://mine.example"}
	if got := w.refused(); !strings.Contains(got, "Amazon Bedrock") {
		t.Error(got)
	}
}

func TestCodexConfigurationWithAByteOrderMark(t *testing.T) {
	w := newWorld(t, "codex")
	w.write("home/.codex/config.toml", "\ufeffmodel_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\n")
	if p := w.plan(); p.Upstream != "http://127.0.0.1:9/v1" {
		t.Errorf("upstream %q", p.Upstream)
	}
}

// Codex asks for WebSockets where its provider has them, and what is said there
// is collapsed by nobody: they are off for the process.
func TestCodexUsesNoWebSockets(t *testing.T) {
	for name, config := range map[string]string{
		"its own provider": `openai_base_url = "http://127.0.0.1:9/v1"`,
		"the person's":     "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\nsupports_websockets = true\n",
	} {
		w := newWorld(t, "codex", "CODEX_API_KEY=sk-x")
		w.write("home/.codex/config.toml", config)
		c, err := w.plan().Command(t.TempDir(), "http://127.0.0.1:1/secret")
		if err != nil {
			t.Fatal(err)
		}
		if args := strings.Join(c.Args, "\n"); strings.Count(args, "supports_websockets=false") != 1 || strings.Contains(args, "supports_websockets=true") {
			t.Errorf("%s: arguments\n%s", name, args)
		}
	}
}
