//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

func piWrites(path, text string) fakemodel.ChatReply {
	return chatCalls("write", map[string]any{"path": path, "content": text})
}

// Turns of pi are saved: done, and one that the provider failed.
func TestPiTurnsAreSaved(t *testing.T) {
	t.Parallel()
	w := newPiWorld(t)
	w.chat.Add(chatCalls("bash", map[string]any{"command": "until [ -e go ]; do sleep 0.05; done"}), piWrites("a.txt", "two\n"), chatSays("It is done."))
	ended := make(chan string)
	go func() {
		stdout, _, _ := w.command(w.tools.turnback, "run", "--conversation", "--", w.run+"/pi", "-p", "--provider", "mock", "--model", "mock", "Change a.txt\nas I said")
		ended <- stdout
	}()
	w.waitState("working")
	w.repo.Write("go", "")
	if out := <-ended; !strings.Contains(out, "It is done.") {
		t.Errorf("pi answered %q", out)
	}
	w.wantCheckpoints(`1 turn 1 turn done base:HEAD "Change a.txt"`)

	w.chat.Add(piWrites("b.txt", "b\n"), fakemodel.ChatReply{Status: 400, Message: "no such thing"})
	if _, _, code := w.command(w.tools.turnback, "run", "--conversation", "--", w.run+"/pi", "-p", "-c", "--provider", "mock", "--model", "mock", "And b.txt"); code == 0 {
		t.Error("pi ended well with a provider that refuses")
	}
	w.wantCheckpoints(`1 turn 1 turn done base:HEAD "Change a.txt"`, `2 turn 2 turn errored base:checkpoint "And b.txt"`)
}
