//go:build linux || darwin

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/agents/hookstate"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/terminal"
)

// hookBench runs the hook command against a daemon that answers from a function.
type hookBench struct {
	HookDeps
	out, err bytes.Buffer
	env      map[string]string
	reports  []api.AgentReport
	answer   func(context.Context) (api.SetAgentStateResult, error)
	connect  error
}

func newHookBench(t *testing.T, in io.Reader) *hookBench {
	b := &hookBench{env: map[string]string{}}
	b.HookDeps = HookDeps{
		In: in, Out: &b.out, Err: &b.err,
		Getenv:   func(name string) string { return b.env[name] },
		Dir:      func() (string, error) { return "/src/here", nil },
		Now:      time.Now,
		PID:      os.Getpid(),
		StateDir: filepath.Join(t.TempDir(), "state"),
		Adapters: HookAdapters(),
		Connect: func(context.Context) (command.Caller, error) {
			if b.connect != nil {
				return nil, b.connect
			}
			return b, nil
		},
	}
	return b
}

func (b *hookBench) Call(ctx context.Context, verb string, params, result any, _ func(api.Progress)) error {
	if verb != "agent-report" {
		return api.Errorf(api.CodeUnknownVerb, "the verb %s", verb)
	}
	b.reports = append(b.reports, params.(api.AgentReport))
	if b.answer == nil {
		return nil
	}
	r, err := b.answer(ctx)
	*result.(*api.SetAgentStateResult) = r
	return err
}

// run runs the hook as the program does, and checks what holds for every run.
func (b *hookBench) run(t *testing.T, args ...string) {
	t.Helper()
	cmd := NewHookCommand(b.HookDeps)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		t.Errorf("the command failed: %v", err)
	}
	if out := b.out.Bytes(); len(out) > 0 {
		dec := json.NewDecoder(bytes.NewReader(out))
		var value any
		if err := dec.Decode(&value); err != nil || dec.Decode(&value) != io.EOF {
			t.Errorf("stdout is not one JSON value: %q", out)
		}
	}
}

// logged returns the log's lines.
func (b *hookBench) logged(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.StateDir, "hook.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

const stopPayload = `{"session_id":"s1","prompt_id":"p1","cwd":"/src/api","hook_event_name":"Stop","last_assistant_message":"Done."}`

func TestHookReports(t *testing.T) {
	b := newHookBench(t, strings.NewReader(stopPayload))
	b.env["TMUX"], b.env["TMUX_PANE"], b.env["TURNBACK_PANE_ID"] = "/tmp/t,1,0", "%7", "00d333ce"
	b.env["CLAUDE_PID"] = strconv.Itoa(os.Getpid())
	b.run(t, "claude", "Stop")
	started, err := terminal.ProcessStart(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	want := []api.AgentReport{{
		Place: api.Place{
			Dir: "/src/api", PaneID: "00d333ce",
			TerminalKeys: terminal.IdentifyAgent(b.Getenv, os.Getpid()),
		},
		Agent: "claude", Event: "Stop", Kind: api.ReportStop, SessionID: "s1", PromptID: "p1", Message: "Done.",
		AgentPID: os.Getpid(), AgentStarted: started,
	}}
	if diff := cmp.Diff(want, b.reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	if keys := want[0].TerminalKeys; len(keys) == 0 || keys[0] != "tmux:/tmp/t,%7" {
		t.Errorf("keys = %q", keys)
	}
	if b.out.Len() > 0 || b.err.Len() > 0 || b.logged(t) != "" {
		t.Errorf("out %q, err %q, log %q; want nothing", &b.out, &b.err, b.logged(t))
	}
	if info, err := os.Stat(filepath.Join(b.StateDir, "hooks-seen", "claude")); err != nil || time.Since(info.ModTime()) > time.Minute {
		t.Errorf("the hook was not noted as seen: %v", err)
	}
}

func TestHookFallsBackToItsOwnPlace(t *testing.T) {
	b := newHookBench(t, strings.NewReader(`{"session_id":"s1"}`))
	b.env["CLAUDE_PID"] = "999999999" // no such process
	b.run(t, "claude", "SessionStart")
	if len(b.reports) != 1 || b.reports[0].Dir != "/src/here" || b.reports[0].AgentPID == 999999999 {
		t.Errorf("reports = %+v", b.reports)
	}
}

func TestHookWithBadInput(t *testing.T) {
	huge := `{"cwd":"/src","prompt":"` + strings.Repeat("SECRET", maxPayload/6) + `"}`
	tests := map[string]struct{ in, log string }{
		"nothing":        {"", "input is empty"},
		"garbage":        {"SECRET", "not a JSON object"},
		"half":           {`{"cwd":"SECRET`, "in the middle"},
		"malformed":      {`{"cwd":SECRET}`, "not valid JSON"},
		"huge":           {huge, "too large"},
		"a Windows path": {`{"cwd":"C:\SECRET"}`, "not a path of this system"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newHookBench(t, strings.NewReader(tt.in))
			// A busy machine must not make a large input one that stalls.
			b.Now = func() time.Time { return time.Now().Add(time.Hour) }
			b.run(t, "claude", "UserPromptSubmit")
			if b.out.Len() > 0 || len(b.reports) > 0 {
				t.Errorf("stdout %q, %d reports; want nothing", &b.out, len(b.reports))
			}
			if log := b.logged(t); !strings.Contains(log, tt.log) || strings.Contains(log, "SECRET") {
				t.Errorf("log = %q, want %q in it and no text of the agent", log, tt.log)
			}
			if _, ok := hookstate.Dir(b.StateDir).LastSeen("claude"); !ok {
				t.Error("it was not noted as seen")
			}
		})
	}
}

// openPipe is an input that holds text and is never closed.
func openPipe(t *testing.T, text string) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHookActsOnAnInputThatIsNeverClosed(t *testing.T) {
	b := newHookBench(t, openPipe(t, stopPayload))
	b.run(t, "claude", "Stop")
	if len(b.reports) != 1 || b.reports[0].Message != "Done." {
		t.Errorf("reports = %+v", b.reports)
	}
}

func TestHookGivesUpOnAnInputThatStalls(t *testing.T) {
	for name, text := range map[string]string{"silence": "", "half": stopPayload[:40]} {
		b := newHookBench(t, openPipe(t, text))
		start := time.Now()
		b.run(t, "claude", "Stop")
		// Exact on a machine at rest; the bound leaves room for a busy one.
		if took := time.Since(start); hookReadTime >= time.Second || took < hookReadTime || took > hookReadTime+2*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		if b.out.Len() > 0 || len(b.reports) > 0 || !strings.Contains(b.logged(t), "not complete in time") {
			t.Errorf("%s: stdout %q, %d reports, log %q", name, &b.out, len(b.reports), b.logged(t))
		}
	}
}

func TestHookNotices(t *testing.T) {
	down := api.Errorf(api.CodeNoDaemon, "no daemon could be started")
	tests := []struct {
		name, event string
		payload     string
		answer      api.SetAgentStateResult
		fails       error
		want, log   string
	}{
		{
			name: "not saved", event: "Stop", answer: api.SetAgentStateResult{Turn: 5, NotSaved: `disk "nearly" full`},
			want: `{"systemMessage":"turnback: turn 5 not saved: disk \"nearly\" full"}`,
		},
		{name: "saved", event: "Stop", answer: api.SetAgentStateResult{Turn: 5, Checkpoint: &api.Checkpoint{N: 2}}},
		{name: "still saving", event: "Stop", answer: api.SetAgentStateResult{Turn: 5, Pending: true}},
		{
			name: "no daemon at a stop", event: "Stop", fails: down,
			want: `{"systemMessage":"turnback: this turn is not saved: no daemon could be started"}`, log: "no daemon could be started",
		},
		{name: "no daemon at a tool", event: "PreToolUse", fails: down, log: "no daemon could be started"},
		{
			name: "no daemon at a subagent's stop", event: "Stop", payload: `{"agent_id":"a1","cwd":"/src"}`, fails: down,
			log: "no daemon could be started",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			payload := stopPayload
			if tt.payload != "" {
				payload = tt.payload
			}
			b := newHookBench(t, strings.NewReader(payload))
			b.answer = func(context.Context) (api.SetAgentStateResult, error) { return tt.answer, tt.fails }
			b.run(t, "claude", tt.event)
			if got := strings.TrimSuffix(b.out.String(), "\n"); got != tt.want {
				t.Errorf("stdout = %q, want %q", got, tt.want)
			}
			if log := b.logged(t); tt.log == "" && log != "" || !strings.Contains(log, tt.log) {
				t.Errorf("log = %q, want %q", log, tt.log)
			}
		})
	}
	b := newHookBench(t, strings.NewReader(stopPayload))
	b.connect = down
	b.run(t, "claude", "Stop")
	if !strings.Contains(b.out.String(), "this turn is not saved: no daemon") {
		t.Errorf("stdout = %q", &b.out)
	}
}

// TestHookTellsBackWhatItHandedOver has a hook told something for the model.
func TestHookTellsBackWhatItHandedOver(t *testing.T) {
	at := time.Date(2026, 11, 30, 10, 0, 0, 1, time.UTC)
	for name, c := range map[string]struct {
		answer  api.SetAgentStateResult
		out     io.Writer
		reports int
	}{
		"handed over": {api.SetAgentStateResult{Context: "files were restored", ContextAt: &at}, nil, 2},
		"not written": {api.SetAgentStateResult{Context: "files were restored", ContextAt: &at}, brokenPipe{}, 1},
		"nothing":     {api.SetAgentStateResult{}, nil, 1},
	} {
		b := newHookBench(t, strings.NewReader(`{"session_id":"s1","prompt_id":"p1","cwd":"/src/api","prompt":"go on"}`))
		b.answer = func(context.Context) (api.SetAgentStateResult, error) { return c.answer, nil }
		if c.out != nil {
			b.Out = c.out
		}
		b.run(t, "claude", "UserPromptSubmit")
		if len(b.reports) != c.reports || !b.reports[0].TellsBack || b.reports[0].Told != nil {
			t.Fatalf("%s: reports %+v", name, b.reports)
		}
		if c.reports < 2 {
			continue
		}
		if !strings.Contains(b.out.String(), "files were restored") {
			t.Errorf("%s: stdout = %q", name, &b.out)
		}
		if r := b.reports[1]; r.Kind != api.ReportSeen || r.Told == nil || !r.Told.Equal(at) || r.SessionID != "s1" || r.TellsBack || r.Prompt != "" {
			t.Errorf("%s: told back %+v", name, r)
		}
	}
}

// brokenPipe is where nobody reads any more.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// The times are those of a clock of its own, so they are exact.
func TestHookEndsInTime(t *testing.T) {
	tests := map[string]struct {
		answer func(ctx context.Context, release chan struct{}) error
		want   time.Duration
	}{
		"a daemon that does not answer": {
			answer: func(ctx context.Context, _ chan struct{}) error { <-ctx.Done(); return ctx.Err() },
			want:   hookCallTime,
		},
		"a call that heeds no deadline": {
			answer: func(_ context.Context, release chan struct{}) error { <-release; return nil },
			want:   hookHardTime,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				b := newHookBench(t, strings.NewReader(stopPayload))
				b.answer = func(ctx context.Context) (api.SetAgentStateResult, error) {
					return api.SetAgentStateResult{}, tt.answer(ctx, release)
				}
				start := time.Now()
				b.run(t, "claude", "Stop")
				if took := time.Since(start); took != tt.want || took >= 3*time.Second {
					t.Errorf("it took %v, want %v", took, tt.want)
				}
				close(release)
				if b.logged(t) == "" {
					t.Error("nothing was logged")
				}
			})
		})
	}
}

// broken is an adapter that panics.
type broken struct{ HookAdapter }

func (broken) Parse(string, []byte, func(string) string) (api.AgentReport, error) { panic("SECRET") }

func TestHookNeverFails(t *testing.T) {
	tests := map[string]struct {
		args []string
		log  string
	}{
		"no arguments":       {nil, "no such agent"},
		"no event":           {[]string{"claude"}, ""},
		"too much":           {[]string{"claude", "Stop", "more"}, ""},
		"another agent":      {[]string{"nobody", "Stop"}, "no such agent"},
		"an unknown option":  {[]string{"claude", "Stop", "--new-option"}, ""},
		"a path as an agent": {[]string{"../../x", "Stop"}, "no such agent"},
		"an unknown event":   {[]string{"claude", "Brand/New\nEvent"}, ""},
		"a panic":            {[]string{"broken", "Stop"}, "panic"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newHookBench(t, strings.NewReader(stopPayload))
			b.Adapters["broken"] = broken{}
			b.run(t, tt.args...)
			if b.out.Len() > 0 || strings.Contains(b.logged(t), "SECRET") || !strings.Contains(b.logged(t), tt.log) {
				t.Errorf("stdout %q, log %q", &b.out, b.logged(t))
			}
			entries, err := os.ReadDir(filepath.Dir(b.StateDir))
			if err != nil || len(entries) > 1 {
				t.Errorf("left beside the state directory: %v, %v", entries, err)
			}
		})
	}
}

// A state directory that cannot be used costs the log, not the report.
func TestHookWithoutAPlaceForState(t *testing.T) {
	for name, prepare := range map[string]func(*hookBench){
		"none":         func(b *hookBench) { b.StateDir = "" },
		"not writable": func(b *hookBench) { b.StateDir = "/dev/null/state" },
	} {
		b := newHookBench(t, strings.NewReader(stopPayload))
		prepare(b)
		b.run(t, "claude", "Stop")
		if len(b.reports) != 1 {
			t.Errorf("%s: %d reports", name, len(b.reports))
		}
	}
}

func TestHookAdaptersAreNamedAsTheyReport(t *testing.T) {
	for name, a := range HookAdapters() {
		r, err := a.Parse("Stop", []byte(`{}`), func(string) string { return "" })
		if err != nil || r.Agent != name {
			t.Errorf("the adapter %s reports as %q, %v", name, r.Agent, err)
		}
		if answer := a.Answer("Stop", api.ConversationReply{Notice: "x"}); !json.Valid(answer) || slices.Contains(answer, '\n') {
			t.Errorf("the notice of %s is %q", name, answer)
		}
	}
}
