package daemon

import (
	"os"

	"github.com/turnback/turnback/internal/agents/claude"
	"github.com/turnback/turnback/internal/agents/codex"
	"github.com/turnback/turnback/internal/agents/history"
	"github.com/turnback/turnback/internal/agents/opencode"
	"github.com/turnback/turnback/internal/agents/pi"
	"github.com/turnback/turnback/internal/conversations/back"
)

// talker is the adapter of an agent whose conversations can be read.
type talker interface {
	back.Copier
	// OpenTranscript opens a session's transcript by the place in it that a
	// checkpoint tells.
	OpenTranscript(getenv func(string) string, session, place string) (f *os.File, path string, err error)
	// History reads a transcript.
	History(path string) (history.History, error)
	// EndsInInterrupt says whether the newest thing in a transcript is that the
	// person interrupted the agent.
	EndsInInterrupt(path string) bool
}

// placer is the adapter of an agent that can tell where a conversation is while
// none of its turns ends.
type placer interface {
	// PlaceNow tells where a transcript is now, without the prompt before.
	PlaceNow(path, before string) string
}

// callPlacer is one that can tell where a conversation is behind a call and those
// made together with it.
type callPlacer interface {
	PlaceOfCall(path, call string) string
}

// talkers are those agents by name.
func talkers() map[string]talker {
	return map[string]talker{claude.Name: claude.New(), codex.Name: codex.Adapter{}, pi.Name: pi.Adapter{}}
}

func copiers() map[string]back.Copier {
	all := map[string]back.Copier{}
	for name, t := range talkers() {
		all[name] = t
	}
	return all
}

// forks are the commands by which agents whose conversations cannot be read go on
// with a copy.
func forks() map[string]func(session string) string {
	return map[string]func(string) string{opencode.Name: opencode.Fork}
}

// finder is a talker that finds the transcript of a session by its id alone.
type finder interface {
	FindTranscript(getenv func(string) string, session string) (path string, err error)
}

var (
	_ finder = codex.Adapter{}
	_ finder = pi.Adapter{}
	_ placer = pi.Adapter{}
)

// findTranscript finds transcripts where agents keep them by an environment.
func findTranscript(environ []string) func(agent, session string) (string, bool) {
	getenv := Getenv(environ)
	return func(agent, session string) (string, bool) {
		f, can := talkers()[agent].(finder)
		if !can {
			return "", false
		}
		path, err := f.FindTranscript(getenv, session)
		return path, err == nil
	}
}
