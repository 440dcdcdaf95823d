package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// leave writes the record of a window that a daemon, which is gone, has left.
func leave(t *testing.T, repo *gittest.Repo, change func(*registry.Window)) {
	t.Helper()
	w := registry.Window{
		ID: "0011aabb", Session: "api", Name: "claude", Worktree: repo.Root, CommonDir: filepath.Join(repo.Root, ".git"), Key: "dir:",
		Agent: "claude", AgentSession: "s1", AgentPID: 1 << 29, AgentStarted: "boot:1", LastActive: time.Now(),
		Owner: registry.Process{PID: 1 << 29, Started: "boot:2"},
	}
	w.State, w.Turn, w.TurnLabel = "working", 1, "Add a retry"
	change(&w)
	if err := registry.WriteRecord(w); err != nil {
		t.Fatal(err)
	}
}

// restoreHere restores the checkpoint that a save by hand makes now, after one
// more change, and returns what is listed then.
func restoreHere(t *testing.T, repo *gittest.Repo) api.ListCheckpointsResult {
	t.Helper()
	place := api.Place{Dir: repo.Root, Window: "claude"}
	repo.Write("a.txt", "two\n")
	var saved api.SaveCheckpointResult
	if err := localCall(t, repo, "save-checkpoint", api.SaveCheckpointParams{Place: place, Label: "now"}, &saved); err != nil {
		t.Fatal(err)
	}
	repo.Write("a.txt", "three\n")
	if err := localCall(t, repo, "restore-checkpoint", api.RestoreCheckpointParams{Place: place, N: saved.Checkpoint.N}, nil); err != nil {
		t.Fatal(err)
	}
	var list api.ListCheckpointsResult
	if err := localCall(t, repo, "list-checkpoints", api.ListCheckpointsParams{Place: place}, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// turnsOf are the checkpoints of turns, in words.
func turnsOf(list api.ListCheckpointsResult) string {
	var out []string
	for _, c := range list.Checkpoints {
		if c.Kind == "turn" {
			out = append(out, fmt.Sprintf("%d %s %s late=%v", c.Turn, c.State, c.Label, c.Late))
		}
	}
	return strings.Join(out, ", ")
}

func TestLocalRestoreSavesTheTurnOfADeadAgentFirst(t *testing.T) {
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "one\n"})
	leave(t, repo, func(w *registry.Window) { w.TurnOpen = true })
	if got := turnsOf(restoreHere(t, repo)); got != "1 aborted Add a retry late=false" {
		t.Errorf("listed: %s", got)
	}
	windows, err := registry.ReadRecords(filepath.Join(repo.Root, ".git"))
	if err != nil || len(windows) != 1 || windows[0].TurnOpen || windows[0].Due != nil {
		t.Errorf("records %+v, %v", windows, err)
	}
}

func TestLocalRestoreSavesWhatAKilledDaemonOwes(t *testing.T) {
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "one\n"})
	leave(t, repo, func(w *registry.Window) {
		w.State = "done"
		w.Due = []registry.Due{{Turn: 1, At: time.Now().Add(-time.Minute), State: "done", Label: "Add a retry"}}
	})
	if got := turnsOf(restoreHere(t, repo)); got != "1 done Add a retry late=true" {
		t.Errorf("listed: %s", got)
	}
}

func TestWithoutAStateFolderTheDaemonRuns(t *testing.T) {
	s, repo := newWired(t)
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.options.StateDir = filepath.Join(blocked, "turnback")
	s.start()
	if r := s.turn(repo, "Add a retry", "a.txt", "two\n"); r.Checkpoint == nil {
		t.Errorf("answer %+v", r)
	}
	var status api.StatusResult
	if err := s.client.Call(t.Context(), "status", nil, &status, nil); err != nil {
		t.Fatal(err)
	}
	if len(status.Warnings) != 1 || !strings.Contains(status.Warnings[0], "no state folder") || status.StateFile != "" {
		t.Errorf("status %+v", status)
	}
}

func TestWithoutGitTheListSaysSo(t *testing.T) {
	s, repo := newWired(t)
	s.options.Environ = append(s.options.Environ, "PATH=/nowhere")
	s.start()
	err := s.client.Call(t.Context(), "list-checkpoints", api.ListCheckpointsParams{Place: api.Place{Dir: repo.Root}}, nil, nil)
	if e := api.AsError(err); e.Code != api.CodeGitFailed {
		t.Errorf("error %v", err)
	}
}

func TestACallThatRunsShowsThatItLives(t *testing.T) {
	s := newServer(t)
	b := newBlock()
	s.extra = append(s.extra, b.verb("work", "write", nil))
	s.start()
	conn, err := s.options.Socket.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(conn, "POST /v1/work HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	var seen string
	for buf := make([]byte, 4096); !strings.Contains(seen, `{"alive":true}`+"\n"); {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("read %q: %v", seen, err)
		}
		seen += string(buf[:n])
	}
	if !strings.HasPrefix(seen, fmt.Sprintf("HTTP/1.1 %d", http.StatusOK)) {
		t.Errorf("read %q", seen)
	}
	close(b.release)
}
