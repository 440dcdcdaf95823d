package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
)

// These tests are about the commands that look at this machine's own files.

func TestLogsPrintTheNewestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	b := newBench(nil)
	b.LogFile = func() (string, error) { return path, nil }
	if status := b.run("daemon", "logs"); status != 1 || !strings.Contains(b.err.String(), "there is no log yet") {
		t.Errorf("without a log: exit status %d, stderr %q", status, b.err.String())
	}
	writeFile(t, path, "one\ntwo\nthree\n")
	for _, tc := range []struct{ lines, want string }{
		{"1", "three\n"}, {"2", "two\nthree\n"}, {"9", "one\ntwo\nthree\n"}, {"0", "one\ntwo\nthree\n"},
	} {
		if status := b.run("daemon", "logs", "-n", tc.lines); status != 0 || b.out.String() != tc.want {
			t.Errorf("-n %s: exit status %d, stdout %q", tc.lines, status, b.out.String())
		}
	}
}

func TestLogsOnATerminalCannotDriveIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	writeFile(t, path, "a\x1b[2Jb\n")
	b := newBench(nil)
	b.Streams.OutTerminal = true
	b.LogFile = func() (string, error) { return path, nil }
	b.run("daemon", "logs")
	if b.out.String() != "a^[[2Jb\n" {
		t.Errorf("stdout %q", b.out.String())
	}
}

// slowBuffer can be read while a command still writes.
type slowBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *slowBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *slowBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestLogsFollowARotatedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	writeFile(t, path, "an old and long line\n")
	b := newBench(nil)
	var out slowBuffer
	b.Streams.Out = &out
	b.LogFile = func() (string, error) { return path, nil }
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	status := -1
	following.Go(func() { status = Execute(ctx, b.Deps, []string{"daemon", "logs", "-f"}) })
	waitUntil(t, func() bool { return out.String() == "an old and long line\n" })
	writeFile(t, path, "new\n")
	waitUntil(t, func() bool { return out.String() == "an old and long line\nnew\n" })
	cancel()
	following.Wait()
	if status != 0 {
		t.Errorf("exit status %d", status)
	}
}

func TestDoctorTellsEachProblemWithWhatHelps(t *testing.T) {
	config := t.TempDir()
	b := newBench(map[string]any{
		"status": api.StatusResult{PID: 7, Socket: "/run/s", Version: "1.2.3"},
		"list-checkpoints": api.ListCheckpointsResult{
			Pane: api.Pane{Worktree: "/src/api"}, Enabled: true, Checkpoints: []api.Checkpoint{{N: 1}},
		},
		"verify-checkpoints": api.VerifyCheckpointsResult{OK: true, Checkpoints: 1},
	})
	b.env["XDG_CONFIG_HOME"] = config
	b.Git = func(context.Context) (command.Git, error) {
		return command.Git{Path: "/usr/bin/git", Version: "2.39.5"}, nil
	}
	b.AgentChecks = func() []command.Finding {
		return []command.Finding{{What: "claude", Level: command.LevelWarning, Text: "no hooks", Hint: "turnback setup claude"}}
	}
	if status := b.run("doctor"); status != 0 {
		t.Errorf("exit status %d: %s", status, b.err.String())
	}
	want := `ok       git          /usr/bin/git, version 2.39.5
ok       config       ` + config + `/turnback/config.toml
ok       daemon       pid 7, at /run/s
ok       work tree    /src/api, checkpoints: 1
ok       checkpoints  all can be had
warning  claude       no hooks
                      hint: turnback setup claude
`
	if b.out.String() != want {
		t.Errorf("stdout:\n%s\nwant:\n%s", b.out.String(), want)
	}

	writeFile(t, filepath.Join(config, "turnback", "config.toml"), "[agents.checkpoints]\nkeep = 0\n")
	b.Git = func(context.Context) (command.Git, error) {
		return command.Git{Oldest: "2.36.0"}, errors.New("git not found in PATH")
	}
	b.answers["status"] = api.Errorf(api.CodeNoDaemon, "no daemon can be had")
	b.answers["list-checkpoints"] = api.Errorf(api.CodeNotRepo, "no work tree")
	b.answers["verify-checkpoints"] = api.VerifyCheckpointsResult{Findings: []api.VerifyFinding{
		{Severity: "broken", Pane: "00d333ce", N: 7, What: "its commit is missing", Mend: "delete the ref"},
		{Severity: "leftover", File: "/src/api/.git/x", What: "a killed process left it"},
	}}
	if status := b.run("doctor"); status != 1 {
		t.Errorf("exit status %d", status)
	}
	for _, want := range []string{
		"problem  git          git not found in PATH\n                      hint: install git 2.36.0 or newer",
		"problem  config       " + config + "/turnback/config.toml cannot be used: agents.checkpoints.keep: 0 is not within 1 to 1000",
		"problem  daemon       no daemon can be had\n                      hint: turnback daemon logs",
		"note     work tree    /src/api is in no git work tree",
		"problem  checkpoints  checkpoint 7 of pane 00d333ce: its commit is missing\n                      hint: turnback checkpoint verify --mend",
		"warning  checkpoints  /src/api/.git/x: a killed process left it\n",
	} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.out.String())
		}
	}
}

func TestConfigPath(t *testing.T) {
	b := newBench(nil)
	b.env["HOME"] = "/home/u"
	if status := b.run("config", "path"); status != 0 || b.out.String() != "/home/u/.config/turnback/config.toml\n" {
		t.Errorf("exit status %d, stdout %q", status, b.out.String())
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came")
		}
	}
}
