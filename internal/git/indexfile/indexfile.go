// Package indexfile writes git's index as git does: under its lock, and by one
// rename. It knows the file, not what is in it.
package indexfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked says that somebody else writes the index, and ErrChanged that somebody
// did.
var (
	ErrLocked  = errors.New("the index is locked")
	ErrChanged = errors.New("the index was changed meanwhile")
)

// Sum is a digest of an index; that of nothing is of an index that is not there.
type Sum [sha256.Size]byte

// Busy says what keeps the index of a git directory from being written by anybody
// else: "a merge is under way"; empty: nothing.
func Busy(gitDir string) (string, error) {
	for _, sign := range [][2]string{
		{"index.lock", "git holds its lock (index.lock)"},
		{"MERGE_HEAD", "a merge is under way"},
		{"rebase-merge", "a rebase is under way"},
		{"rebase-apply", "a rebase or git am is under way"},
		{"CHERRY_PICK_HEAD", "a cherry-pick is under way"},
		{"REVERT_HEAD", "a revert is under way"},
		{"BISECT_LOG", "a bisect is under way"},
	} {
		_, err := os.Lstat(filepath.Join(gitDir, sign[0]))
		if err == nil {
			return sign[1], nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look at the index: %w", err)
		}
	}
	return "", nil
}

// Read gives the bytes of the index at path, none where there is none, and their
// digest.
func Read(path string) ([]byte, Sum, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, Sum{}, fmt.Errorf("read index: %w", err)
	}
	return data, sha256.Sum256(data), nil
}

// Rewrite writes the index at path anew, which has to have the digest sum: edit
// changes a copy of it (none where there is none) below scratch. The index is the
// old or the new one whenever the work ends.
func Rewrite(path, scratch string, sum Sum, edit func(private string) error) error {
	dir, err := os.MkdirTemp(scratch, "index-")
	if err != nil {
		return fmt.Errorf("make a private index: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	lock, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return ErrLocked
	}
	if err != nil {
		return fmt.Errorf("lock the index: %w", err)
	}
	private := filepath.Join(dir, "index")
	err = fill(lock, path, private, sum, edit)
	if err = errors.Join(err, lock.Close()); err == nil {
		err = os.Rename(path+".lock", path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+".lock"))
	}
	return nil
}

// fill writes the new index to lock, with the permission bits of the old one.
func fill(lock *os.File, path, private string, sum Sum, edit func(private string) error) error {
	data, now, err := Read(path)
	if err != nil {
		return err
	}
	if now != sum {
		return ErrChanged
	}
	if st, err := os.Stat(path); err == nil {
		_ = lock.Chmod(st.Mode().Perm())
		if err := os.WriteFile(private, data, 0o600); err != nil {
			return fmt.Errorf("make a private index: %w", err)
		}
	}
	if err := edit(private); err != nil {
		return err
	}
	if data, _, err = Read(private); err != nil {
		return err
	}
	_, err = lock.Write(data)
	if err = errors.Join(err, lock.Sync()); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}
