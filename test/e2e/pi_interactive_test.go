//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation"
)

// startPi opens pi in a terminal, through `turnback run --conversation`.
func (w *pluginWorld) startPi() *terminal {
	w.t.Helper()
	term := w.open(w.tools.turnback, "run", "--conversation", "--", filepath.Join(w.run, "pi"), "--provider", "mock", "--model", "mock")
	term.waitFor(0, "mock")
	return term
}

// first types the first prompt. pi takes none before it has started, shows nothing
// when it has, and does nothing at Enter where nothing is typed.
func (w *pluginWorld) first(term *terminal, line string) {
	w.t.Helper()
	term.submit(line)
	pressed := time.Now()
	w.eventually("the first request", func() bool {
		if len(w.chat.Requests()) == 0 && time.Since(pressed) > time.Second {
			term.press(keyEnter)
			pressed = time.Now()
		}
		return len(w.chat.Requests()) > 0
	})
}

// reaches waits until the newest request has a text.
func (w *pluginWorld) reaches(text string) {
	w.t.Helper()
	w.eventually("a request with "+text, func() bool { return strings.Contains(w.sent(), text) })
}

// What the person types while the model explores stays when the exploration goes.
func TestPiKeepsWhatIsTypedInASpan(t *testing.T) {
	t.Parallel()
	w := newPiWorld(t)
	term := w.startPi()
	w.chat.Add(
		chatOpens("find it"), chatCalls("bash", map[string]any{"command": "echo EXPLORED; until [ -e go ]; do sleep 0.1; done"}),
		chatCloses("REPORT"), chatSays("closed"), chatSays("more"),
	)
	w.first(term, "explore")
	w.eventually("the exploration", func() bool { return len(w.chat.Requests()) == 2 })
	from := term.size()
	term.submit("TYPED-AHEAD")
	term.waitFor(from, "TYPED-AHEAD")
	w.repo.Write("go", "")
	w.reaches("REPORT")
	w.wantSent("after the rewind", []string{"explore", "TYPED-AHEAD"}, []string{"EXPLORED"})
	w.waitState("done")
	w.saved(`1 turn 1 conversation working base: "find it"`, `2 turn 1 turn done base:HEAD "explore"`)
	term.submit("and then")
	w.reaches("and then")
	w.wantSent("a turn later", []string{"REPORT", "TYPED-AHEAD"}, []string{"EXPLORED"})
}

// A compaction loses the checkpoint that was open: a rewind is told so, the guard
// is silent, and the person is told, once.
func TestB143PiLosesTheCheckpointInACompaction(t *testing.T) {
	t.Parallel()
	w := newPiWorld(t)
	w.writeHome(".pi/agent/settings.json", `{"compaction":{"keepRecentTokens":1}}`)
	term := w.startPi()
	w.chat.Add(chatOpens("find it"), chatSays("one"), chatSays("two"), chatSays("three"), chatSays("four"))
	w.first(term, "explore")
	term.waitFor(0, "is still open, after 3 reminders")

	w.chat.Add(chatSays("A SUMMARY"))
	from := term.size()
	term.submit("/compact")
	term.waitFor(from, "Compacted")
	w.chat.Add(chatCloses("too late"), chatSays("I see."))
	from = term.size()
	term.submit("go on")
	w.reaches(conversation.ErrLost.Error())
	term.waitFor(from, `turnback: the checkpoint "find it" of this conversation was lost in a compaction`)
	w.wantSent("after the compaction", []string{"A SUMMARY"}, []string{"A checkpoint is active."})

	w.chat.Add(chatSays("Well."))
	from = term.size()
	term.submit("and then")
	term.waitFor(from, "Well.")
	w.waitState("done")
	// It draws all of the conversation anew, and then what is new.
	screen := plain(term.text(0))
	screen = squeezed(screen[strings.LastIndex(screen, "Pi can explain its own features"):])
	if n := strings.Count(screen, squeezed(`turnback: the checkpoint "find it" of this conversation was lost in a compaction`)); n != 1 || !strings.Contains(screen, "Well.") {
		t.Errorf("the person is told %d times:\n%s", n, screen)
	}
}
