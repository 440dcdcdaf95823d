package codex

import (
	"bufio"
	"bytes"
	"io"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/agents/transcript"
	"github.com/turnback/turnback/internal/shell"
)

// Copy writes what the rollout of a thread had at a place, as a Place in JSON
// tells it, as a thread of its own. The original is only read.
func (a Adapter) Copy(session, place string) (transcript.Copy, error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, err
	}
	return a.copyOf(moved(at.Path, session), session, at, at.Path)
}

// CopyKept is Copy from a copy of the rollout, at kept, that was made while
// Codex's own was at path: for when that has gone.
func (a Adapter) CopyKept(session, place, kept, path string) (transcript.Copy, error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, err
	}
	if homeOf(path) == "" || filepath.Base(filepath.Dir(path)) == archived {
		path = at.Path
	}
	return a.copyOf(kept, session, at, path)
}

// Resume is the command that goes on with a thread.
func (Adapter) Resume(session string) string { return Name + " resume " + shell.Word(session) }

// copyOf has a rollout up to a place copied into a new one beside path, where
// Codex's own was.
func (a Adapter) copyOf(from, session string, at Place, path string) (transcript.Copy, error) {
	thread := transcript.NewUUID()
	return transcript.Draft{
		From: from, Folder: filepath.Dir(path), Session: thread,
		Name:    strings.TrimSuffix(filepath.Base(path), session+rolloutExt) + thread + rolloutExt,
		Cut:     func(w io.Writer, r *bufio.Reader) error { return copyUntil(w, r, at, session, thread) },
		History: a.History,
	}.Make()
}

// ofThread is a line with another thread's id in the places where its own is told.
// All else stays byte for byte.
func ofThread(line []byte, from, to string) []byte {
	for _, key := range []string{"id", "session_id", "thread_id"} {
		line = bytes.ReplaceAll(line, []byte(`"`+key+`":"`+from+`"`), []byte(`"`+key+`":"`+to+`"`))
	}
	return line
}
