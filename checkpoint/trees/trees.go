// Package trees looks at all the work trees of a repository together: each has a
// folder of ours below the common git directory, with a lock and, while a restore
// is under way, a journal.
package trees

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/restore"
)

// The names of the files in the folder of a work tree.
const (
	LockName    = "lock"
	JournalName = "restore.json"
)

// CheckOwn refuses when something of ours below the common git directory is no
// folder of that place but a link, which leads elsewhere: turnback makes none, so it
// came with a git directory that somebody else made. dir is the folder of a work tree.
func CheckOwn(commonDir, dir string) error {
	own := filepath.Join(commonDir, "turnback")
	places := []string{own, filepath.Dir(dir), dir}
	for _, name := range []string{"panes", "quarantine", "lfs"} {
		places = append(places, filepath.Join(own, name))
	}
	for _, place := range places {
		st, err := os.Lstat(place)
		if err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return &fail.Error{
				Code: fail.Damaged, Message: fmt.Sprintf("%s is a symbolic link, which turnback never makes: nothing is read or written there", place),
				Detail: "look where it leads, then remove it; the checkpoints are in git's refs and stay",
			}
		}
	}
	return nil
}

// Folders lists the folders below root, by name.
func Folders(root string) ([]string, error) {
	list, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list work trees: %w", err)
	}
	var folders []string
	for _, d := range list {
		if d.IsDir() {
			folders = append(folders, filepath.Join(root, d.Name()))
		}
	}
	return folders, nil
}

// Pins tells which checkpoints the restores need that were interrupted in any work
// tree below root. A journal that cannot be read is an error: nobody can tell what
// it needs.
func Pins(root string) (func(pane string, n int) bool, error) {
	folders, err := Folders(root)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, dir := range folders {
		path := filepath.Join(dir, JournalName)
		j, err := restore.ReadJournal(path)
		if err != nil {
			return nil, &fail.Error{
				Code: fail.Interrupted, Message: fmt.Sprintf("%v: %s", err, path), Err: err,
				Detail: "nobody can tell which checkpoints it needs; move the file away once its safety checkpoint is restored",
			}
		}
		if j != nil {
			needed[record.CheckpointRef(j.Pane, j.N)], needed[record.CheckpointRef(j.Pane, j.Safety)] = true, true
		}
	}
	return func(pane string, n int) bool { return needed[record.CheckpointRef(pane, n)] }, nil
}

// Lock takes the locks of all the work trees that have a folder beside dir, the
// folder of one of them, which is made if need be. take takes one. Nobody may hold
// the lock of one while it waits for that of another, but for this, which takes
// them by name.
func Lock(dir string, take func(path string) (*files.Lock, error)) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder in the git directory: %w", err)
	}
	folders, err := Folders(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	var held []*files.Lock
	unlock = func() (err error) {
		for _, l := range held {
			err = errors.Join(err, l.Unlock())
		}
		return err
	}
	for _, folder := range folders {
		lock, err := take(filepath.Join(folder, LockName))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock a work tree: %w", err), unlock())
		}
		held = append(held, lock)
	}
	return unlock, nil
}

// TryLock is Lock without waiting; nil: somebody works on a work tree.
func TryLock(dir string) (unlock func() error, err error) {
	unlock, err = Lock(dir, func(path string) (*files.Lock, error) {
		lock, err := files.TryLock(path)
		if err == nil && lock == nil {
			err = errBusy
		}
		return lock, err
	})
	if errors.Is(err, errBusy) {
		return nil, nil
	}
	return unlock, err
}

var errBusy = errors.New("another process works on a work tree of the repository")
