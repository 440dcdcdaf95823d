//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/turnback/turnback/internal/terminal"
)

// TestProgram runs the program as a user does, with real git. The scripts are
// in testdata/script; their commands are explained in its README.md. One alone:
// go test ./cmd/turnback -run 'TestProgram/scripts/NAME'.
func TestProgram(t *testing.T) {
	bin := build(t)
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 filepath.Join("..", "..", "testdata", "script"),
			Setup:               func(env *testscript.Env) error { return setUp(env, bin) },
			Cmds:                commands(),
			Condition:           condition,
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
		})
	})
	t.Run("tour ends cleanly on an interrupt", func(t *testing.T) { testTourInterrupted(t, bin) })
	t.Run("tour ends cleanly when its reader goes away", func(t *testing.T) { testTourUnread(t, bin) })
}

// build builds the program once for all scripts and returns its folder.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	out, err := exec.Command("go", "build", "-o", bin, ".", "../turnback-agent").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// setUp gives a script a home, XDG folders and a daemon of its own. The socket
// lies in a folder with a short name, since its path is limited.
func setUp(env *testscript.Env, bin string) error {
	home := filepath.Join(env.WorkDir, "home")
	run, err := os.MkdirTemp("/tmp", "tb")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	gitconfig := "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitconfig), 0o600); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"PATH":                bin + string(os.PathListSeparator) + env.Getenv("PATH"),
		"HOME":                home,
		"XDG_CONFIG_HOME":     filepath.Join(home, "config"),
		"XDG_STATE_HOME":      filepath.Join(home, "state"),
		"XDG_DATA_HOME":       filepath.Join(home, "data"),
		"XDG_CACHE_HOME":      filepath.Join(home, "cache"),
		"TURNBACK_SOCKET":     filepath.Join(run, "s"),
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_DATE":     "2026-11-01T12:00:00Z",
		"GIT_COMMITTER_DATE":  "2026-11-01T12:00:00Z",
		"TZ":                  "UTC",
		"TERM":                "xterm",
		"LC_ALL":              "C.UTF-8",
	} {
		env.Setenv(name, value)
	}
	env.Defer(func() {
		if err := errors.Join(endDaemon(filepath.Join(bin, "turnback"), env.Vars), os.RemoveAll(run)); err != nil {
			panic(err) // a Defer of testscript has no other way to fail
		}
	})
	return nil
}

// condition knows [terminal]: the tests themselves run below a terminal, so that
// every command of a script seems to come from one pane.
func condition(name string) (bool, error) {
	if name != "terminal" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return len(terminal.Identify(func(string) string { return "" }, os.Getpid())) > 0, nil
}

// endDaemon stops the daemon that env leads to, by its process id if it does
// not stop when asked.
func endDaemon(program string, env []string) error {
	status := exec.Command(program, "daemon", "status", "--json")
	status.Env = env
	out, err := status.Output()
	if err != nil {
		return nil // none runs
	}
	var daemon struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(out, &daemon); err != nil || daemon.PID <= 1 {
		return fmt.Errorf("daemon status: %q: %w", out, err)
	}
	stop := exec.Command(program, "daemon", "stop")
	stop.Env = env
	out, err = stop.CombinedOutput()
	if waitGone(daemon.PID, 10*time.Second) {
		return nil
	}
	_ = syscall.Kill(daemon.PID, syscall.SIGKILL)
	return fmt.Errorf("the daemon, pid %d, had to be killed: %v: %s", daemon.PID, err, out)
}

// waitGone waits until no process has the id.
func waitGone(pid int, patience time.Duration) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) {
			return true
		}
	}
	return false
}

// zombie reports a process that has ended and whose parent does not ask.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, found := strings.Cut(string(stat), ") ")
	return err == nil && found && strings.HasPrefix(rest, "Z")
}

type command = func(ts *testscript.TestScript, neg bool, args []string)

func commands() map[string]command {
	return map[string]command{
		"turnback": program("turnback"),
		"git":      program("git"),
		"exits":    exits,
		"like":     like,
		"value":    value,
		"write":    write,
		"killpid":  killPID,
	}
}

// program is a command of its own for a program: turnback ARG...
func program(name string) command {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		err := ts.Exec(name, args...)
		switch {
		case err != nil && !neg:
			ts.Fatalf("%s failed: %v", name, err)
		case err == nil && neg:
			ts.Fatalf("%s succeeded, which it should not", name)
		}
	}
}

// exits STATUS COMMAND... runs a command that must end with this status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	status := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// like FILE WANT compares a file, or stdout or stderr, with one that has
// placeholders where a value cannot be fixed.
func like(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: like FILE WANT")
	}
	got, want := ts.ReadFile(args[0]), strings.ReplaceAll(ts.ReadFile(args[1]), "$WORK", ts.Getenv("WORK"))
	if !pattern(want).MatchString(got) {
		ts.Fatalf("%s is not like %s (-want +got):\n%s", args[0], args[1], cmp.Diff(want, got))
	}
}

// pattern turns text with placeholders into a regular expression. Columns are
// two blanks apart in the text; what stands for a value has its width.
func pattern(text string) *regexp.Regexp {
	expr := regexp.QuoteMeta(text)
	for placeholder, re := range map[string]string{
		"<time-->": `[0-2][0-9]:[0-5][0-9]:[0-5][0-9]`,
		"<hash->":  `[0-9a-f]{7}`,
		"<pane-->": `[0-9a-f]{8}`,
		"<id>":     `[0-9a-f]{40}`,
		"<pid>":    `[1-9][0-9]*`,
		"<utc>":    `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z`,
		"<any>":    `[^\n]*`,
	} {
		expr = strings.ReplaceAll(expr, regexp.QuoteMeta(placeholder), re)
	}
	return regexp.MustCompile("^" + expr + "$")
}

// value FILE PATH WANT reads exactly one JSON value and compares a part of it:
// value stdout checkpoints.0.n 1. "len" is the length of a list. WANT may have
// placeholders.
func value(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: value FILE PATH WANT")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	var v, more any
	if err := dec.Decode(&v); err != nil {
		ts.Fatalf("%s is no JSON value: %v", args[0], err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		ts.Fatalf("%s holds more than one JSON value", args[0])
	}
	got := part(v, strings.Split(args[1], "."))
	if pattern(args[2]).MatchString(got) == neg {
		ts.Fatalf("%s is %q, want %q", args[1], got, args[2])
	}
}

func part(v any, path []string) string {
	for _, key := range path {
		switch at := v.(type) {
		case map[string]any:
			inner, known := at[key]
			if !known {
				return "<absent>"
			}
			v = inner
		case []any:
			i, err := strconv.Atoi(key)
			switch {
			case key == "len":
				v = len(at)
			case err != nil || i >= len(at):
				return "<absent>"
			default:
				v = at[i]
			}
		default:
			return "<absent>"
		}
	}
	if text, ok := v.(string); ok {
		return text
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// write FILE LINE... writes lines to a file, and the folders above it.
func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: write FILE LINE...")
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
	text := ""
	for _, line := range args[1:] {
		text += line + "\n"
	}
	ts.Check(os.WriteFile(path, []byte(text), 0o666))
}

// killpid FILE PATH ends the process whose id is a part of a JSON value, by
// SIGKILL, and waits until it is gone.
func killPID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: killpid FILE PATH")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	pid, err := strconv.Atoi(part(v, strings.Split(args[1], ".")))
	ts.Check(err)
	if pid <= 1 {
		ts.Fatalf("no process id: %d", pid)
	}
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	if !waitGone(pid, 10*time.Second) {
		ts.Fatalf("process %d is still there", pid)
	}
}
