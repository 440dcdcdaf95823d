// Package settingsfile changes the settings file of an agent: a file that belongs
// to a person and to a program, either of which may change it at any time.
//
// A change is planned first, so that it can be shown, and then applied: under a
// lock, only if the file still is as it was read, with a backup, by a new file
// that takes the place of the old one with its mode. A link stays a link; the
// file that it points to is replaced.
package settingsfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged says that the file changed after it was read.
var ErrChanged = errors.New("the file changed in the meantime")

// maxLinks bounds a chain of links.
const maxLinks = 40

// maxSize bounds a settings file.
const maxSize = 8 << 20

// File is a settings file.
type File struct {
	Agent    string      // whose settings they are
	Path     string      // absolute
	Mode     fs.FileMode // of the file, when it is to be made
	StateDir string      // where the lock and the backups go
}

// Plan is a change of a file that is not made yet.
type Plan struct {
	File
	Target  string // the file itself, links resolved
	Existed bool
	Old     []byte // nil when it did not exist
	New     []byte
	Delete  bool // the file is to go away

	mode fs.FileMode
}

// Changed says whether there is anything to do.
func (p Plan) Changed() bool {
	if p.Delete {
		return p.Existed
	}
	return p.New != nil && (!p.Existed || !bytes.Equal(p.Old, p.New))
}

// Open reads the file as it is. The plan that it returns changes nothing yet.
func (f File) Open() (Plan, error) {
	p := Plan{File: f, mode: f.Mode}
	var err error
	if p.Target, err = resolve(f.Path); err != nil {
		return Plan{}, err
	}
	if p.Old, p.mode, err = read(p.Target, f.Mode); err != nil {
		return Plan{}, err
	}
	p.Existed = p.Old != nil
	p.New = p.Old
	return p, nil
}

// read returns the text and mode of a file; a nil text says that there is none.
func read(path string, mode fs.FileMode) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, mode, nil
	case err != nil:
		return nil, 0, fmt.Errorf("look at the settings: %w", err)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxSize:
		return nil, 0, fmt.Errorf("%s is too large for settings", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read the settings: %w", err)
	}
	if text == nil {
		text = []byte{}
	}
	return text, info.Mode().Perm(), nil
}

// resolve follows the links of the last component of path, also where what they
// point to does not exist.
func resolve(path string) (string, error) {
	for range maxLinks {
		link, err := os.Readlink(path)
		if err != nil { // no link, or nothing there
			return path, nil
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// Apply makes the change. It is ErrChanged, and nothing has happened, when the
// file is not as it was read any more.
func (p Plan) Apply() error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	return errors.Join(p.apply(), unlock())
}

func (p Plan) apply() error {
	now, mode, err := read(p.Target, p.Mode)
	if err != nil {
		return err
	}
	if (now != nil) != p.Existed || !bytes.Equal(now, p.Old) {
		return ErrChanged
	}
	if err := p.keepOld(); err != nil {
		return err
	}
	if p.Delete {
		if err := os.Remove(p.Target); err != nil {
			return fmt.Errorf("remove the settings: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.Target), 0o755); err != nil {
		return fmt.Errorf("make the folder of the settings: %w", err)
	}
	if err := replace(p.Target, p.New, mode); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// replace writes a new file and gives it the name of the old one.
func replace(path string, text []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), keepOwner(f, path), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
