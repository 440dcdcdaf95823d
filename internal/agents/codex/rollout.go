package codex

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/agents/transcript"
)

// A rollout is the file of a thread: lines of JSON below sessions/YYYY/MM/DD in
// Codex's home, or in archived_sessions.
const (
	sessions      = "sessions"
	archived      = "archived_sessions"
	rolloutPrefix = "rollout-"
	rolloutExt    = ".jsonl"
)

// Place is where in a rollout a turn is. It is kept with the checkpoint as the
// JSON of this type.
type Place struct {
	Path   string `json:"path"`             // of the rollout
	Turn   string `json:"turn"`             // Codex's own id of the turn
	Before bool   `json:"before,omitempty"` // where the turn began; else where it ended
}

// place is a Place as JSON; empty where it cannot be told.
func place(path, turn string, before bool) string {
	if path == "" || turn == "" {
		return ""
	}
	out, err := json.Marshal(Place{Path: path, Turn: turn, Before: before})
	if err != nil {
		return ""
	}
	return string(out)
}

// placeOf reads a place. It comes from a checkpoint, which may be anybody's: what
// it names has to be the rollout of that thread.
func placeOf(session, place string) (Place, error) {
	var at Place
	if err := json.Unmarshal([]byte(place), &at); err != nil || at.Turn == "" {
		return Place{}, errors.New("the place in the rollout cannot be read")
	}
	if !filepath.IsAbs(at.Path) || !isRolloutOf(filepath.Base(at.Path), session) {
		return Place{}, fmt.Errorf("%q is not the rollout of thread %s", at.Path, session)
	}
	return at, nil
}

// isRolloutOf says whether a file's name is that of a thread's rollout: it has the
// time at which the thread began, and its id.
func isRolloutOf(name, thread string) bool {
	rest, ok := strings.CutPrefix(name, rolloutPrefix)
	began, ofThread := strings.CutSuffix(rest, "-"+thread+rolloutExt)
	return ok && ofThread && thread != "" && identifier(thread) == thread && len(began) == len("2006-01-02T15-04-05")
}

// home is Codex's home by an environment.
func home(getenv func(string) string) (string, error) {
	dir := getenv("CODEX_HOME")
	if dir == "" {
		dir = getenv("HOME")
		if dir != "" {
			dir = filepath.Join(dir, ".codex")
		}
	}
	if !filepath.IsAbs(dir) {
		return "", errors.New("neither CODEX_HOME nor HOME says where Codex keeps its rollouts")
	}
	return dir, nil
}

// homeOf is the home that a rollout lies in by its path; empty: it is in none.
func homeOf(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(dir) == archived {
		return filepath.Dir(dir)
	}
	if dir = filepath.Dir(filepath.Dir(filepath.Dir(dir))); filepath.Base(dir) == sessions {
		return filepath.Dir(dir)
	}
	return ""
}

// find finds the rollout of a thread in Codex's home. Of several the one whose
// folder is newest is meant.
func find(home, thread string) (string, error) {
	if home == "" {
		return "", fs.ErrNotExist
	}
	root := filepath.Join(home, sessions)
	var names func(dir string, depth int) (string, error)
	names = func(dir string, depth int) (string, error) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", err
		}
		for _, e := range slices.Backward(entries) {
			switch {
			case depth == 0 && e.Type().IsRegular() && isRolloutOf(e.Name(), thread):
				return filepath.Join(dir, e.Name()), nil
			case depth > 0 && e.IsDir():
				if path, err := names(filepath.Join(dir, e.Name()), depth-1); err == nil {
					return path, nil
				}
			}
		}
		return "", fs.ErrNotExist
	}
	path, err := names(root, 3)
	if err != nil {
		path, err = names(filepath.Join(home, archived), 0)
	}
	if err != nil {
		return "", fmt.Errorf("there is no rollout of thread %s: %w", thread, fs.ErrNotExist)
	}
	return path, nil
}

// FindTranscript finds the rollout of a thread where Codex keeps them by an
// environment.
func (Adapter) FindTranscript(getenv func(string) string, session string) (string, error) {
	dir, err := home(getenv)
	if err != nil {
		return "", err
	}
	return find(dir, session)
}

// OpenTranscript opens the rollout of a thread, as a Place in JSON tells where it
// is, to read it. It has to lie where Codex keeps its rollouts by the environment,
// as a file of this user's. A rollout that was archived since is found.
func (Adapter) OpenTranscript(getenv func(string) string, session, place string) (f *os.File, path string, err error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, "", err
	}
	dir, err := home(getenv)
	if err != nil {
		return nil, "", err
	}
	path = moved(at.Path, session)
	const deepest = 4 // sessions/YYYY/MM/DD
	f, err = transcript.Open(dir, path, deepest)
	return f, path, err
}

// moved is the path that the rollout of a thread has by now, when it had path.
func moved(path, thread string) string {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	if now, err := find(homeOf(path), thread); err == nil {
		return now
	}
	return path
}

// line is what is looked at of a line of a rollout.
type line struct {
	Type    string `json:"type"`
	Payload struct {
		Type  string          `json:"type"`
		Turn  string          `json:"turn_id"`
		Error json.RawMessage `json:"error"`
	} `json:"payload"`
}

// readLineOf reads a line; false: it is none that is whole.
func readLineOf(text []byte, into any) bool {
	err := json.Unmarshal(text, into)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || mistyped
}

// starts and ends say whether a line is where a turn begins or ends.
func (l line) starts() bool { return l.Type == "event_msg" && l.Payload.Type == "task_started" }

func (l line) ends() bool {
	return l.Type == "event_msg" && (l.Payload.Type == "task_complete" || l.Payload.Type == "turn_aborted")
}

// failed says that the turn ended by an error of the model's, of which no hook
// tells.
func (l line) failed() bool {
	return l.ends() && len(l.Payload.Error) > 0 && string(l.Payload.Error) != "null"
}

// copyUntil copies the lines up to a place, each made one of thread.
func copyUntil(w io.Writer, r *bufio.Reader, at Place, from, thread string) error {
	turns, inTurn := 0, false
	for {
		text, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := err != nil // and what there is of a line is torn
		var l line
		known := !last && readLineOf(text, &l)
		switch {
		case known && l.starts() && l.Payload.Turn == at.Turn && at.Before:
			if turns == 0 {
				return errors.New("the conversation had not begun")
			}
			return nil
		case known && l.starts() && inTurn, last && inTurn: // it never wrote that it had ended
			return nil
		case last:
			return errors.New("it no longer has the turn")
		}
		if _, err := w.Write(ofThread(text, from, thread)); err != nil {
			return err
		}
		if known && l.starts() {
			turns++
			inTurn = l.Payload.Turn == at.Turn
		}
		if known && l.ends() && l.Payload.Turn == at.Turn && !at.Before {
			return nil
		}
	}
}

// tailSize is how much of a rollout's end is read.
const tailSize = 256 << 10

// EndsInInterrupt says whether the newest turn of the rollout at path is over by the
// person's interrupt, or by an error of the model's: Codex may run no hook then.
// False when the rollout cannot be read.
func (Adapter) EndsInInterrupt(path string) bool {
	text, err := transcript.Tail(path, tailSize)
	if err != nil {
		return false
	}
	over := false
	for raw := range bytes.Lines(text) {
		if !bytes.Contains(raw, []byte(`"event_msg"`)) {
			continue
		}
		var l line
		switch {
		case !readLineOf(raw, &l):
		case l.starts():
			over = false
		case l.ends():
			over = l.failed() || l.Payload.Type == "turn_aborted"
		}
	}
	return over
}

// PlaceNow returns the Place, as JSON, that the rollout at path has come to: the end
// of its newest turn, or where that began, while it goes on or when before is its
// id. It is empty when the rollout does not tell.
func (Adapter) PlaceNow(path, before string) string {
	text, err := transcript.Tail(path, tailSize)
	if err != nil {
		return ""
	}
	turn, open := "", false
	for raw := range bytes.Lines(text) {
		var l line
		switch {
		case !bytes.Contains(raw, []byte(`"event_msg"`)) || !readLineOf(raw, &l):
		case l.starts():
			turn, open = l.Payload.Turn, true
		case l.ends():
			turn, open = l.Payload.Turn, false
		}
	}
	return place(path, turn, open || turn == before)
}
