// Package transcript is what the adapters share about the files that agents keep
// their conversations in: how one is found and opened, and how a cut copy of one
// becomes a session of its own.
package transcript

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/turnback/turnback/internal/agents/history"
)

// MaxSize bounds a transcript that is read, in bytes.
const MaxSize = 512 << 20

// Copy is a conversation up to a place, as a session of its own that is not there
// yet.
type Copy interface {
	// Session is the id that it gets.
	Session() string
	// Path is the file that it becomes; empty: it becomes none of its own.
	Path() string
	// Spans counts the spans in it that a rewind has closed: without a proxy, the
	// agent sends them in full.
	Spans() int
	// Keep makes it a session. It is called once at most.
	Keep() error
	// Drop ends it, and removes what was not kept.
	Drop() error
}

// Draft says what to copy, and to where.
type Draft struct {
	From    string // the transcript, which is only read
	Folder  string // where the copy goes; it is made where it is not there
	Name    string // of the copy's file
	Session string // the copy's id
	// Cut writes what the copy has of the transcript.
	Cut func(w io.Writer, r *bufio.Reader) error
	// History reads a transcript.
	History func(path string) (history.History, error)
}

// Make writes the copy beside the place that it gets, under a name that no agent
// takes for a session.
func (d Draft) Make() (Copy, error) {
	from, err := OpenRegular(d.From)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	made, err := makeFolder(d.Folder)
	c := fileCopy{session: d.Session, path: filepath.Join(d.Folder, d.Name), made: made}
	if err == nil {
		err = c.write(from, d.Cut)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the transcript: %w", err), c.Drop())
	}
	h, err := d.History(c.temp)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the copy of the transcript: %w", err), c.Drop())
	}
	c.spans = h.Spans()
	return c, nil
}

// tempPrefix begins the name of a copy that is not there yet.
const tempPrefix = ".turnback-"

// sweep removes what copies have left that were never finished: their process was
// killed. fresh is a copy that is just being made.
func sweep(fresh string) {
	now, err := os.Lstat(fresh)
	if err != nil {
		return
	}
	old, _ := filepath.Glob(filepath.Join(filepath.Dir(fresh), tempPrefix+"*")) // fails for odd names of the folder alone
	for _, path := range old {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && now.ModTime().Sub(info.ModTime()) > time.Hour {
			_ = os.Remove(path)
		}
	}
}

// OpenRegular opens a plain file that is not too large; no symbolic link.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > MaxSize) {
		err = errors.New("it is no file that can be read")
	}
	if err != nil {
		return nil, fmt.Errorf("look at the transcript: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the transcript: %w", err)
	}
	return f, nil
}

// makeFolder makes a folder and those above that are not there, and tells which
// they were, the lowest first.
func makeFolder(path string) (made []string, err error) {
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return made, fmt.Errorf("make the folder of the transcript: %w", err)
	}
	return made, nil
}

// fileCopy is a copy that is a file.
type fileCopy struct {
	session, path string
	temp          string
	made          []string // folders that were made for it, the lowest first
	spans         int
}

func (c *fileCopy) write(from io.Reader, cut func(io.Writer, *bufio.Reader) error) error {
	to, err := os.CreateTemp(filepath.Dir(c.path), tempPrefix+"*") // mode 0600
	if err != nil {
		return err
	}
	c.temp = to.Name()
	sweep(c.temp)
	w := bufio.NewWriterSize(to, 1<<20)
	err = cut(w, bufio.NewReaderSize(from, 1<<20))
	return errors.Join(err, w.Flush(), to.Sync(), to.Close())
}

func (c fileCopy) Session() string { return c.session }

func (c fileCopy) Path() string { return c.path }

func (c fileCopy) Spans() int { return c.spans }

func (c fileCopy) Keep() error {
	if err := os.Rename(c.temp, c.path); err != nil {
		return fmt.Errorf("put the copy of the transcript in its place: %w", err)
	}
	if err := syncDir(filepath.Dir(c.path)); err != nil {
		return errors.Join(err, os.Remove(c.path))
	}
	return nil
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

func (c fileCopy) Drop() error {
	if c.temp != "" {
		if err := os.Remove(c.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the copy of the transcript: %w", err)
		}
	}
	for _, folder := range c.made {
		_ = os.Remove(folder) // stays when something is in it
	}
	return nil
}

// NewUUID is a random one, of version 4.
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
