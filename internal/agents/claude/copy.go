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
}

// Copy writes what the transcript of a session had at a place, as a Place in JSON
// tells it. The original is only read. The place comes from a checkpoint, which
// may be anybody's: what it names has to be the transcript of that session.
func (Adapter) Copy(session, place string) (c Copy, err error) {
	var at Place
	if err := json.Unmarshal([]byte(place), &at); err != nil || at.UUID == "" {
		return Copy{}, errors.New("the place in the transcript cannot be read")
	}
	if !filepath.IsAbs(at.Path) || filepath.Base(at.Path) != session+transcriptExt || identifier(session) != session || session == "" {
		return Copy{}, fmt.Errorf("%q is not the transcript of session %s", at.Path, session)
	}
	info, err := os.Lstat(at.Path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxTranscript) {
		err = errors.New("it is no file that can be read")
	}
	if err != nil {
		return Copy{}, fmt.Errorf("look at the transcript: %w", err)
	}
	from, err := os.Open(at.Path)
	if err != nil {
		return Copy{}, fmt.Errorf("open the transcript: %w", err)
	}
	defer from.Close()
	c.Session = newUUID()
	c.path = filepath.Join(filepath.Dir(at.Path), c.Session+transcriptExt)
	to, err := os.CreateTemp(filepath.Dir(at.Path), ".turnback-*") // mode 0600
	if err != nil {
		return Copy{}, fmt.Errorf("copy the transcript: %w", err)
	}
	c.temp = to.Name()
	w := bufio.NewWriterSize(to, 1<<20)
	err = copyUntil(w, from, at.UUID, c.Session)
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
	return nil
}

// newUUID is a random one, of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
