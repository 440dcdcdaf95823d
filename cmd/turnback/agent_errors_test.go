//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// errorLine is the last line of an agent's --json, which has to be its error.
func (h *agentHouse) errorLine(status int, args ...string) (e api.Error, before []string) {
	h.t.Helper()
	cmd := h.command(append([]string{"agent"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its status is looked at
	if code := cmd.ProcessState.ExitCode(); code != status {
		h.t.Errorf("turnback agent %s: status %d, want %d\n%s%s", strings.Join(args, " "), code, status, stdout.String(), stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			h.t.Errorf("turnback agent %s: a line that is no JSON: %q", strings.Join(args, " "), line)
		}
	}
	last := lines[len(lines)-1]
	var read struct {
		Type string `json:"type"`
		api.Error
	}
	if err := json.Unmarshal([]byte(last), &read); err != nil || read.Type != "error" || read.Code == "" || read.Message == "" {
		h.t.Errorf("turnback agent %s: the last line is %q: %v", strings.Join(args, " "), last, err)
	}
	if stderr.Len() > 0 {
		h.t.Errorf("turnback agent %s: standard error has %q", strings.Join(args, " "), stderr.String())
	}
	return read.Error, lines[:len(lines)-1]
}

// testAgentErrorLines has everything fail that can, with --json.
func testAgentErrorLines(t *testing.T, bin string) {
	h := newAgentHouse(t, bin, fakemodel.ChatReply{Status: 400, Message: "no good"}, fakemodel.ChatReply{})
	for _, test := range []struct {
		code   api.Code
		status int
		lines  int
		hint   string // in the JSON of the hint
		args   string
	}{
		{api.CodeInvalidParams, 2, 0, "turnback agent --help", "--json"},
		{api.CodeInvalidParams, 2, 0, "turnback agent --help", "--json --bogus -p go"},
		{api.CodeInvalidParams, 2, 0, "turnback agent --help", "--json -p go superfluous"},
		{api.CodeInvalidParams, 2, 0, "turnback agent --help", "--json -p go --fork"},
		{api.CodeInvalidParams, 2, 0, "standard input", "--json -p -"},
		{api.CodeInvalidParams, 2, 0, "PROVIDER/NAME", "--json -p go"},
		{api.CodeInvalidParams, 2, 0, "--conversation", "--json -p go --model openai/m --rewind-files"},
		{api.CodeNoKey, 1, 0, "ANTHROPIC_API_KEY", "--json -p go --model anthropic/m"},
		{api.CodeSessionNotFound, 1, 0, "conversation list", "--json -p go --model openai/m --resume nothing"},
		{api.CodeSessionNotFound, 1, 0, "--continue", "--json -p go --model openai/m --continue"},
	} {
		e, before := h.errorLine(test.status, strings.Fields(test.args)...)
		hint, err := json.Marshal(e.Hint)
		if e.Code != test.code || len(before) != test.lines || err != nil || !strings.Contains(string(hint), test.hint) {
			t.Errorf("agent %s: %d lines, then code %s, want %s: %s: %s", test.args, len(before), e.Code, test.code, e.Message, hint)
		}
	}
	// None of it has left a trace.
	for _, dir := range h.env {
		if data, ok := strings.CutPrefix(dir, "XDG_DATA_HOME="); ok {
			if files, err := filepath.Glob(filepath.Join(data, "turnback", "conversations", "*")); err != nil || len(files) > 0 {
				t.Errorf("sessions %v, %v", files, err)
			}
		}
	}
	h.noWindows("before a turn")

	for _, want := range []string{"no good", "gave an empty answer (stop)"} {
		e, before := h.errorLine(1, "--json", "-p", "go", "--model", "openai/m")
		if e.Code != api.CodeModelFailed || !strings.Contains(e.Message, want) {
			t.Errorf("%+v, want %s", e, want)
		}
		if n := len(before); n == 0 || !strings.Contains(before[n-1], `"type":"end"`) || !strings.Contains(before[n-1], `"ok":false`) {
			t.Errorf("before the error of a turn that had begun: %q", before)
		}
	}
	h.noWindows("behind turns that failed")

	// Without --json it is told in words.
	cmd := h.command("agent", "-p", "go", "--model", "anthropic/m")
	out, err := cmd.CombinedOutput()
	if err == nil || string(out) != "turnback: there is no key for https://api.anthropic.com\nhint: set ANTHROPIC_API_KEY\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func (h *agentHouse) noWindows(when string) {
	h.t.Helper()
	var list api.ListWindowsResult
	if err := json.Unmarshal([]byte(h.does("ls", "--json")), &list); err != nil || len(list.Windows) > 0 {
		h.t.Errorf("windows %s: %+v, %v", when, list.Windows, err)
	}
}

// testAgentLeavesNoWindow: a run without a person is listed while it runs, and its
// checkpoints are found behind it.
func testAgentLeavesNoWindow(t *testing.T, bin string) {
	h := newAgentHouse(
		t, bin,
		toolCalls("", "write", "path", "a.txt", "content", "one\n"), fakemodel.ChatReply{Text: "end"},
		toolCalls("", "write", "path", "a.txt", "content", "two\n"), fakemodel.ChatReply{Text: "end"},
		fakemodel.ChatReply{Text: "at it", Hang: true},
	)
	h.agent("-p", "one")
	h.noWindows("behind a run")
	h.agent("-p", "two", "--continue")
	h.noWindows("behind a run that went on")
	turns := slices.DeleteFunc(h.saved(), func(c savedTurn) bool { return c.Kind != "turn" })
	if len(turns) != 2 {
		t.Fatalf("saved: %+v", turns)
	}
	h.does("undo")
	if got := h.repo.Read("a.txt"); got != "one\n" {
		t.Errorf("undo behind the run leaves %q", got)
	}
	cmd := h.command("agent", "--model", "openai/m", "-p", "three")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.waitForRequests(5)
	var list api.ListWindowsResult
	if err := json.Unmarshal([]byte(h.does("ls", "--json")), &list); err != nil || len(list.Windows) != 1 || list.Windows[0].State != "working" {
		t.Errorf("while it runs: %+v, %v", list.Windows, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	h.noWindows("behind a run that was killed")
}
