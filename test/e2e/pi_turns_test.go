//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/agents/pi"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

func piWrites(path, text string) fakemodel.ChatReply {
	return chatCalls("write", map[string]any{"path": path, "content": text})
}

// saved waits until so many checkpoints are there, and compares them. On a busy
// machine a turn is over before it is saved.
func (w *pluginWorld) saved(want ...string) {
	w.t.Helper()
	w.eventually("the checkpoints", func() bool { return len(w.list().Checkpoints) >= len(want) })
	w.wantCheckpoints(want...)
}

// Turns of pi are saved: done, and one that the provider failed.
func TestPiTurnsAreSaved(t *testing.T) {
	t.Parallel()
	w := newPiWorld(t)
	w.chat.Add(chatCalls("bash", map[string]any{"command": "until [ -e ~/go ]; do sleep 0.05; done"}), piWrites("a.txt", "two\n"), chatSays("It is done."))
	ended := make(chan string)
	go func() {
		stdout, _, _ := w.command(w.tools.turnback, "run", "--conversation", "--", w.run+"/pi", "-p", "--provider", "mock", "--model", "mock", "Change a.txt\nas I said")
		ended <- stdout
	}()
	w.waitState("working")
	w.writeHome("go", "")
	if out := <-ended; !strings.Contains(out, "It is done.") {
		t.Errorf("pi answered %q", out)
	}
	w.saved(`1 turn 1 turn done base:HEAD "Change a.txt"`)

	w.chat.Add(piWrites("b.txt", "b\n"), fakemodel.ChatReply{Status: 400, Message: "no such thing"})
	if _, _, code := w.command(w.tools.turnback, "run", "--conversation", "--", w.run+"/pi", "-p", "-c", "--provider", "mock", "--model", "mock", "And b.txt"); code == 0 {
		t.Error("pi ended well with a provider that refuses")
	}
	w.saved(`1 turn 1 turn done base:HEAD "Change a.txt"`, `2 turn 2 turn errored base:checkpoint "And b.txt"`)
}

// A person goes back to the first of two turns of pi, files and conversation: pi
// goes on with the copy as if the second turn had never been, also with a copy
// that is made when pi's own file has gone, and with the original as it was, told
// of the restore.
func TestPiRestoreWithConversation(t *testing.T) {
	t.Parallel()
	w := newPiWorld(t)
	w.chat.Add(chatOpens("look"), chatCalls("bash", map[string]any{"command": "echo EXPLORED"}), chatCloses("REPORT"), piWrites("a.txt", "first\n"), chatSays("First is done."))
	w.pi("The first task")
	w.chat.Add(piWrites("a.txt", "two\n"), chatSays("Second is done."))
	w.pi("-c", "The second task")
	w.saved(
		`1 turn 1 conversation working base: "look"`, `2 turn 1 turn done base:HEAD "The first task"`, `3 turn 2 turn done base:checkpoint "The second task"`,
	)
	var shown api.ShowCheckpointResult
	w.turnbackJSON(&shown, "checkpoint", "show", "2")
	var place pi.Place
	if err := json.Unmarshal([]byte(shown.Transcript), &place); err != nil {
		t.Fatalf("the place of turn 1 is %q: %v", shown.Transcript, err)
	}
	original, err := os.ReadFile(place.Path)
	if err != nil {
		t.Fatal(err)
	}

	var r api.RestoreResult
	w.turnbackJSON(&r, "checkpoint", "restore", "2", "--conversation")
	if r.Conversation == nil || !r.Conversation.Copy || r.Conversation.Resume != "turnback run --conversation -- pi --session "+r.Conversation.Session {
		t.Fatalf("restored %+v", r)
	}
	if got := w.repo.Read("a.txt"); got != "first\n" {
		t.Errorf("a.txt holds %q", got)
	}
	if after, err := os.ReadFile(place.Path); err != nil || string(after) != string(original) {
		t.Errorf("the original session has changed, %v", err)
	}
	const told = "since your last turn a restore put files of the work tree back as checkpoint 2 has them. Changed on disk: a.txt."
	first := []string{"The first task", "First is done.", "REPORT"}
	second := []string{"The second task", "Second is done."}
	goOn := func(session string, has, hasNot []string) {
		w.chat.Add(chatSays("Going on."))
		if got := w.pi("--session", session, "Go on with it"); got != "Going on." {
			t.Errorf("pi answered %q", got)
		}
		w.wantSent("going on with "+session, has, append(hasNot, "EXPLORED"))
	}
	goOn(r.Conversation.Session, first, append(second, told))
	goOn(shown.Checkpoint.AgentSession, append(append(first, second...), told), nil)

	kept := filepath.Join(w.repo.Home, ".local", "state", "turnback", "transcripts")
	w.eventually("the copy to be kept", func() bool {
		all, err := filepath.Glob(filepath.Join(kept, "*.jsonl"))
		return err == nil && len(all) > 0
	})
	w.stopDaemon() // which copies what waits
	if err := os.RemoveAll(filepath.Dir(place.Path)); err != nil {
		t.Fatal(err)
	}
	var again api.RestoreResult
	w.turnbackJSON(&again, "checkpoint", "restore", "2", "--conversation-only")
	if again.Conversation == nil || !again.Conversation.Kept {
		t.Fatalf("restored %+v", again)
	}
	goOn(again.Conversation.Session, first, second)
}
