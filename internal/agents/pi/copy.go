package pi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/agents/transcript"
	"github.com/turnback/turnback/internal/shell"
)

// ext is the extension of a session file.
const ext = ".jsonl"

// Copy writes the branch of a session that ends at a place, as a Place in JSON
// tells it, as a session of its own. The original is only read.
func (a Adapter) Copy(session, place string) (transcript.Copy, error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, err
	}
	return a.copyOf(session, at, at.Path, at.Path)
}

// CopyKept is Copy from a copy of the session file, at kept, that was made while
// pi's own was at path: for when that has gone. What it makes goes where pi's own
// was.
func (a Adapter) CopyKept(session, place, kept, path string) (transcript.Copy, error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, err
	}
	return a.copyOf(session, at, kept, path)
}

// Resume is the command that goes on with a session.
func (Adapter) Resume(session string) string { return Name + " --session " + shell.Word(session) }

// copyOf has the session in the file at from copied beside path, where pi has it
// or had it.
func (a Adapter) copyOf(session string, at Place, from, path string) (transcript.Copy, error) {
	b, err := branchOf(from, at.Entry)
	switch {
	case err != nil:
		return nil, err
	case b.header.ID != session:
		return nil, fmt.Errorf("the file is that of session %s, not of %s", b.header.ID, session)
	case len(b.entries) == 0:
		return nil, errors.New("the session no longer has the entry that the turn ended with")
	case b.entries[0].Parent != "": // a copy without its beginning would not say so
		return nil, fmt.Errorf("what the session had before entry %s cannot be read", b.entries[0].ID)
	}
	id := transcript.NewUUID()
	when := b.entries[len(b.entries)-1].When.UTC()
	kept := map[string]bool{}
	for _, e := range b.entries {
		kept[e.ID] = true
	}
	cut := cut{id: id, parent: path, when: when, kept: kept}
	stamp := strings.NewReplacer(":", "-", ".", "-").Replace(when.Format(timeFormat))
	return transcript.Draft{
		From: from, Folder: filepath.Dir(path), Name: stamp + "_" + id + ext, Session: id, Cut: cut.write, History: a.History,
	}.Make()
}

// timeFormat is how pi writes a time.
const timeFormat = "2006-01-02T15:04:05.000Z"

// cut is what the copy is to have.
type cut struct {
	id     string
	parent string // path of the session that it is a copy of
	when   time.Time
	kept   map[string]bool // the ids of its entries
}

// write copies the entries byte for byte, below a header of the copy's own.
func (c cut) write(w io.Writer, lines *bufio.Reader) error {
	head, err := transcript.ReadLine(lines)
	if err == nil {
		head, err = c.header(head)
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for missing := len(c.kept); missing > 0; {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if e, ok := parseEntry(line); ok && c.kept[e.ID] {
			missing--
			if _, err := w.Write(append(bytes.TrimSuffix(line, []byte("\n")), '\n')); err != nil {
				return err
			}
		}
		if err != nil && missing > 0 {
			return errors.New("the session changed while it was copied")
		}
	}
	return nil
}

// header is the session's own with another id; what else it tells stays.
func (c cut) header(line []byte) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &fields); err != nil {
		return nil, fmt.Errorf("read the head of the session: %w", err)
	}
	for name, value := range map[string]string{"id": c.id, "parentSession": c.parent, "timestamp": c.when.Format(timeFormat)} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[name] = text
	}
	text, err := json.Marshal(fields)
	return append(text, '\n'), err
}
