package claude

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// transcriptExt is the extension of a transcript.
const transcriptExt = ".jsonl"

// Copy is a transcript up to a place, as a session of its own that is not there
// yet: Keep makes it one, Drop throws it away.
type Copy struct {
	Session string // its id
	temp    string
	path    string
	folder  string // that was made for it; empty: it was there
}

// Copy writes what the transcript of a session had at a place, as a Place in JSON
// tells it. The original is only read.
func (Adapter) Copy(session, place string) (Copy, error) {
	at, err := placeOf(session, place)
	if err != nil {
		return Copy{}, err
	}
	return copyOf(at.Path, at.UUID, filepath.Dir(at.Path))
}

// CopyKept is Copy from a copy of the transcript, at kept, that was made while the
// agent's own was at path: for when that has gone. What it makes goes where the
// agent's own was.
func (Adapter) CopyKept(session, place, kept, path string) (Copy, error) {
	at, err := placeOf(session, place)
	if err != nil {
		return Copy{}, err
	}
	folder, made := filepath.Dir(path), ""
	if _, err := os.Lstat(folder); errors.Is(err, os.ErrNotExist) { // agents remove it with the last transcript
		made = folder
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Copy{}, fmt.Errorf("make the folder of the transcript: %w", err)
	}
	c, err := copyOf(kept, at.UUID, folder)
	c.folder = made
	return c, err
}

// copyOf writes the transcript at path up to the entry uuid into a new file in
// folder.
func copyOf(path, uuid, folder string) (c Copy, err error) {
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxTranscript) {
		err = errors.New("it is no file that can be read")
	}
	if err != nil {
		return Copy{}, fmt.Errorf("look at the transcript: %w", err)
	}
	from, err := os.Open(path)
	if err != nil {
		return Copy{}, fmt.Errorf("open the transcript: %w", err)
	}
	defer from.Close()
	c.Session = newUUID()
	c.path = filepath.Join(folder, c.Session+transcriptExt)
	to, err := os.CreateTemp(folder, ".turnback-*") // mode 0600
	if err != nil {
		return Copy{}, fmt.Errorf("copy the transcript: %w", err)
	}
	c.temp = to.Name()
	w := bufio.NewWriterSize(to, 1<<20)
	err = copyUntil(w, from, uuid, c.Session)
	if err = errors.Join(err, w.Flush(), to.Sync(), to.Close()); err != nil {
		return Copy{}, errors.Join(fmt.Errorf("copy the transcript: %w", err), os.Remove(c.temp))
	}
	return c, nil
}

// copyUntil copies the lines up to the one of the entry uuid, each made one of
// session.
func copyUntil(w io.Writer, r io.Reader, uuid, session string) error {
	lines := bufio.NewReaderSize(r, 1<<20)
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

// Keep makes the copy a session.
func (c Copy) Keep() error {
	if err := os.Rename(c.temp, c.path); err != nil {
		return fmt.Errorf("put the copy of the transcript in its place: %w", err)
	}
	return syncDir(filepath.Dir(c.path))
}

// syncDir has a rename in a folder outlive a loss of power, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open the folder of transcripts: %w", err)
	}
	_ = d.Sync() // not every system syncs folders
	return d.Close()
}

// Drop throws a copy away that was not kept.
func (c Copy) Drop() error {
	if err := os.Remove(c.temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the copy of the transcript: %w", err)
	}
	if c.folder != "" {
		_ = os.Remove(c.folder) // stays when something is in it
	}
	return nil
}

// newUUID is a random one, of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
