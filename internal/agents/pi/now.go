package pi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/turnback/turnback/internal/agents/transcript"
)

// tailSize is how much of the end of a session file is read for where it is now.
const tailSize = 256 << 10

// PlaceNow returns the Place, as JSON, that the session file at path has come to:
// its newest entry behind which no call waits for its result. pi has no ids of
// prompts, and writes a prompt down after it has told of it. The place is empty
// when the file does not tell.
func (Adapter) PlaceNow(path, _ string) string {
	text, err := transcript.Tail(path, tailSize)
	if err != nil {
		return ""
	}
	at, waiting := "", []string(nil)
	for line := range bytes.Lines(text) {
		e, ok := parseEntry(line)
		if !ok {
			continue
		}
		switch e.Message.Role {
		case "assistant":
			waiting = e.calls()
		case "toolResult":
			waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == e.Message.CallID })
		}
		if len(waiting) == 0 {
			at = e.ID
		}
	}
	return PlaceAt(path, at)
}

// calls are the ids of the calls in a message of the model.
func (e entry) calls() []string {
	var parts []struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	if json.Unmarshal(e.Message.Content, &parts) != nil {
		return nil
	}
	var ids []string
	for _, p := range parts {
		if p.Type == "toolCall" {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// FindTranscript finds the file of a session where pi keeps its sessions by the
// environment env.
func (Adapter) FindTranscript(env func(string) string, session string) (string, error) {
	folder, err := sessions(env)
	if err != nil {
		return "", err
	}
	if !isID(session) {
		return "", fmt.Errorf("%q is no id of a session", session)
	}
	found, err := filepath.Glob(filepath.Join(quoted(folder), "*", "*_"+session+ext))
	if err != nil || len(found) != 1 {
		return "", errors.Join(fmt.Errorf("there are %d files of session %s", len(found), session), err)
	}
	return found[0], nil
}

// quoted is a path that stands for itself in a pattern.
func quoted(path string) string {
	var out []byte
	for _, c := range []byte(path) {
		if bytes.IndexByte([]byte(`*?[\`), c) >= 0 && filepath.Separator != '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return string(out)
}
