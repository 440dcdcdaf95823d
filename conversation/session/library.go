package session

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
)

const fileExt = ".jsonl"

// Library is a folder of sessions. Files in it have mode 0600, folders 0700.
type Library struct {
	Dir string
	Now func() time.Time
}

// Folder is where a user's sessions are, by the environment: below XDG_DATA_HOME.
func Folder(getenv func(string) string) (string, error) {
	dir := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("find the sessions: neither XDG_DATA_HOME nor HOME is an absolute path")
		}
		dir = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(dir, "turnback", "conversations"), nil
}

// ErrNotFound says that there is no such session, or no such entry.
var ErrNotFound = errors.New("no such session")

// Create begins a session for the work in a directory.
func (l Library) Create(cwd string) (*Session, error) {
	return l.create(Header{Cwd: cwd}, nil, "")
}

// create writes a session with some entries and side files and opens it. It is
// there as a whole or not at all, and nobody else gets to it before.
func (l Library) create(h Header, entries []*Entry, blobs string) (*Session, error) {
	id, err := newSessionID(l.Now())
	if err != nil {
		return nil, err
	}
	h.Type, h.Version, h.ID, h.Time = typeHeader, Version, id, stamp(l.Now())
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	held, err := lock(l.lockFile(id))
	if err != nil {
		return nil, err
	}
	err = copyBlobs(blobs, blobsOf(l.file(id)))
	if err == nil {
		err = l.writeNew(h, entries)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create session: %w", err), held.Close())
	}
	return l.openLocked(id, held)
}

func (l Library) writeNew(h Header, entries []*Entry) (err error) {
	f, err := os.CreateTemp(l.Dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriter(f)
	err = writeLine(w, h)
	for _, e := range entries {
		err = errors.Join(err, writeLine(w, e))
	}
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), l.file(h.ID))
}

func writeLine(w io.Writer, v any) error {
	line, err := encode(v)
	if err == nil {
		_, err = w.Write(line)
	}
	return err
}

// Open opens a session to go on with it: at the leaf that it was left at, without
// a last line that was torn off. Another opener gets an [InUseError] until it is
// closed; it can read and fork the session. A damaged file is a [CorruptError].
func (l Library) Open(id string) (*Session, error) {
	if _, err := l.existing(id); err != nil {
		return nil, err
	}
	held, err := lock(l.lockFile(id))
	if err != nil {
		return nil, err
	}
	return l.openLocked(id, held)
}

// Remove removes a session with its side files, for good. While another has it open
// that is an [InUseError].
func (l Library) Remove(id string) error {
	path, err := l.existing(id)
	if err != nil {
		return err
	}
	held, err := lock(l.lockFile(id))
	if err != nil {
		return err
	}
	// The file goes first: who opens the session from then on finds none, whatever
	// becomes of the lock.
	err = os.Remove(path)
	if err == nil {
		err = errors.Join(os.RemoveAll(blobsOf(path)), os.Remove(l.lockFile(id)))
	}
	if err = errors.Join(err, held.Close()); err != nil {
		return fmt.Errorf("remove session %s: %w", id, err)
	}
	return nil
}

// openLocked opens a session and takes over its lock.
func (l Library) openLocked(id string, held *os.File) (*Session, error) {
	f, err := os.OpenFile(l.file(id), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open session: %w", err), held.Close())
	}
	s, err := l.open(f)
	if err != nil {
		return nil, errors.Join(err, f.Close(), held.Close())
	}
	s.lock = held
	return s, nil
}

func (l Library) open(f *os.File) (*Session, error) {
	data, err := readAll(f)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	c, err := parse(f.Name(), data)
	if err != nil {
		return nil, err
	}
	s := l.session(f.Name(), c)
	s.journal = &journal{file: f}
	if err := s.journal.mend(c, data); err != nil {
		return nil, err
	}
	s.resume()
	return s, nil
}

// Read opens a session without its lock, to look at it as it is now. It need not
// be closed, and nothing can be added.
func (l Library) Read(id string) (*Session, error) {
	path, err := l.existing(id)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	c, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	return l.session(path, c), nil
}

func (l Library) session(path string, c *content) *Session {
	s := &Session{
		path:    path,
		header:  c.header,
		now:     l.Now,
		byID:    make(map[string]*Entry, len(c.entries)),
		tracker: &tracker{state: new(conversation.State)},
		taken:   map[string]bool{},
	}
	for _, e := range c.entries {
		s.take(e)
	}
	s.derive()
	return s
}

// readAll reads a file that was just opened, in one piece.
func readAll(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, err
}

// Fork copies a session into a new one, all branches with it, for the work in a
// directory. The leaf is at an entry of it, or where it was when that is empty.
// Sessions that others have open can be forked. The new one is open.
func (l Library) Fork(id, entry, cwd string) (*Session, error) {
	from, err := l.Read(id)
	if err != nil {
		return nil, err
	}
	if entry == "" {
		entry = from.leaf
	}
	if entry != "" && from.byID[entry] == nil {
		return nil, fmt.Errorf("fork at %q: %w", entry, ErrNotFound)
	}
	entries := from.entries
	if entry != from.leaf {
		moved := &Entry{ParentID: from.leaf, Type: TypeLeaf, Time: stamp(l.Now()), Target: entry}
		if moved.ID, err = from.newID(); err != nil {
			return nil, err
		}
		entries = append(slices.Clone(entries), moved)
	}
	return l.create(Header{Cwd: cwd, ParentSession: id, ParentEntry: entry}, entries, from.blobs())
}

// copyBlobs copies a folder of side files; there need not be one.
func copyBlobs(from, to string) error {
	files, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") {
			continue
		}
		data, rerr := os.ReadFile(filepath.Join(from, f.Name()))
		if rerr == nil {
			rerr = writeBlob(to, f.Name(), data)
		}
		err = errors.Join(err, rerr)
	}
	return err
}

// Info is what a list tells of a session.
type Info struct {
	Header
	Modified time.Time
	Title    string // first line of the first prompt; empty when there is none near the beginning
}

// UnreadError says that a file of the library cannot be read as a session.
type UnreadError struct {
	Path string
	Err  error
}

func (e *UnreadError) Error() string {
	err := e.Err
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // the path is told once
	}
	return fmt.Sprintf("session file %s: %v", e.Path, err)
}

func (e *UnreadError) Unwrap() error { return e.Err }

// List gives the sessions of a directory, of all when it is empty, the newest
// first. Files that are something else are left out. One that cannot be read does
// not keep the others from being listed: the error, beside them, joins an
// [UnreadError] for each.
func (l Library) List(cwd string) ([]Info, error) {
	infos, unread, err := l.list(cwd)
	for _, u := range unread {
		err = errors.Join(err, u)
	}
	return infos, err
}

func (l Library) list(cwd string) (infos []Info, unread []*UnreadError, err error) {
	files, err := os.ReadDir(l.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("list sessions: %w", err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") || !strings.HasSuffix(f.Name(), fileExt) {
			continue
		}
		path := filepath.Join(l.Dir, f.Name())
		info, err := readInfo(path)
		if err != nil {
			unread = append(unread, &UnreadError{Path: path, Err: err})
			continue
		}
		if info != nil && l.file(info.ID) == path && (cwd == "" || info.Cwd == cwd) {
			infos = append(infos, *info)
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(b.ID, a.ID))
	})
	return infos, unread, nil
}

// titleWithin is how far into a file the first prompt is looked for, in bytes.
const titleWithin = 256 << 10

// readInfo reads the beginning of a file; nil when it is no session.
func readInfo(path string) (*Info, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	info := &Info{Modified: stat.ModTime()}
	r := bufio.NewReader(io.LimitReader(f, titleWithin))
	line, err := r.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bad := json.Unmarshal(line, &info.Header); bad != nil {
		return nil, fmt.Errorf("line 1: %w", bad)
	}
	if info.Type != typeHeader {
		return nil, nil
	}
	for err == nil && info.Title == "" {
		line, err = r.ReadBytes('\n')
		if e, bad := decode(line); bad == nil && e.Type == TypeMessage && e.Message.Role == RoleUser && e.Message.Origin == FromPerson {
			info.Title, _, _ = strings.Cut(strings.TrimSpace(e.Message.JoinedText()), "\n")
		}
	}
	return info, nil
}

// Place is a session, and an entry of it or none.
type Place struct{ Session, Entry string }

// Find reads what a person names: a session by its id or the beginning of it,
// and an entry of one by SESSION/ENTRY or by its own id. So a branch that was
// left is found by the entry that it ends with. A session that is there and cannot
// be read is an [UnreadError], one that is not there [ErrNotFound].
func (l Library) Find(name string) (Place, error) {
	infos, unread, err := l.list("")
	if err != nil {
		return Place{}, err
	}
	session, entry, _ := strings.Cut(name, "/")
	var found []Info
	for _, info := range infos {
		if info.ID == session {
			return Place{Session: session, Entry: entry}, nil
		}
		if session != "" && strings.HasPrefix(info.ID, session) {
			found = append(found, info)
		}
	}
	for _, u := range unread {
		if len(found) == 0 && session != "" && strings.HasPrefix(filepath.Base(u.Path), session) {
			return Place{}, u
		}
	}
	switch {
	case len(found) == 1:
		return Place{Session: found[0].ID, Entry: entry}, nil
	case len(found) > 1:
		return Place{}, fmt.Errorf("%q begins the ids of %d sessions", session, len(found))
	case entry != "":
		return Place{}, fmt.Errorf("%q: %w", session, ErrNotFound)
	}
	for _, info := range infos {
		if s, err := l.Read(info.ID); err == nil && s.byID[name] != nil {
			return Place{Session: info.ID, Entry: name}, nil
		}
	}
	return Place{}, fmt.Errorf("%q: %w", name, ErrNotFound)
}

func (l Library) file(id string) string     { return filepath.Join(l.Dir, id+fileExt) }
func (l Library) lockFile(id string) string { return filepath.Join(l.Dir, "."+id+".lock") }

// existing is the file of a session. An id that leads elsewhere is none.
func (l Library) existing(id string) (string, error) {
	if id == "" || strings.HasPrefix(id, ".") || strings.ContainsAny(id, `/\`) {
		return "", fmt.Errorf("%q: %w", id, ErrNotFound)
	}
	path := l.file(id)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%q: %w", id, ErrNotFound)
	}
	return path, nil
}

// newSessionID is the time and something random: ids sort by age.
func newSessionID(now time.Time) (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("make a session id: %w", err)
	}
	return now.UTC().Format("20060102T150405") + "-" + hex.EncodeToString(random[:]), nil
}

// newID is one that no entry of the session has.
func (s *Session) newID() (string, error) {
	for {
		var random [6]byte
		if _, err := rand.Read(random[:]); err != nil {
			return "", fmt.Errorf("make an entry id: %w", err)
		}
		if id := hex.EncodeToString(random[:]); s.byID[id] == nil {
			return id, nil
		}
	}
}
