//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// A person goes back to the first of two turns of Claude Code, files and
// conversation: the CLI goes on with the copy as if the second turn had never
// been, and with the original as it was, told of the restore.
func TestRestoreWithConversationInClaudeCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "zero\n"})
	w.turnback("setup", "claude", "--yes")
	w.model.Add(does(w.write("a.txt", "one\n")), says("First is done."))
	w.ask("The first task", "--session-id", session)
	w.model.Add(does(w.write("a.txt", "two\n")), says("Second is done."))
	w.ask("The second task", "--resume", session)
	var shown api.ShowCheckpointResult
	w.turnbackJSON(&shown, "checkpoint", "show", "1")
	var place struct{ Path string }
	if err := json.Unmarshal([]byte(shown.Transcript), &place); err != nil {
		t.Fatalf("the place of turn 1 is %q: %v", shown.Transcript, err)
	}
	original, err := os.ReadFile(place.Path)
	if err != nil {
		t.Fatal(err)
	}

	var r api.RestoreResult
	w.turnbackJSON(&r, "checkpoint", "restore", "1", "--conversation")
	if r.Conversation == nil || !r.Conversation.Copy || r.Conversation.Resume != "claude --resume "+r.Conversation.Session {
		t.Fatalf("restored %+v", r)
	}
	if got := w.repo.Read("a.txt"); got != "one\n" {
		t.Errorf("a.txt holds %q", got)
	}
	if after, err := os.ReadFile(place.Path); err != nil || string(after) != string(original) {
		t.Errorf("the original transcript has changed, %v", err)
	}

	const told = "since your last turn a restore put files of the work tree back as checkpoint 1 has them. Changed on disk: a.txt."
	for _, c := range []struct {
		session      string
		holds, lacks []string
	}{
		{r.Conversation.Session, []string{"The first task", "First is done."}, []string{"The second task", "Second is done.", told}},
		{session, []string{"The first task", "The second task", "Second is done.", told}, nil},
	} {
		w.model.Add(says("Going on."))
		if got := w.ask("Go on with it", "--resume", c.session); got != "Going on." {
			t.Errorf("the CLI answered %q", got)
		}
		history := w.lastHistory()
		for _, text := range c.holds {
			if !strings.Contains(history, text) {
				t.Errorf("%s: the model does not get %q:\n%s", c.session, text, history)
			}
		}
		for _, text := range c.lacks {
			if strings.Contains(history, text) {
				t.Errorf("%s: the model gets %q:\n%s", c.session, text, history)
			}
		}
	}
}

// lastHistory is the body of the newest main request.
func (w *world) lastHistory() string {
	w.t.Helper()
	history := ""
	for _, r := range w.model.Requests() {
		if r.Kind == fakemodel.Main {
			history = string(r.Body)
		}
	}
	return history
}
