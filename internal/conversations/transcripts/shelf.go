// Package transcripts keeps copies of the transcripts that checkpoints of a work
// tree are linked with: agents delete or expire their own. A copy has what the
// transcript had, byte for byte, as far as the limits allow.
package transcripts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/files"
)

// A copy is two files, named after agent and session; a third one stays of a copy
// that a person had removed.
const (
	copyExt   = ".jsonl"
	aboutExt  = ".json"
	purgedExt = ".purged"
	lockName  = ".lock"
)

// Limits are what is kept at most.
type Limits struct {
	Keep  bool          // false: nothing
	Each  int64         // bytes of a copy; negative: no limit
	Total int64         // bytes of all; negative: no limit
	For   time.Duration // since the session's last turn that was saved
}

// Link is a repository whose checkpoints a session is linked with.
type Link struct {
	Worktree  string `json:"worktree"`   // a work tree of it, absolute
	CommonDir string `json:"common_dir"` // its common git directory, absolute
}

// Copy is a copy of a transcript.
type Copy struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Path    string    `json:"path"` // of the agent's own file
	Links   []Link    `json:"links"`
	Last    time.Time `json:"last"`           // of the newest turn that it was added to for
	Full    bool      `json:"full,omitempty"` // the transcript is larger than a copy may be: the copy has its beginning

	File string `json:"-"` // where the copy is
	Size int64  `json:"-"` // in bytes
}

// OpenFunc opens the transcript of a session, as a checkpoint tells its place. An
// agent of which no copies are kept is [ErrNotKept].
type OpenFunc func(agent, session, place string) (f *os.File, path string, err error)

// ErrNotKept says that no copies are kept of an agent's transcripts.
var ErrNotKept = errors.New("no copies are kept of this agent's transcripts")

// Shelf is the folder of copies: files have mode 0600, folders 0700. Processes
// that use the same one at once do not get into each other's way.
type Shelf struct {
	Dir    string // empty: nothing is kept
	Now    func() time.Time
	Limits func() Limits
	Open   OpenFunc
}

// Add has the copy of a session take in what its transcript has got since, or makes
// the copy. Where the transcript is not the one any more that was copied, it is
// copied anew.
func (s Shelf) Add(ctx context.Context, agent, session, place string, link Link) error {
	limits := s.Limits()
	if s.Dir == "" || !limits.Keep {
		return nil
	}
	return s.locked(ctx, func() error {
		if purged, err := s.stillPurged(agent, session); purged || err != nil {
			return err
		}
		f, path, err := s.Open(agent, session, place)
		if err != nil {
			return err
		}
		c, _, err := s.read(s.name(agent, session) + aboutExt)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			was := c.Full
			c.Agent, c.Session, c.Path, c.Last, c.File = agent, session, path, s.Now().UTC(), s.name(agent, session)+copyExt
			if !slices.Contains(c.Links, link) {
				c.Links = append(c.Links, link)
			}
			c.Full, err = extend(c.File, f, limits.Each)
			if err == nil {
				err = s.write(c)
			}
			if err == nil && c.Full && !was {
				err = fmt.Errorf("the transcript is larger than %d bytes: the copy has its beginning alone", limits.Each)
			}
		}
		return errors.Join(err, f.Close(), s.shrink(limits.Total))
	})
}

// Find finds the copy of a session; false: there is none.
func (s Shelf) Find(agent, session string) (Copy, bool, error) {
	if s.Dir == "" {
		return Copy{}, false, nil
	}
	c, ok, err := s.read(s.name(agent, session) + aboutExt)
	if errors.Is(err, fs.ErrNotExist) {
		return Copy{}, false, nil
	}
	return c, ok, err
}

// List lists the copies, the one added to last first. Those that cannot be read
// are left out; the error names them.
func (s Shelf) List() ([]Copy, error) {
	if s.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Copy
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || filepath.Ext(e.Name()) != aboutExt {
			continue
		}
		c, ok, rerr := s.read(filepath.Join(s.Dir, e.Name()))
		if rerr != nil {
			err = errors.Join(err, rerr)
		} else if ok {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Copy) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Session, b.Session)) })
	return all, err
}

// Remove removes copies for good: their sessions are copied no more, for what was
// to go would come back with the next turn. Of a session without a copy that alone
// is noted.
func (s Shelf) Remove(ctx context.Context, copies ...Copy) error {
	if s.Dir == "" || len(copies) == 0 {
		return nil
	}
	return s.locked(ctx, func() error {
		var all error
		for _, c := range copies {
			name := s.name(c.Agent, c.Session)
			err := files.Replace(name+purgedExt, nil)
			if err = errors.Join(err, s.drop(name)); err != nil {
				all = errors.Join(all, fmt.Errorf("remove the copy of session %s: %w", c.Session, err))
			}
		}
		return all
	})
}

// Tidy drops what is not to be kept any more: copies that no checkpoint is linked
// with, old ones, all of them where none are kept. linked says whether a checkpoint
// is linked with the session of a copy; on doubt it says so.
func (s Shelf) Tidy(ctx context.Context, linked func(Copy) bool) error {
	if _, err := os.Stat(s.Dir); s.Dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	limits := s.Limits()
	return s.locked(ctx, func() error {
		copies, all := s.List()
		for _, c := range copies {
			if ctx.Err() != nil {
				return errors.Join(all, ctx.Err())
			}
			if !limits.Keep || s.Now().Sub(c.Last) > limits.For || !linked(c) {
				all = errors.Join(all, s.drop(s.name(c.Agent, c.Session)))
			}
		}
		return errors.Join(all, s.forget(limits.For), s.shrink(limits.Total))
	})
}

// forget drops the marks of sessions that were purged and are heard of no more,
// and copies of which nothing is known.
func (s Shelf) forget(after time.Duration) error {
	entries, err := os.ReadDir(s.Dir)
	for _, e := range entries {
		path := filepath.Join(s.Dir, e.Name())
		info, ierr := e.Info()
		if ierr != nil {
			continue // it has gone
		}
		old := s.Now().Sub(info.ModTime()) > after
		switch filepath.Ext(e.Name()) {
		case purgedExt:
			if old {
				err = errors.Join(err, os.Remove(path))
			}
		case copyExt:
			if _, serr := os.Lstat(strings.TrimSuffix(path, copyExt) + aboutExt); errors.Is(serr, fs.ErrNotExist) {
				err = errors.Join(err, os.Remove(path))
			}
		default:
			if strings.HasPrefix(e.Name(), ".") && e.Name() != lockName { // of a write that was killed
				err = errors.Join(err, os.Remove(path))
			}
		}
	}
	return err
}

// shrink drops the copies of the sessions that were quiet longest, until all have
// room.
func (s Shelf) shrink(total int64) error {
	copies, err := s.List()
	sum := int64(0)
	for _, c := range copies { // newest first
		if sum += c.Size; total >= 0 && sum > total {
			err = errors.Join(err, s.drop(s.name(c.Agent, c.Session)))
			sum -= c.Size
		}
	}
	return err
}

// stillPurged says whether a person had the copy of a session removed, and keeps
// that in mind.
func (s Shelf) stillPurged(agent, session string) (bool, error) {
	mark, now := s.name(agent, session)+purgedExt, s.Now()
	err := os.Chtimes(mark, now, now)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// locked runs f while no other process changes the shelf. It makes the folder.
func (s Shelf) locked(ctx context.Context, f func() error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of transcripts: %w", err)
	}
	lock, err := files.WaitLock(ctx, filepath.Join(s.Dir, lockName))
	if err != nil {
		return fmt.Errorf("lock the copies of transcripts: %w", err)
	}
	return errors.Join(f(), lock.Unlock())
}

func (s Shelf) drop(name string) error {
	var all error
	for _, ext := range []string{copyExt, aboutExt} { // what tells of it goes last
		if err := os.Remove(name + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

func (s Shelf) write(c Copy) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return files.Replace(s.name(c.Agent, c.Session)+aboutExt, text)
}

// read reads what is known of a copy; false: the copy itself is not there.
func (s Shelf) read(path string) (c Copy, ok bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Copy{}, false, err
	}
	if err := json.Unmarshal(text, &c); err != nil || s.name(c.Agent, c.Session)+aboutExt != path {
		return Copy{}, false, fmt.Errorf("what is known of the transcript %s cannot be read", filepath.Base(path))
	}
	c.File = s.name(c.Agent, c.Session) + copyExt
	info, err := os.Lstat(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return Copy{}, false, err
	}
	c.Size = info.Size()
	return c, true, nil
}

// name is the files of a copy without their extensions. A session's id is an
// agent's word: it is no name of a file.
func (s Shelf) name(agent, session string) string {
	sum := sha256.Sum256([]byte(agent + "\x00" + session))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:12]))
}
