package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
)

// bench is the command line without a daemon: it records what was called and
// answers from a table.
type bench struct {
	command.Deps
	out, err bytes.Buffer
	env      map[string]string

	answers map[string]any // verb: a result, or an *api.Error
	calls   []call
	paged   string // the pager that was used
	pages   string // what it got
}

type call struct {
	Verb   string
	Params map[string]any
	Reach  command.Reach
}

func newBench(answers map[string]any) *bench {
	b := &bench{answers: answers, env: map[string]string{}}
	b.Deps = command.Deps{
		Streams: screen.Streams{In: strings.NewReader(""), Out: &b.out, Err: &b.err},
		Getenv:  func(name string) string { return b.env[name] },
		Dir:     func() (string, error) { return "/src/api", nil },
		Now:     func() time.Time { return time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC) },
		Version: command.Version{Version: "1.2.3", Commit: "abc1234", Go: "go1.26"},
		Connect: func(_ context.Context, reach command.Reach) (command.Caller, error) {
			return benchCaller{b, reach}, nil
		},
		Page: func(_ context.Context, pager string, in io.Reader) error {
			text, err := io.ReadAll(in)
			b.paged, b.pages = pager, string(text)
			return err
		},
		GitSetting: func(context.Context, string, string) string { return "" },
		Commands:   []*cobra.Command{NewHookCommand(HookDeps{}), NewSetupCommand(SetupDeps{}), NewProxyCommand(ProxyDeps{}), NewRunCommand(RunDeps{})},
	}
	return b
}

type benchCaller struct {
	b     *bench
	reach command.Reach
}

func (c benchCaller) Call(_ context.Context, verb string, params, result any, _ func(api.Progress)) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	got := call{Verb: verb, Reach: c.reach}
	if err := json.Unmarshal(data, &got.Params); err != nil {
		return err
	}
	c.b.calls = append(c.b.calls, got)
	answer, known := c.b.answers[verb]
	if !known {
		return api.Errorf(api.CodeUnknownVerb, "no answer for %s", verb)
	}
	if failure, ok := answer.(*api.Error); ok {
		return failure
	}
	if data, err = json.Marshal(answer); err != nil {
		return err
	}
	return json.Unmarshal(data, result)
}

func (b *bench) run(args ...string) int {
	b.out.Reset()
	b.err.Reset()
	b.calls = nil
	return Execute(context.Background(), b.Deps, args)
}

func restored() api.RestoreResult {
	return api.RestoreResult{Pane: api.Pane{Session: "api", Pane: "00d333ce"}, N: 1, Action: "restore", Safety: 3}
}

// TestCommandsCallTheirVerb checks what each command line asks of which verb.
func TestCommandsCallTheirVerb(t *testing.T) {
	here := map[string]any{"dir": "/src/api"}
	with := func(pairs ...any) map[string]any {
		m := map[string]any{"dir": "/src/api"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	for line, want := range map[string]call{
		"checkpoint list":                      {"list-checkpoints", here, command.StartDaemon},
		"cp ls --all -s api -w build":          {"list-checkpoints", with("all", true, "session", "api", "window", "build"), command.StartDaemon},
		"checkpoint show 2":                    {"show-checkpoint", with("n", 2.0), command.StartDaemon},
		"checkpoint diff":                      {"checkpoint-diff", with("binary", true), command.StartDaemon},
		"checkpoint diff 2 --stat":             {"checkpoint-diff", with("n", 2.0, "stat", true), command.StartDaemon},
		"checkpoint diff 1..3 --context 0":     {"checkpoint-diff", with("from", 1.0, "to", 3.0, "context", 0.0, "binary", true), command.StartDaemon},
		"checkpoint diff 2 --worktree --json":  {"checkpoint-diff", with("n", 2.0, "worktree", true), command.StartDaemon},
		"checkpoint diff --path a --path b,c":  {"checkpoint-diff", with("binary", true, "paths", []any{"a", "b,c"}), command.StartDaemon},
		"checkpoint restore 1":                 {"restore-checkpoint", with("n", 1.0), command.StartDaemon},
		"checkpoint restore 1 --force --here":  {"restore-checkpoint", with("n", 1.0, "force", true, "here", true), command.StartDaemon},
		"checkpoint restore --path x 1":        {"restore-checkpoint", with("n", 1.0, "paths", []any{"x"}), command.StartDaemon},
		"checkpoint restore --dry-run 1":       {"restore-checkpoint", with("n", 1.0, "dry_run", true), command.StartDaemon},
		"checkpoint restore --continue":        {"continue-restore", here, command.StartDaemon},
		"checkpoint restore --abort --force":   {"abort-restore", with("force", true), command.StartDaemon},
		"checkpoint revert 2 --dry-run":        {"revert-checkpoint", with("n", 2.0, "dry_run", true), command.StartDaemon},
		"checkpoint revert 2 --path x --force": {"revert-checkpoint", with("n", 2.0, "force", true, "paths", []any{"x"}), command.StartDaemon},
		"checkpoint save -m x":                 {"save-checkpoint", with("label", "x"), command.StartDaemon},
		"checkpoint drop 1 --now":              {"drop-checkpoints", with("ns", []any{1.0}, "now", true), command.StartDaemon},
		"checkpoint untrash 1 2":               {"untrash-checkpoints", with("ns", []any{1.0, 2.0}), command.StartDaemon},
		"checkpoint list --trash":              {"list-checkpoints", with("trash", true), command.StartDaemon},
		"checkpoint prune --stats":             {"checkpoint-stats", here, command.StartDaemon},
		"checkpoint purge --path a --now":      {"purge-checkpoints", with("path", "a", "now", true), command.StartDaemon},
		"checkpoint drop 1 2":                  {"drop-checkpoints", with("ns", []any{1.0, 2.0}), command.StartDaemon},
		"checkpoint prune --older-than 30d":    {"prune-checkpoints", with("older_than", "30d"), command.StartDaemon},
		"checkpoint branch 2 feat/x":           {"branch-checkpoint", with("n", 2.0, "name", "feat/x"), command.StartDaemon},
		"trust --show":                         {"list-filters", here, command.StartDaemon},
		"trust --remove":                       {"distrust-filters", here, command.StartDaemon},
		"undo --force":                         {"undo", with("force", true), command.StartDaemon},
		"redo -w build":                        {"redo", with("window", "build"), command.StartDaemon},
		"ls":                                   {"list-windows", map[string]any{}, command.StartDaemon},
		"get-agent-state -w build":             {"get-agent-state", with("window", "build"), command.StartDaemon},
		"set-agent-state working --prompt hi":  {"set-agent-state", with("state", "working", "prompt", "hi"), command.StartDaemon},
		"set-agent-state done --dir sub -m ok": {"set-agent-state", map[string]any{"dir": "/src/api/sub", "state": "done", "message": "ok"}, command.StartDaemon},
		"set-agent-state done --dir /other":    {"set-agent-state", map[string]any{"dir": "/other", "state": "done"}, command.StartDaemon},
		"status":                               {"status", map[string]any{"version": "1.2.3"}, command.StartDaemon},
		"daemon start":                         {"status", map[string]any{"version": "1.2.3"}, command.StartDaemon},
		"daemon status":                        {"status", map[string]any{"version": "1.2.3"}, command.DialOnly},
		"list-verbs":                           {"list-verbs", map[string]any{}, command.StartDaemon},
		"call undo {\"n\":1}":                  {"undo", map[string]any{"n": 1.0}, command.StartDaemon},
		"call status":                          {"status", map[string]any{}, command.StartDaemon},
	} {
		t.Run(line, func(t *testing.T) {
			b := newBench(map[string]any{want.Verb: struct{}{}})
			if status := b.run(strings.Fields(line)...); status != 0 {
				t.Fatalf("exit status %d: %s", status, b.err.String())
			}
			if diff := cmp.Diff([]call{want}, b.calls); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlaceTellsThePaneAndTheTerminal(t *testing.T) {
	b := newBench(map[string]any{"undo": restored()})
	b.env["TURNBACK_PANE_ID"] = "00d333ce"
	b.Terminal = func() []string { return []string{"tmux:/s,%1", "tty:x"} }
	b.Parents = func() []int { return []int{30, 20} }
	b.run("undo")
	want := map[string]any{"dir": "/src/api", "pane_id": "00d333ce", "terminal_keys": []any{"tmux:/s,%1", "tty:x"}, "ancestors": []any{30.0, 20.0}}
	if diff := cmp.Diff(want, b.calls[0].Params); diff != "" {
		t.Errorf("place (-want +got):\n%s", diff)
	}
}

// TestWrongUsage checks that what cannot be meant is refused before any verb is
// called, with exit status 2 and a hint.
func TestWrongUsage(t *testing.T) {
	for line, want := range map[string]string{
		"chekpoint":                             "turnback: turnback has no command \"chekpoint\"\nhint: did you mean checkpoint?; run: turnback --help\n",
		"checkpoint lst":                        "turnback: turnback checkpoint has no command \"lst\"\nhint: did you mean list?; run: turnback checkpoint --help\n",
		"checkpoint list x":                     "turnback: unexpected argument \"x\"\nhint: run: turnback checkpoint list --help\n",
		"checkpoint diff --sta":                 "turnback: unknown flag: --sta\nhint: did you mean --stat?; run: turnback checkpoint diff --help\n",
		"checkpoint diff --color red":           "turnback: --color does not take \"red\"\nhint: accepted: auto, always, never\n",
		"checkpoint diff 1..x":                  "turnback: \"x\" is no checkpoint number\nhint: accepted: a whole number from 1 up; run: turnback checkpoint list\n",
		"checkpoint diff 1..2 --worktree":       "turnback: --worktree compares one checkpoint, not \"1..2\"\nhint: run: turnback checkpoint diff --help\n",
		"checkpoint diff --context x":           "turnback: --context takes a whole number from 0 to 20, not \"x\"\nhint: run: turnback checkpoint diff --help\n",
		"checkpoint diff --context 21":          "turnback: --context takes a whole number from 0 to 20, not \"21\"\nhint: run: turnback checkpoint diff --help\n",
		"checkpoint diff --context -1":          "turnback: --context takes a whole number from 0 to 20, not \"-1\"\nhint: run: turnback checkpoint diff --help\n",
		"checkpoint diff --stat=perhaps":        "turnback: --stat takes true or false, not \"perhaps\"\nhint: run: turnback checkpoint diff --help\n",
		"daemon logs -n many":                   "turnback: --lines takes a whole number, not \"many\"\nhint: run: turnback daemon logs --help\n",
		"checkpoint restore":                    "turnback: the checkpoint's number is missing\nhint: run: turnback checkpoint restore --help\n",
		"checkpoint restore 0":                  "turnback: \"0\" is no checkpoint number\nhint: accepted: a whole number from 1 up; run: turnback checkpoint list\n",
		"checkpoint restore 1 2":                "turnback: unexpected argument \"2\"\nhint: run: turnback checkpoint restore --help\n",
		"checkpoint restore --continue 1":       "turnback: --continue takes no checkpoint number\nhint: run: turnback checkpoint restore --help\n",
		"checkpoint restore --continue --abort": "turnback: --continue and --abort exclude each other\nhint: run: turnback checkpoint restore --help\n",
		"checkpoint restore --abort --here":     "turnback: --abort goes with no other flag than --force\nhint: run: turnback checkpoint restore --help\n",
		"checkpoint drop":                       "turnback: the checkpoint's number is missing\nhint: run: turnback checkpoint drop --help\n",
		"checkpoint untrash":                    "turnback: the checkpoint's number is missing\nhint: run: turnback checkpoint untrash --help\n",
		"checkpoint prune --stats --dry-run":    "turnback: --stats goes with neither --older-than nor --dry-run: it deletes nothing\nhint: run: turnback checkpoint prune --help\n",
		"checkpoint purge":                      "turnback: --path is missing\nhint: run: turnback checkpoint purge --help\n",
		"checkpoint branch 1":                   "turnback: the branch's name is missing\nhint: run: turnback checkpoint branch --help\n",
		"set-agent-state":                       "turnback: the state is missing\nhint: run: turnback set-agent-state --help\n",
		"daemon logs -n -1":                     "turnback: --lines does not take -1\nhint: run: turnback daemon logs --help\n",
	} {
		t.Run(line, func(t *testing.T) {
			b := newBench(nil)
			if status := b.run(strings.Fields(line)...); status != 2 {
				t.Errorf("exit status %d, want 2", status)
			}
			if diff := cmp.Diff(want, b.err.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			if b.out.Len() > 0 || b.calls != nil {
				t.Errorf("stdout %q, calls %v", b.out.String(), b.calls)
			}
		})
	}
}

// TestErrorsOfVerbs checks exit statuses and both forms of an error.
func TestErrorsOfVerbs(t *testing.T) {
	failure := api.Errorf(api.CodeNotReady, "claude works in /src/api").WithHint(api.Hint{Command: "turnback checkpoint restore 1 --force"})
	for code, status := range map[api.Code]int{
		api.CodeNoCheckpoint: 1, api.CodeNotReady: 4, api.CodeWouldOverwrite: 4, api.CodeEditedSince: 4, api.CodeHeadMoved: 4,
		api.CodeOtherWorktree: 4, api.CodeDamaged: 4, api.CodeInterrupted: 4, api.CodeForbidden: 4, api.CodeChangedMeanwhile: 4,
		api.CodeNotRepo: 1, api.CodeWindowNotFound: 1, api.CodeAmbiguousWindow: 1, api.CodeInvalidParams: 2, api.CodeNoDaemon: 3,
		api.CodeTimeout: 1, api.CodeDiskFull: 1, api.CodeGitFailed: 1, api.CodeNothingToUndo: 1,
	} {
		e := *failure
		e.Code = code
		b := newBench(map[string]any{"restore-checkpoint": &e})
		if got := b.run("checkpoint", "restore", "1"); got != status {
			t.Errorf("%s: exit status %d, want %d", code, got, status)
		}
		if want := "turnback: claude works in /src/api\nhint: run: turnback checkpoint restore 1 --force\n"; b.err.String() != want {
			t.Errorf("%s: stderr %q", code, b.err.String())
		}
		if got := b.run("checkpoint", "restore", "1", "--json"); got != status {
			t.Errorf("%s with --json: exit status %d, want %d", code, got, status)
		}
		var reply struct {
			Error api.Error `json:"error"`
		}
		if err := json.Unmarshal(b.out.Bytes(), &reply); err != nil {
			t.Fatalf("stdout is not one JSON value: %v: %s", err, b.out.String())
		}
		if diff := cmp.Diff(e, reply.Error); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
		if b.err.Len() > 0 {
			t.Errorf("stderr with --json: %q", b.err.String())
		}
	}
}

func TestWrongUsageWithJSONIsJSON(t *testing.T) {
	b := newBench(nil)
	if status := b.run("checkpoint", "list", "--json", "--nope"); status != 2 {
		t.Errorf("exit status %d", status)
	}
	want := `{
  "error": {
    "code": "invalid_params",
    "message": "unknown flag: --nope",
    "hint": {
      "command": "turnback checkpoint list --help"
    }
  }
}
`
	if diff := cmp.Diff(want, b.out.String()); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
}

func TestJSONIsTheResultOfTheVerbWithUnknownFieldsToo(t *testing.T) {
	b := newBench(map[string]any{"list-checkpoints": map[string]any{"checkpoints": []any{}, "later": "é"}})
	if status := b.run("checkpoint", "list", "--json"); status != 0 {
		t.Fatal(b.err.String())
	}
	if want := "{\n  \"checkpoints\": [],\n  \"later\": \"é\"\n}\n"; b.out.String() != want {
		t.Errorf("stdout %q", b.out.String())
	}
}

func TestCallSpeaksJSONAlways(t *testing.T) {
	b := newBench(map[string]any{"status": api.Errorf(api.CodeNoDaemon, "none")})
	if status := b.run("call", "status", "{}"); status != 3 {
		t.Errorf("exit status %d", status)
	}
	if !json.Valid(b.out.Bytes()) || b.err.Len() > 0 {
		t.Errorf("stdout %q, stderr %q", b.out.String(), b.err.String())
	}
	for _, bad := range []string{"[]", "null", "{", "1", `{}{}`} {
		if status := b.run("call", "status", bad); status != 2 || !strings.Contains(b.out.String(), "no JSON object") || b.calls != nil {
			t.Errorf("parameters %s: exit status %d, stdout %s", bad, status, b.out.String())
		}
	}
	b = newBench(map[string]any{"undo": restored()})
	b.Streams.In = strings.NewReader(` {"dir":"/x"} `)
	if status := b.run("call", "undo", "-"); status != 0 || b.calls[0].Params["dir"] != "/x" {
		t.Errorf("exit status %d, calls %v", status, b.calls)
	}
}

func patch() api.CheckpointDiffResult {
	return api.CheckpointDiffResult{
		Pane: api.Pane{Session: "api", Pane: "00d333ce"}, Subject: "Checkpoint 1", Against: "HEAD 1a2b3c4",
		Files: []api.FileDiff{{Status: "M", Path: "a", Added: 1}}, Added: 1,
		Patch: "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x\x1b[2J\n",
	}
}

func TestDiffIsPagedAsGitDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		env    map[string]string
		config string
		args   []string
		want   string
	}{
		"nothing set": {nil, "", nil, "less"},
		"PAGER":       {map[string]string{"PAGER": "more"}, "", nil, "more"},
		"core.pager":  {map[string]string{"PAGER": "more"}, "delta", nil, "delta"},
		"GIT_PAGER":   {map[string]string{"GIT_PAGER": "most -s"}, "delta", nil, "most -s"},
		"empty":       {map[string]string{"GIT_PAGER": ""}, "delta", nil, ""},
		"cat":         {map[string]string{"PAGER": "cat"}, "", nil, ""},
		"not wanted":  {nil, "", []string{"--no-pager"}, ""},
		"json":        {nil, "", []string{"--json"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(map[string]any{"checkpoint-diff": patch()})
			b.Streams.OutTerminal = true
			b.GitSetting = func(context.Context, string, string) string { return tc.config }
			for k, v := range tc.env {
				b.env[k] = v
				b.Environ = append(b.Environ, k+"="+v)
			}
			if status := b.run(append([]string{"checkpoint", "diff"}, tc.args...)...); status != 0 {
				t.Fatal(b.err.String())
			}
			if b.paged != tc.want {
				t.Errorf("paged with %q, want %q", b.paged, tc.want)
			}
			if (b.pages == "") == (b.out.Len() == 0) {
				t.Errorf("the text must go one way: stdout %q, pager %q", b.out.String(), b.pages)
			}
		})
	}
}

func TestDiffWithoutATerminalIsNotTouched(t *testing.T) {
	b := newBench(map[string]any{"checkpoint-diff": patch()})
	b.run("checkpoint", "diff")
	want := "Checkpoint 1 of api, pane 00d333ce, against HEAD 1a2b3c4: 1 file, +1 -0\n" + patch().Patch
	if b.out.String() != want || b.paged != "" {
		t.Errorf("stdout %q, paged %q", b.out.String(), b.paged)
	}
	b.run("checkpoint", "diff", "--color", "always")
	if !strings.Contains(b.out.String(), "\x1b[32m+x\x1b[2J\x1b[m\n") {
		t.Errorf("--color always: %q", b.out.String())
	}
}

func TestDiffOnATerminalIsColouredAndHarmless(t *testing.T) {
	b := newBench(map[string]any{"checkpoint-diff": patch()})
	b.Streams.OutTerminal = true
	b.run("checkpoint", "diff", "--no-pager")
	if !strings.Contains(b.out.String(), "\x1b[32m+x^[[2J\x1b[m\n") {
		t.Errorf("stdout %q", b.out.String())
	}
	if b.calls[0].Params["binary"] != nil {
		t.Error("binary patches on a terminal")
	}
	b.env["NO_COLOR"] = "1"
	b.run("checkpoint", "diff", "--no-pager")
	if strings.Contains(b.out.String(), "\x1b") {
		t.Errorf("NO_COLOR: %q", b.out.String())
	}
}

func TestColourFollowsGitsSetting(t *testing.T) {
	for _, tc := range []struct {
		ui, when string
		want     bool
	}{
		{"", "auto", true},
		{"auto", "auto", true},
		{"always", "auto", true},
		{"true", "auto", true},
		{"false", "auto", false},
		{"never", "auto", false},
		{"No", "auto", false},
		{"never", "always", true},
		{"", "never", false},
	} {
		b := newBench(map[string]any{"checkpoint-diff": patch()})
		b.Streams.OutTerminal = true
		b.GitSetting = func(_ context.Context, _, key string) string {
			if key == "color.ui" {
				return tc.ui
			}
			return ""
		}
		b.run("checkpoint", "diff", "--no-pager", "--color", tc.when)
		if got := strings.Contains(b.out.String(), "\x1b[32m"); got != tc.want {
			t.Errorf("color.ui %q, --color %s: coloured %t", tc.ui, tc.when, got)
		}
	}
}

// Without a terminal nothing is coloured, and git need not be asked.
func TestColourCostsNothingInAPipe(t *testing.T) {
	b := newBench(map[string]any{"checkpoint-diff": patch()})
	b.GitSetting = func(_ context.Context, _, key string) string {
		t.Errorf("git was asked for %s", key)
		return ""
	}
	b.run("checkpoint", "diff")
}

func TestNamesAreQuotedByCoreQuotePath(t *testing.T) {
	r := patch()
	r.Files[0].Path = "ü"
	b := newBench(map[string]any{"checkpoint-diff": r})
	b.run("checkpoint", "diff", "--stat")
	if !strings.Contains(b.out.String(), `M  "\303\274"  +1 -0`) {
		t.Errorf("stdout %q", b.out.String())
	}
	b.GitSetting = func(_ context.Context, dir, key string) string {
		if dir != "/src/api" || key != "core.quotepath" {
			t.Errorf("asked for %s in %s", key, dir)
		}
		return "false"
	}
	b.run("checkpoint", "diff", "--stat")
	if !strings.Contains(b.out.String(), "M  ü  +1 -0") {
		t.Errorf("stdout %q", b.out.String())
	}
}

func TestVerifyEndsWithOneWhenSomethingIsWrong(t *testing.T) {
	for line, verb := range map[string]string{"checkpoint verify": "verify-checkpoints", "checkpoint verify --mend --full": "mend-checkpoints"} {
		for _, ok := range []bool{true, false} {
			b := newBench(map[string]any{verb: api.VerifyCheckpointsResult{OK: ok}})
			status := b.run(strings.Fields(line)...)
			if (status == 0) != ok || status > 1 || len(b.calls) != 1 || b.calls[0].Verb != verb || b.out.Len() == 0 {
				t.Errorf("%s, ok %t: exit status %d, calls %v, stderr %q", line, ok, status, b.calls, b.err.String())
			}
			if b.run(append(strings.Fields(line), "--json")...); !json.Valid(b.out.Bytes()) {
				t.Errorf("%s --json: %q", line, b.out.String())
			}
		}
	}
}

func TestDaemonStop(t *testing.T) {
	b := newBench(nil)
	b.StopDaemon = func(context.Context) (api.StopDaemonResult, error) { return api.StopDaemonResult{PID: 7}, nil }
	if status := b.run("daemon", "stop"); status != 0 || b.out.String() != "daemon stopped, pid 7\n" {
		t.Errorf("exit status %d, stdout %q", status, b.out.String())
	}
	b.StopDaemon = func(context.Context) (api.StopDaemonResult, error) {
		return api.StopDaemonResult{}, api.Errorf(api.CodeNoDaemon, "none")
	}
	if status := b.run("daemon", "stop"); status != 0 || b.out.String() != "no daemon is running\n" {
		t.Errorf("exit status %d, stdout %q", status, b.out.String())
	}
	b.StopDaemon = func(context.Context) (api.StopDaemonResult, error) {
		return api.StopDaemonResult{PID: 7}, context.DeadlineExceeded
	}
	if status := b.run("daemon", "stop"); status != 1 || !strings.Contains(b.err.String(), "pid 7, did not end") {
		t.Errorf("exit status %d, stderr %q", status, b.err.String())
	}
}

func TestEvents(t *testing.T) {
	b := newBench(nil)
	event := api.Event{
		Type: "checkpoint_saved", At: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Session: "api", Pane: "00d333ce",
		Turn: 2, State: "done", Checkpoint: &api.Checkpoint{N: 3},
	}
	b.Events = func(_ context.Context, each func(api.Event) error) error {
		if err := each(event); err != nil {
			return err
		}
		return io.EOF
	}
	if status := b.run("events"); status != 0 || b.out.String() != "09:00:00  checkpoint_saved  api, pane 00d333ce  turn 2  done  checkpoint 3\n" {
		t.Errorf("exit status %d, stdout %q", status, b.out.String())
	}
	b.run("events", "--json")
	if lines := strings.Split(b.out.String(), "\n"); len(lines) != 2 || !json.Valid([]byte(lines[0])) {
		t.Errorf("stdout %q", b.out.String())
	}
}

func TestAnInterruptedCommandSaysSo(t *testing.T) {
	b := newBench(nil)
	ctx, cancel := context.WithCancel(context.Background())
	b.Connect = func(ctx context.Context, _ command.Reach) (command.Caller, error) {
		cancel()
		return nil, ctx.Err()
	}
	if status := Execute(ctx, b.Deps, []string{"ls"}); status != 130 || b.err.String() != "turnback: stopped by a signal\n" {
		t.Errorf("exit status %d, stderr %q", status, b.err.String())
	}
}

func TestAGroupAlonePrintsItsHelp(t *testing.T) {
	for _, line := range []string{"", "checkpoint", "daemon", "config"} {
		b := newBench(nil)
		if status := b.run(strings.Fields(line)...); status != 0 || !strings.Contains(b.out.String(), "Usage:\n") {
			t.Errorf("turnback %s: exit status %d, stdout %q", line, status, b.out.String())
		}
	}
}

func TestVersion(t *testing.T) {
	b := newBench(nil)
	b.run("version")
	if b.out.String() != "turnback 1.2.3 (abc1234, go1.26)\n" {
		t.Errorf("stdout %q", b.out.String())
	}
	b.run("--version")
	if b.out.String() != "turnback 1.2.3\n" {
		t.Errorf("stdout %q", b.out.String())
	}
}

func TestVersionOfABuild(t *testing.T) {
	build := func(main string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: main}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	for _, tc := range []struct {
		info            *debug.BuildInfo
		version, commit string
	}{
		{nil, release, ""},
		{build("(devel)"), release, ""},
		{build("v1.2.3", revision), "v1.2.3", "0123456789ab"},
		{build("", revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), release, "0123456789ab with changes"},
		{build("", debug.BuildSetting{Key: "vcs.modified", Value: "false"}, revision), release, "0123456789ab"},
	} {
		got := VersionOf(tc.info)
		if got.Version != tc.version || got.Commit != tc.commit || got.Go == "" {
			t.Errorf("VersionOf(%v) = %+v", tc.info, got)
		}
	}
}

// TestCompletionAsksADaemonThatListens checks the words that a shell is offered,
// and that pressing Tab never starts a daemon.
func TestCompletionAsksADaemonThatListens(t *testing.T) {
	b := newBench(map[string]any{
		"list-windows": api.ListWindowsResult{Windows: []api.WindowInfo{
			{Name: "build", ID: "00d333ce", Session: "api", State: "done", Worktree: "/src/api"},
			{Name: "claude", ID: "11112222", Session: "web", State: "idle", Worktree: "/src/web"},
		}},
		"list-checkpoints": api.ListCheckpointsResult{Checkpoints: []api.Checkpoint{{N: 1, Label: "first"}, {N: 2, Label: "second"}}},
		"list-verbs":       api.ListVerbsResult{Verbs: []api.VerbInfo{{Name: "undo", Summary: "Undo."}}},
	})
	for line, want := range map[string]string{
		"checkpoint list -s ":        "api\t/src/api\nweb\t/src/web\n:4\n",
		"checkpoint list -s web -w ": "claude\t11112222, idle, in /src/web\n:4\n",
		"checkpoint restore ":        "1\tfirst\n2\tsecond\n:36\n",
		"checkpoint restore 1 ":      ":4\n",
		"checkpoint drop 1 ":         "1\tfirst\n2\tsecond\n:36\n",
		"checkpoint diff --color ":   "auto\nalways\nnever\n:4\n",
		"call ":                      "undo\tUndo.\n:4\n",
		"set-agent-state ":           strings.Join(stateNames(), "\n") + "\n:4\n",
	} {
		b.run(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if b.out.String() != want {
			t.Errorf("%s: %q, want %q", line, b.out.String(), want)
		}
		if slices.ContainsFunc(b.calls, func(c call) bool { return c.Reach != command.DialOnly }) {
			t.Errorf("%s: it would start a daemon", line)
		}
	}
}
