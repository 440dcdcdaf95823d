//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// dummyKey looks like a key, so that the CLI asks for no login.
const dummyKey = "sk-ant-api03-not-a-key-0123456789abcdefghij"

// patience is how long a test waits for something that should come at once.
const patience = 60 * time.Second

// world is one person's machine: a home, a repository, the CLI with turnback's
// hooks, and a model that says what the test tells it to.
type world struct {
	t     *testing.T
	repo  *gittest.Repo
	model *fakemodel.Server
	run   string // XDG_RUNTIME_DIR: short, because a socket's path is
	tools programs

	// ownServers has the CLI start the MCP servers of the person's configuration.
	ownServers bool
	extra      []string // more of the environment, as NAME=VALUE
}

// programs are the paths of what is under test.
type programs struct{ claude, turnback string }

// newWorld makes the repository with files and installs the hooks.
func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, repo: gittest.NewCommitted(t, files), model: fakemodel.Start(t), run: shortDir(t), tools: findPrograms(t)}
	w.seedClaude()
	t.Cleanup(w.check)
	t.Cleanup(w.stopDaemon)
	w.turnback("setup", "claude", "--yes")
	return w
}

func findPrograms(t *testing.T) programs {
	t.Helper()
	p := programs{claude: os.Getenv("TURNBACK_E2E_CLAUDE"), turnback: os.Getenv("TURNBACK_E2E_BIN")}
	for _, path := range []string{p.claude, p.turnback} {
		if !filepath.IsAbs(path) {
			t.Fatal("set TURNBACK_E2E_CLAUDE and TURNBACK_E2E_BIN to absolute paths, or run: make e2e")
		}
	}
	return p
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tb-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// seedClaude writes what the CLI would ask on a first start.
func (w *world) seedClaude() {
	w.t.Helper()
	state := map[string]any{
		"hasCompletedOnboarding": true,
		"theme":                  "dark",
		"customApiKeyResponses":  map[string]any{"approved": []string{dummyKey[len(dummyKey)-20:]}, "rejected": []string{}},
		"projects": map[string]any{
			w.repo.Root: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true},
		},
	}
	text, err := json.Marshal(state)
	if err != nil {
		w.t.Fatal(err)
	}
	w.writeHome(".claude.json", string(text))
}

func (w *world) writeHome(path, text string) {
	w.t.Helper()
	full := filepath.Join(w.repo.Home, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// env is the whole environment of the CLI and of turnback.
func (w *world) env() []string {
	env := append(
		w.repo.Env(),
		"XDG_RUNTIME_DIR="+w.run,
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"SHELL=/bin/sh",
		"IS_SANDBOX=1", // lets the CLI run unattended as root
		"ANTHROPIC_API_KEY="+dummyKey,
		"ANTHROPIC_BASE_URL="+w.model.URL,
		"DISABLE_TELEMETRY=1",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	)
	return append(env, w.extra...)
}

// claudeArgs are the flags that every start of the CLI has: our own log of
// hook events beside turnback's hooks.
func (w *world) claudeArgs(args ...string) []string {
	events := map[string]any{}
	for _, name := range []string{
		"SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PostToolUse",
	} {
		events[name] = []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "timeout": 10,
			// One write a line, so that hooks at once do not mix.
			"command": fmt.Sprintf(`printf '%%s\n' "$(tr -d '\n')" >>'%s'`, w.hookLog()),
		}}}}
	}
	settings, err := json.Marshal(map[string]any{"hooks": events})
	if err != nil {
		w.t.Fatal(err)
	}
	if !w.ownServers {
		args = append([]string{"--strict-mcp-config"}, args...)
	}
	return append([]string{"--settings", string(settings)}, args...)
}

func (w *world) hookLog() string { return filepath.Join(w.repo.Home, "hooks.jsonl") }

// hookEvent is what a test reads of a hook's input.
type hookEvent struct {
	Name       string            `json:"hook_event_name"`
	Session    string            `json:"session_id"`
	Transcript string            `json:"transcript_path"`
	Prompt     string            `json:"prompt"`
	PromptID   string            `json:"prompt_id"`
	Tool       string            `json:"tool_name"`
	Source     string            `json:"source"`
	Reason     string            `json:"reason"`
	Agent      string            `json:"agent_id"`
	Background []json.RawMessage `json:"background_tasks"`
}

// String names what is set, for failure messages.
func (e hookEvent) String() string {
	text := e.Name
	for name, value := range map[string]string{"tool": e.Tool, "source": e.Source, "reason": e.Reason, "agent": e.Agent} {
		if value != "" {
			text += " " + name + "=" + value
		}
	}
	if e.Prompt != "" {
		text += fmt.Sprintf(" prompt=%.40q", e.Prompt)
	}
	if len(e.Background) > 0 {
		text += fmt.Sprintf(" background=%d", len(e.Background))
	}
	return text + "\n"
}

// hooks returns the events so far, oldest first.
func (w *world) hooks() []hookEvent {
	w.t.Helper()
	text, err := os.ReadFile(w.hookLog())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var events []hookEvent
	for line := range bytes.Lines(text) {
		var e hookEvent
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // still being written
		}
		if err := json.Unmarshal(line, &e); err != nil {
			w.t.Fatalf("hook log line %q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

// ask runs the CLI for one prompt, without a terminal, and returns what it
// answered.
func (w *world) ask(prompt string, args ...string) string {
	w.t.Helper()
	args = w.claudeArgs(append([]string{"-p", prompt, "--output-format", "json", "--dangerously-skip-permissions"}, args...)...)
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

// command runs a program in the repository to its end.
func (w *world) command(program string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	// Not the test's context: that one has ended when cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = w.repo.Root, w.env()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = patience // a daemon that kept our pipes would hold us up
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// turnback runs turnback, which has to succeed, and returns its output.
func (w *world) turnback(args ...string) string {
	w.t.Helper()
	stdout, stderr, code := w.command(w.tools.turnback, args...)
	if code != 0 {
		w.t.Fatalf("turnback %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// turnbackJSON runs turnback with --json and reads its result.
func (w *world) turnbackJSON(result any, args ...string) {
	w.t.Helper()
	stdout := w.turnback(append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), result); err != nil {
		w.t.Fatalf("turnback %s --json: %v\n%s", strings.Join(args, " "), err, stdout)
	}
}

// eventually waits for a condition that nothing can tell us of.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	limit := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(limit) {
			w.t.Fatalf("waited %v for %s\nhooks: %v\nmodel:\n%s", patience, what, w.hooks(), fakemodel.Describe(w.model.Requests()))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// check runs at the end of each test.
func (w *world) check() {
	if problems := w.model.Problems(); len(problems) > 0 {
		w.t.Errorf("the CLI sent a history that a provider would refuse: %s", strings.Join(problems, "; "))
	}
	if left := w.model.Pending(); len(left) > 0 && !w.t.Failed() {
		w.t.Errorf("%d scripted replies were never asked for; the first says %v", len(left), left[0].Content)
	}
}

// stopDaemon ends the daemon that a hook or a command started, and sees to it
// that it is gone.
func (w *world) stopDaemon() {
	var status struct {
		PID int `json:"pid"`
	}
	stdout, _, code := w.command(w.tools.turnback, "daemon", "status", "--json")
	if code != 0 || json.Unmarshal([]byte(stdout), &status) != nil || status.PID == 0 {
		return // none runs
	}
	if _, stderr, code := w.command(w.tools.turnback, "daemon", "stop"); code != 0 {
		w.t.Errorf("stop the daemon: exit %d\n%s", code, stderr)
	}
	limit := time.Now().Add(patience)
	for syscall.Kill(status.PID, 0) == nil {
		if time.Now().After(limit) {
			w.t.Errorf("the daemon, process %d, does not end", status.PID)
			_ = syscall.Kill(status.PID, syscall.SIGKILL)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
