package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/files"
)

const (
	folderPrefix = "turnback-run-"
	folderLock   = "lock" // in a folder: held while its launch lives
)

// Folder holds the files of one launch, for nobody else to read.
type Folder struct {
	Path string // absolute
	lock *files.Lock
}

// NewFolder makes one in a folder for temporary files.
func NewFolder(temporary string) (*Folder, error) {
	path, err := os.MkdirTemp(temporary, folderPrefix) // mode 0700
	if err != nil {
		return nil, fmt.Errorf("make a folder for this launch: %w", err)
	}
	lock, err := files.TryLock(filepath.Join(path, folderLock))
	if err != nil && !errors.Is(err, errors.ErrUnsupported) { // without locks nothing is swept either
		return nil, errors.Join(fmt.Errorf("make a folder for this launch: %w", err), os.RemoveAll(path))
	}
	return &Folder{path, lock}, nil
}

// Lock is for the agent to inherit: the folder is in use as long as it lives, also
// when its starter was killed. nil: there are no locks here.
func (f *Folder) Lock() *os.File {
	if f.lock == nil {
		return nil
	}
	return f.lock.File()
}

// Remove removes the folder with all in it.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Unlock())
	}
	return err
}

// Sweep removes the folders of launches that were killed: those of this user's
// whose lock nobody holds any more. What it cannot remove is left to the next one.
func Sweep(temporary string) {
	root, err := os.OpenRoot(temporary) // so that no link leads out of it
	if err != nil {
		return
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, folderPrefix) && isFolder(root, name) {
			sweep(root, name)
		}
	}
}

// isFolder says whether a name is one of our folders: no link, this user's and
// for nobody else, with a lock in it.
func isFolder(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || !ours(info) {
		return false
	}
	lock, err := root.Lstat(filepath.Join(name, folderLock))
	return err == nil && lock.Mode().IsRegular()
}

func sweep(root *os.Root, name string) {
	lock, err := files.TryLock(filepath.Join(root.Name(), name, folderLock))
	if err != nil || lock == nil {
		return // it is in use
	}
	_ = root.RemoveAll(name)
	_ = lock.Unlock()
}
