package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"

	"github.com/turnback/turnback/internal/agents/transcript"
	"github.com/turnback/turnback/internal/shell"
)

// transcriptExt is the extension of a transcript.
const transcriptExt = ".jsonl"

// Copy writes what the transcript of a session had at a place, as a Place in JSON
// tells it, as a session of its own. The original is only read.
func (a Adapter) Copy(session, place string) (transcript.Copy, error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, err
	}
	return a.copyOf(at.Path, at, filepath.Dir(at.Path))
}

// CopyKept is Copy from a copy of the transcript, at kept, that was made while the
// agent's own was at path: for when that has gone. What it makes goes where the
// agent's own was.
func (a Adapter) CopyKept(session, place, kept, path string) (transcript.Copy, error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, err
	}
	return a.copyOf(kept, at, filepath.Dir(path))
}

// Resume is the command that goes on with a session.
func (Adapter) Resume(session string) string { return Name + " --resume " + shell.Word(session) }

// copyOf has the transcript at path up to a place copied into a new file in folder.
func (a Adapter) copyOf(path string, at Place, folder string) (transcript.Copy, error) {
	uuid := at.UUID
	if at.Call != "" {
		var err error
		if uuid, err = endOfCall(path, at.Call); err != nil {
			return nil, err
		}
	}
	session := transcript.NewUUID()
	return transcript.Draft{
		From: path, Folder: folder, Name: session + transcriptExt, Session: session,
		Cut:     func(w io.Writer, r *bufio.Reader) error { return copyUntil(w, r, uuid, session) },
		History: a.History,
	}.Make()
}

// copyUntil copies the lines up to the one of the entry uuid, each made one of
// session.
func copyUntil(w io.Writer, lines *bufio.Reader, uuid, session string) error {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, werr := w.Write(ofSession(line, session)); werr != nil {
			return werr
		}
		if e, ok := parseEntry(line); ok && e.UUID == uuid {
			return nil
		}
		if err != nil {
			return errors.New("it no longer has the entry that the turn ended with")
		}
	}
}

// ofSession is a line with another session's id in the place of its own. All else
// stays byte for byte.
func ofSession(line []byte, session string) []byte {
	var of struct {
		Session string `json:"sessionId"`
	}
	if json.Unmarshal(line, &of) != nil || of.Session == "" || identifier(of.Session) != of.Session {
		return line
	}
	return bytes.ReplaceAll(line, []byte(`"sessionId":"`+of.Session+`"`), []byte(`"sessionId":"`+session+`"`))
}
