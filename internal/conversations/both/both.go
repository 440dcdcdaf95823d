// Package both remembers restores that put back the files of a work tree and a
// conversation, while they are under way: so that whoever finishes one that was
// killed finishes both halves, or takes both back.
//
// The files have their journal in the repository. What is here stands in turnback's
// own folder: it names files that are removed when a restore is taken back, and a
// repository may come from anybody.
package both

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/conversations/back"
	"github.com/turnback/turnback/internal/files"
)

const (
	format    = 1
	recordExt = ".json"
	maxRecord = 1 << 20 // bytes of a record that is read
	// keepFor is how long a record is kept that nobody ended: a restore that was
	// killed before its journal was there leaves one.
	keepFor = 90 * 24 * time.Hour
)

// ErrNowhere says that there is no folder to remember anything in.
var ErrNowhere = errors.New("there is no state folder")

// Shelf is the folder of records: files have mode 0600, the folder 0700.
type Shelf struct {
	Dir string // empty: nothing can be remembered
	Now func() time.Time
}

// Record is one restore.
type Record struct {
	Tag      string    `json:"tag"`      // as the journal of the files has it
	Worktree string    `json:"worktree"` // root of the work tree
	Mark     back.Mark `json:"conversation"`
	Format   int       `json:"format"`

	Written time.Time `json:"-"` // when it was, by the clock of the file system
}

// New makes a record of a restore that is about to begin. It is not written yet.
func New(worktree string, m back.Mark) Record {
	return Record{Tag: strings.ToLower(rand.Text()), Worktree: worktree, Mark: m}
}

// Write has a record outlive this process, and the machine's next crash.
func (s Shelf) Write(r Record) error {
	path, err := s.path(r.Tag)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("remember the restore: %w", err)
	}
	s.sweep()
	r.Format = format
	data, err := json.Marshal(r)
	if err == nil {
		err = files.ReplaceDurably(path, data)
	}
	if err != nil {
		return fmt.Errorf("remember the restore: %w", err)
	}
	return nil
}

// Find finds the record that a journal names; false: there is none of this work
// tree.
func (s Shelf) Find(tag, worktree string) (Record, bool, error) {
	path, err := s.path(tag)
	if err != nil {
		return Record{}, false, nil
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxRecord) {
		err = errors.New("it is no file that can be read")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	var r Record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && r.Format != format {
		err = fmt.Errorf("format %d is not known", r.Format)
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("read what is known of the restore's conversation, %s: %w", path, err)
	}
	r.Written = info.ModTime()
	return r, r.Tag == tag && r.Worktree == worktree, nil
}

// Remove ends a record.
func (s Shelf) Remove(tag string) error {
	path, err := s.path(tag)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the restore: %w", err)
	}
	return nil
}

// path is the file of a record. The tag may have come with a repository.
func (s Shelf) path(tag string) (string, error) {
	if s.Dir == "" {
		return "", ErrNowhere
	}
	if tag == "" || len(tag) > 64 || strings.Trim(tag, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return "", fmt.Errorf("%.80q is no tag", tag)
	}
	return filepath.Join(s.Dir, tag+recordExt), nil
}

// sweep removes old records. One that stays is seen to the next time.
func (s Shelf) sweep() {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && s.Now().Sub(info.ModTime()) > keepFor {
			_ = os.Remove(filepath.Join(s.Dir, e.Name()))
		}
	}
}
