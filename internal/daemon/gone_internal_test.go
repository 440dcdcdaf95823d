package daemon

import (
	"os"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/terminal"
)

// TestWhichPanesAreGone has records of a pane with activity, of one with an agent
// that lives and of one with neither.
func TestWhichPanesAreGone(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	started, err := terminal.ProcessStart(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	long := now.AddDate(0, 0, -31)
	for _, w := range []registry.Window{
		{ID: "aaaaaaaa", LastActive: now.AddDate(0, 0, -29)},
		{ID: "bbbbbbbb", LastActive: long, AgentPID: os.Getpid(), AgentStarted: started},
		{ID: "cccccccc", LastActive: long, AgentPID: os.Getpid(), AgentStarted: "another process with that id"},
		{ID: "dddddddd", LastActive: now, Gone: true},
	} {
		w.CommonDir, w.Session, w.Name, w.Worktree, w.Key = dir, "s", w.ID, dir, "name:"+w.ID
		if err := registry.WriteRecord(w); err != nil {
			t.Fatal(err)
		}
	}
	r := newRepos(nil, config.Default, func() time.Time { return now })
	gone := r.gone(dir)
	for id, want := range map[string]bool{"aaaaaaaa": false, "bbbbbbbb": false, "cccccccc": true, "dddddddd": true, "eeeeeeee": true} {
		if got := gone(id); got != want {
			t.Errorf("pane %s: gone %v, want %v", id, got, want)
		}
	}
	if err := os.WriteFile(dir+"/turnback/panes/ffffffff.json", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r.gone(dir) != nil {
		t.Error("a record that cannot be read is taken for none")
	}
}
