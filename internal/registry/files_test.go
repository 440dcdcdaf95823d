package registry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/agentstate"
)

func fullWindow(common string) Window {
	return Window{
		ID: "00d333ce", Session: "api", Name: "claude", Worktree: filepath.Dir(common), CommonDir: common,
		Key: tmux3[0], Keys: tmux3, Agent: "claude", AgentSession: "s1", AgentPID: 7, AgentStarted: "boot:1",
		Transcript: "/t.jsonl", TranscriptSize: 12,
		Machine: agentstate.Machine{
			State: agentstate.Working, Source: agentstate.Report, Since: minute(1), Claimed: minute(2), Turn: 4, TurnOpen: true,
			TurnLabel: "Add a retry", TurnStarted: minute(1), WorkingSince: minute(1), PromptIDs: []string{"p1"}, OldPrompts: []string{"p0"},
		},
		Base: &Base{Head: "aa", Tree: "bb", Number: 3, Name: "checkpoint 3"}, LastActive: minute(3),
	}
}

func TestStateFileRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turnback", "state.json")
	self := Process{PID: 1, Started: "boot:0"}
	r := New(self)
	w := r.Put(fullWindow("/src/api/.git"))
	if err := r.Store(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again := New(self)
	if err := again.Load(path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Window{w}, again.Windows()); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
}

func TestStateFileThatIsNotThere(t *testing.T) {
	r := New(Process{})
	if err := r.Load(filepath.Join(t.TempDir(), "state.json")); err != nil || len(r.Windows()) != 0 {
		t.Errorf("%v, %d windows", err, len(r.Windows()))
	}
}

func TestBrokenStateFileIsPutAside(t *testing.T) {
	for name, content := range map[string]string{
		"cut":            `{"version":1,"windows":[{"id":"00d3`,
		"another format": `{"version":99,"windows":[]}`,
		"empty":          "",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			r := New(Process{})
			err := r.Load(path)
			if err == nil || !strings.HasPrefix(err.Error(), "read state file") || strings.Contains(err.Error(), "nil") {
				t.Errorf("error %v", err)
			}
			if name == "another format" && !strings.Contains(err.Error(), "version 99") {
				t.Errorf("error %v", err)
			}
			if len(r.Windows()) != 0 {
				t.Errorf("windows %v", r.Windows())
			}
			kept, err := os.ReadFile(path + ".broken")
			if err != nil || string(kept) != content {
				t.Errorf("put aside: %q, %v", kept, err)
			}
			if err := r.Store(path); err != nil {
				t.Errorf("write after that: %v", err)
			}
		})
	}
}

func TestStateFileKeepsOutImpossibleWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	content := `{"version":1,"windows":[{"id":"../../evil","worktree":"/x"},{"id":"00d333ce","worktree":""},{"id":"11111111","worktree":"/x"}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r := New(Process{})
	if err := r.Load(path); err != nil {
		t.Fatal(err)
	}
	if ws := r.Windows(); len(ws) != 1 || ws[0].ID != "11111111" {
		t.Errorf("windows %+v", ws)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	common := t.TempDir()
	w := fullWindow(common)
	if err := WriteRecord(w); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(common, "turnback", "panes", "00d333ce.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("record: %v, %v", info, err)
	}
	got, err := ReadRecords(common)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Window{w}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if err := RemoveRecord(w); err != nil {
		t.Fatal(err)
	}
	if err := RemoveRecord(w); err != nil {
		t.Errorf("removing it twice: %v", err)
	}
	if got, err := ReadRecords(common); err != nil || len(got) != 0 {
		t.Errorf("after removal: %v, %v", got, err)
	}
}

func TestRecordsBesideGarbage(t *testing.T) {
	common := t.TempDir()
	if err := WriteRecord(fullWindow(common)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(common, "turnback", "panes")
	for name, content := range map[string]string{
		"11111111.json": "{not json", "22222222.json": `{"id":"00d333ce"}`, "README": "hello", ".33333333.json.123": "{",
		"44444444.json": `{"id":"44444444","worktree":"/old/place","common_dir":"/old/place/.git"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "55555555.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecords(common)
	if len(got) != 1 || got[0].ID != "00d333ce" {
		t.Errorf("records %+v", got)
	}
	if err == nil {
		t.Fatal("the garbage is not reported")
	}
	for _, id := range []string{"11111111", "22222222", "55555555"} {
		if !strings.Contains(err.Error(), "record of pane "+id) {
			t.Errorf("%s is not named in %q", id, err)
		}
	}
	for _, name := range []string{"README", "33333333", "44444444"} {
		if strings.Contains(err.Error(), name) {
			t.Errorf("%s is named in %q", name, err)
		}
	}
}

func TestRecordNeverMakesTheGitDirectory(t *testing.T) {
	common := filepath.Join(t.TempDir(), ".git")
	if err := WriteRecord(fullWindow(common)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(common); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the git directory is there: %v", err)
	}
}

func TestNoRecordOutsideGit(t *testing.T) {
	if err := WriteRecord(Window{ID: "00d333ce", Worktree: "/x"}); err != nil {
		t.Error(err)
	}
	if got, err := ReadRecords(filepath.Join(t.TempDir(), "none")); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestRecordsAreWhole reads while others write: a reader never sees half a
// record.
func TestRecordsAreWhole(t *testing.T) {
	common := t.TempDir()
	w := fullWindow(common)
	if err := WriteRecord(w); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			mine := w
			mine.TurnLabel = strings.Repeat("x", 100*i)
			for range 50 {
				if err := WriteRecord(mine); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		if got, err := ReadRecords(common); err != nil || len(got) != 1 {
			t.Fatalf("read %d records, %v", len(got), err)
		}
	}
	writers.Wait()
}
