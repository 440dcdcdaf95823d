//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runWorld is a home in which `turnback run` starts agents that are scripts.
type runWorld struct {
	t                *testing.T
	bin, home, agent string
	env              []string
}

// newRunWorld makes an agent of the name whose program is a shell script.
func newRunWorld(t *testing.T, bin, name, script string) *runWorld {
	t.Helper()
	short, err := os.MkdirTemp("/tmp", "tb-run-")
	if err != nil {
		t.Fatal(err)
	}
	w := &runWorld{t: t, bin: bin, home: t.TempDir(), agent: name}
	agents := filepath.Join(w.home, "agents")
	for dir, text := range map[string]string{agents: "#!/bin/sh\n" + script, filepath.Join(w.home, "tmp"): ""} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.env = []string{
		"HOME=" + w.home, "PATH=" + agents + ":/usr/bin:/bin", "TMPDIR=" + filepath.Join(w.home, "tmp"), "OUT=" + filepath.Join(w.home, "out"),
		"TURNBACK_SOCKET=" + filepath.Join(short, "s"), "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=intern.example",
	}
	t.Cleanup(func() {
		if err := errors.Join(endDaemon(filepath.Join(bin, "turnback"), w.env), os.RemoveAll(short)); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *runWorld) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(w.bin, "turnback"), append([]string{"run"}, args...)...)
	cmd.Env, cmd.Dir = w.env, w.home
	return cmd
}

// run runs the agent to its end.
func (w *runWorld) run(args ...string) (status int, stdout, stderr string) {
	w.t.Helper()
	cmd := w.command(append([]string{"--conversation", "--", w.agent}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// told is what the script wrote to the file $OUT.NAME.
func (w *runWorld) told(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.home, "out."+name))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (w *runWorld) write(path, text string) {
	w.t.Helper()
	path = filepath.Join(w.home, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// listens says whether something answers at a URL's port.
func listens(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	conn, err := net.Dial("tcp", u.Host)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for: %s", what)
		}
	}
}

const claudeScript = `
echo "$ANTHROPIC_BASE_URL" >$OUT.base; echo "$TURNBACK_LAUNCH" >$OUT.launch; echo "$NO_PROXY" >$OUT.noproxy
echo "$@" >$OUT.args; tr '\0' ' ' </proc/$PPID/cmdline >$OUT.parent
for a; do case $a in --settings=*) f=${a#*=}; cat "$f" >$OUT.settings; stat -c '%a' "$f" "${f%/*}" >$OUT.modes;; --mcp-config=*) cat "${a#*=}" >$OUT.mcp;; esac; done
cat
exit ${STATUS:-0}
`

func TestRunProgram(t *testing.T) {
	bin := build(t)
	t.Run("claude gets what it needs for one process", func(t *testing.T) {
		w := newRunWorld(t, bin, "claude", claudeScript)
		w.env = append(w.env, "ANTHROPIC_API_KEY=sk-x", "STATUS=7")
		cmd := w.command("--conversation", "--", "claude", "-p", "--settings", `{"env":{"A":"b"},"model":"m"}`, "look around")
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input"), &out, &errs
		_ = cmd.Run()
		if status := cmd.ProcessState.ExitCode(); status != 7 || out.String() != "input" {
			t.Errorf("status %d, output %q, errors %q", status, out.String(), errs.String())
		}
		if n := strings.Count(errs.String(), "auto mode"); n != 1 {
			t.Errorf("what is untested was said %d times: %q", n, errs.String())
		}
		base := w.told("base")
		_, secret, _ := strings.Cut(strings.TrimPrefix(base, "http://127.0.0.1:"), "/")
		if len(secret) != 32 || len(w.told("launch")) < 16 || strings.Contains(base, w.told("launch")) {
			t.Errorf("base URL %q, launch %q", base, w.told("launch"))
		}
		if got := w.told("noproxy"); got != "intern.example,127.0.0.1,localhost" {
			t.Errorf("NO_PROXY is %q", got)
		}
		for _, where := range []string{"args", "parent"} {
			if strings.Contains(w.told(where), secret) {
				t.Errorf("the secret is in the arguments: %s", w.told(where))
			}
		}
		if args := w.told("args"); !strings.HasSuffix(args, " -p look around") {
			t.Errorf("arguments %q", args)
		}
		for _, part := range []string{`"ANTHROPIC_BASE_URL":"` + base + `"`, `"A":"b"`, `"model":"m"`, `"mcp__turnback__checkpoint"`, `"hook"`, `"PreToolUse"`} {
			if !strings.Contains(strings.ReplaceAll(w.told("settings"), `": "`, `":"`), part) {
				t.Errorf("the settings lack %s: %s", part, w.told("settings"))
			}
		}
		if got := w.told("modes"); got != "600\n700" {
			t.Errorf("modes of the settings and their folder: %q", got)
		}
		if got := w.told("mcp"); !strings.Contains(got, `["mcp","--conversation"]`) {
			t.Errorf("MCP servers: %s", got)
		}
		if left, err := os.ReadDir(filepath.Join(w.home, "tmp")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if listens(base) {
			t.Error("the proxy outlives the agent")
		}
	})
	t.Run("the person's hooks are not doubled", func(t *testing.T) {
		w := newRunWorld(t, bin, "claude", claudeScript)
		w.env = append(w.env, "ANTHROPIC_API_KEY=sk-x")
		w.write(".claude/settings.json", fmt.Sprintf(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":%q,"args":["hook","claude","Stop"]}]}]}}`, filepath.Join(bin, "turnback")))
		w.run()
		if got := w.told("settings"); strings.Contains(got, `"Stop"`) || !strings.Contains(got, `"StopFailure"`) {
			t.Errorf("settings %s", got)
		}
	})
	t.Run("settings are taken as Claude Code takes them", func(t *testing.T) { testRunSettings(t, bin) })
	t.Run("codex gets the secret by its environment", func(t *testing.T) {
		w := newRunWorld(t, bin, "codex", `for a; do echo "$a"; done >$OUT.args; echo "$TURNBACK_PROXY_SECRET" >$OUT.secret`)
		w.write(".codex/config.toml", "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:9/v1\"\n")
		if status, _, errs := w.run("exec", "hello"); status != 0 {
			t.Fatalf("status %d, %s", status, errs)
		}
		args, secret := w.told("args"), w.told("secret")
		if len(secret) != 32 || strings.Contains(args, secret) {
			t.Errorf("secret %q, arguments\n%s", secret, args)
		}
		for _, part := range []string{
			`model_providers.mine.base_url="http://127.0.0.1:`, `model_providers.mine.env_http_headers.X-Turnback-Secret="TURNBACK_PROXY_SECRET"`,
			`mcp_servers.turnback={command="` + filepath.Join(bin, "turnback") + `", args=["mcp", "--conversation"]`, `default_tools_approval_mode="approve"`,
			`hooks.Stop=[{hooks=[{type="command",command="` + filepath.Join(bin, "turnback") + ` hook codex Stop",timeout=10}]}]`, "\nhooks.state={",
		} {
			if !strings.Contains(args, part) {
				t.Errorf("the arguments lack %s:\n%s", part, args)
			}
		}
		if !strings.HasSuffix(args, "\nexec\nhello") {
			t.Errorf("arguments\n%s", args)
		}
	})
	t.Run("pi gets an extension, and there is no proxy", func(t *testing.T) {
		w := newRunWorld(t, bin, "pi", `for a; do echo "$a"; done >$OUT.args; cp "$2" $OUT.extension; stat -c %a "$2" >$OUT.mode; echo "$TURNBACK_LAUNCH" >$OUT.launch; for p in /proc/[0-9]*; do grep -qz "^TURNBACK_LAUNCH=$TURNBACK_LAUNCH\$" $p/environ && tr '\0' ' ' <$p/cmdline; done >$OUT.ps 2>/dev/null; true`)
		if status, _, errs := w.run("-p", "hello"); status != 0 || errs != "" {
			t.Fatalf("status %d, %s", status, errs)
		}
		if args := strings.Split(w.told("args"), "\n"); len(args) != 4 || args[0] != "--extension" || args[2] != "-p" || args[3] != "hello" {
			t.Errorf("arguments %q", args)
		}
		for _, part := range []string{`"program":"` + filepath.Join(bin, "turnback") + `"`, `"args":["plugin","pi"]`, "registerTool"} {
			if !strings.Contains(w.told("extension"), part) {
				t.Errorf("the extension lacks %s", part)
			}
		}
		if w.told("mode") != "600" || len(w.told("launch")) < 16 {
			t.Errorf("mode %s, launch %q", w.told("mode"), w.told("launch"))
		}
		if strings.Contains(w.told("ps"), "turnback proxy") {
			t.Errorf("a proxy runs: %s", w.told("ps"))
		}
	})
	t.Run("OpenCode's plugin stands beside those of the person", func(t *testing.T) {
		w := newRunWorld(t, bin, "opencode", `echo "$OPENCODE_CONFIG_CONTENT" >$OUT.config; echo "$@" >$OUT.args`)
		w.env = append(w.env, `OPENCODE_CONFIG_CONTENT={"model":"m","plugin":["mine",["tuple",{"a":1}]]}`)
		if status, _, errs := w.run("run", "hello"); status != 0 {
			t.Fatalf("status %d, %s", status, errs)
		}
		config := w.told("config")
		if !strings.HasPrefix(config, `{"model":"m","plugin":["mine",["tuple",{"a":1}],"file:///`) || !strings.HasSuffix(config, `/turnback.js"]}`) || w.told("args") != "run hello" {
			t.Errorf("configuration %s, arguments %s", config, w.told("args"))
		}
		w.env = append(w.env, "OPENCODE_CONFIG_CONTENT={")
		if status, _, errs := w.run(); status != 1 || !strings.Contains(errs, "OPENCODE_CONFIG_CONTENT does not parse") {
			t.Errorf("status %d, %s", status, errs)
		}
	})
	t.Run("signals", func(t *testing.T) { testRunSignals(t, bin) })
	t.Run("a killed starter", func(t *testing.T) { testRunKilled(t, bin) })
	t.Run("what is refused", func(t *testing.T) { testRunRefused(t, bin) })
}

// testRunSettings: what Claude Code makes nothing of does not keep it from being
// started, and what it reads is read.
func testRunSettings(t *testing.T, bin string) {
	for _, settings := range []string{
		"", " \n", "null", `{"env":null}`, `{"env":{"MAX_THINKING_TOKENS":1000,"A":true,"B":null}}`, "\ufeff{}",
	} {
		w := newRunWorld(t, bin, "claude", claudeScript)
		w.env = append(w.env, "ANTHROPIC_API_KEY=sk-x")
		w.write(".claude/settings.json", settings)
		if status, _, errs := w.run(); status != 0 {
			t.Errorf("settings %q: status %d, %s", settings, status, errs)
		}
	}
	w := newRunWorld(t, bin, "claude", claudeScript)
	w.env = append(w.env, "ANTHROPIC_API_KEY=sk-x")
	w.write("null.json", "null")
	for _, flag := range []string{
		"null.json", `{"env":null,"permissions":null,"hooks":null}`, `{"permissions":{"allow":null}}`, `{"env":{"N":5}}`,
	} {
		if status, _, errs := w.run("--settings", flag); status != 0 || !strings.Contains(w.told("settings"), "mcp__turnback__rewind") {
			t.Errorf("--settings %s: status %d, %s", flag, status, errs)
		}
	}
	for _, numbers := range []string{"1", "true"} {
		w.write(".claude/settings.json", `{"env":{"CLAUDE_CODE_USE_BEDROCK":`+numbers+`}}`)
		if status, _, errs := w.run(); status != 1 || !strings.Contains(errs, "Amazon Bedrock") {
			t.Errorf("Bedrock by %s: status %d, %s", numbers, status, errs)
		}
	}
}

// testRunSignals: what ends the starter ends the agent, in the agent's own way.
func testRunSignals(t *testing.T, bin string) {
	w := newRunWorld(t, bin, "claude", `trap 'echo bye >$OUT.bye; exit 9' TERM INT; echo up >$OUT.up; while :; do sleep 0.05; done`)
	w.env = append(w.env, "ANTHROPIC_API_KEY=sk-x")
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		_ = os.Remove(filepath.Join(w.home, "out.up"))
		cmd := w.command("--conversation", "--", "claude")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the agent is up", func() bool { _, err := os.Stat(filepath.Join(w.home, "out.up")); return err == nil })
		_ = cmd.Process.Signal(s)
		_ = cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != 9 || w.told("bye") != "bye" {
			t.Errorf("%v: status %d", s, status)
		}
		_ = os.Remove(filepath.Join(w.home, "out.bye"))
	}
}

// testRunKilled: the agent goes on when its starter is killed, and so does the
// proxy, which then ends with the agent.
func testRunKilled(t *testing.T, bin string) {
	w := newRunWorld(t, bin, "claude", `echo "$ANTHROPIC_BASE_URL" >$OUT.base; echo $$ >$OUT.pid; exec sleep 60`)
	w.env = append(w.env, "ANTHROPIC_API_KEY=sk-x")
	cmd := w.command("--conversation", "--", "claude")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the agent is up", func() bool {
		text, err := os.ReadFile(filepath.Join(w.home, "out.pid"))
		return err == nil && len(text) > 1
	})
	pid, err := strconv.Atoi(w.told("pid"))
	if err != nil || pid < 2 {
		t.Fatalf("pid %d, %v", pid, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	time.Sleep(100 * time.Millisecond)
	if !listens(w.told("base")) {
		t.Error("the proxy ended before the agent")
	}
	// Another start leaves its folder alone until the agent has ended, too.
	folders := func() int {
		found, err := filepath.Glob(filepath.Join(w.home, "tmp", "turnback-run-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	base := w.told("base")
	another := func() {
		t.Helper()
		if status, _, errs := newAgentOf(w, "claude", "exit 0").run(); status != 0 {
			t.Fatalf("status %d, %s", status, errs)
		}
	}
	another()
	if n := folders(); n != 1 {
		t.Errorf("%d folders while the agent lives", n)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the proxy ends with the agent", func() bool { return !listens(base) })
	another()
	if n := folders(); n != 0 {
		t.Errorf("%d folders of a killed starter are left", n)
	}
}

// newAgentOf puts another script in the place of a world's agent.
func newAgentOf(w *runWorld, name, script string) *runWorld {
	w.t.Helper()
	path := filepath.Join(w.home, "agents", name)
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755)); err != nil {
		w.t.Fatal(err)
	}
	return w
}

func testRunRefused(t *testing.T, bin string) {
	const key = "ANTHROPIC_API_KEY=sk-x"
	for name, test := range map[string]struct {
		agent  string
		env    []string
		files  map[string]string
		args   []string
		status int
		says   string
	}{
		"Bedrock":                         {"claude", []string{key, "CLAUDE_CODE_USE_BEDROCK=1"}, nil, nil, 1, "Amazon Bedrock"},
		"Vertex":                          {"claude", []string{key, "CLAUDE_CODE_USE_VERTEX=true"}, nil, nil, 1, "Google Vertex AI"},
		"Bedrock in settings":             {"claude", []string{key}, map[string]string{".claude/settings.json": `{"env":{"CLAUDE_CODE_USE_BEDROCK":"1"}}`}, nil, 1, "Amazon Bedrock"},
		"a subscription":                  {"claude", nil, map[string]string{".claude/.credentials.json": `{"claudeAiOauth":{}}`}, nil, 1, "never tested"},
		"settings do not parse":           {"claude", []string{key}, map[string]string{".claude/settings.json": `{`}, nil, 1, "does not parse"},
		"ChatGPT":                         {"codex", nil, map[string]string{".codex/auth.json": `{"auth_mode":"chatgpt","tokens":{}}`}, nil, 1, "ChatGPT"},
		"a provider of codex without URL": {"codex", nil, map[string]string{".codex/config.toml": `model_provider = "amazon-bedrock"`}, nil, 1, "amazon-bedrock"},
		"a provider of codex with a dot":  {"codex", nil, map[string]string{".codex/config.toml": "model_provider = \"my.prov\"\n[model_providers.\"my.prov\"]\nbase_url = \"http://127.0.0.1:9/v1\"\n"}, nil, 1, "a dot in its name"},
		"an unknown agent":                {"vim", []string{key}, nil, nil, 2, "does not know the agent"},
		"without the flag":                {"claude", []string{key}, nil, []string{"--", "claude"}, 2, "--conversation"},
		"no agent":                        {"claude", nil, nil, []string{"--conversation"}, 2, "AGENT is missing"},
		"no such program":                 {"claude", []string{key}, nil, []string{"--conversation", "--", "./claude"}, 1, "cannot be started"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRunWorld(t, bin, test.agent, `echo started >$OUT.started`)
			w.env = append(w.env, test.env...)
			for path, text := range test.files {
				w.write(path, text)
			}
			args := test.args
			if args == nil {
				args = []string{"--conversation", "--", test.agent}
			}
			cmd := w.command(args...)
			out, _ := cmd.CombinedOutput()
			if status := cmd.ProcessState.ExitCode(); status != test.status || !strings.Contains(string(out), test.says) {
				t.Errorf("status %d, %s", status, out)
			}
			if _, err := os.Stat(filepath.Join(w.home, "out.started")); err == nil {
				t.Error("the agent was started")
			}
		})
	}
}
