package lfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
)

// Store is where content lies.
type Store struct {
	Storage string   // where git-lfs has it and looks for it
	Borrow  []string // where else git-lfs looks: the storage of alternates
	Kept    string   // our own folder
}

// SettingPattern is the pattern of the setting that Find needs.
const SettingPattern = `^lfs\.storage$`

// Find gives the places of a repository; storage is the setting lfs.storage,
// empty where there is none.
func Find(repo *git.Repo, storage string) Store {
	if storage == "" {
		storage = "lfs"
	}
	if !filepath.IsAbs(storage) {
		storage = filepath.Join(repo.CommonDir, storage)
	}
	s := Store{Storage: filepath.Join(storage, "objects"), Kept: filepath.Join(repo.CommonDir, "turnback", "lfs")}
	data, err := os.ReadFile(filepath.Join(repo.CommonDir, "objects", "info", "alternates"))
	if err != nil {
		return s
	}
	for line := range strings.Lines(string(data)) {
		objects := strings.TrimRight(line, "\r\n")
		if objects == "" || objects[0] == '#' {
			continue
		}
		if !filepath.IsAbs(objects) {
			objects = filepath.Join(repo.CommonDir, "objects", objects)
		}
		s.Borrow = append(s.Borrow, filepath.Join(filepath.Dir(objects), "lfs", "objects"))
	}
	return s
}

// InUse tells whether there is any content at all.
func (s Store) InUse() bool {
	for _, dir := range append([]string{s.Storage, s.Kept}, s.Borrow...) {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return true
		}
	}
	return false
}

// Keeps tells whether anything was ever kept.
func (s Store) Keeps() bool {
	_, err := os.Lstat(s.Kept)
	return err == nil
}

func place(dir string, p Pointer) string { return filepath.Join(dir, p.OID[:2], p.OID[2:4], p.OID) }

// has tells whether dir holds content of p's size.
func has(dir string, p Pointer) bool {
	st, err := os.Lstat(place(dir, p))
	return err == nil && st.Mode().IsRegular() && st.Size() == p.Size
}

// Find gives a file with the content of p; false: nobody here has it. Content of
// no bytes has no file, and is os.DevNull.
func (s Store) Find(p Pointer) (string, bool) {
	if p.Size == 0 {
		return os.DevNull, true
	}
	for _, dir := range append([]string{s.Storage, s.Kept}, s.Borrow...) {
		if has(dir, p) {
			return place(dir, p), true
		}
	}
	return "", false
}

// Keep gives the content of each pointer a name in our folder, so that it stays
// whatever git-lfs removes. It returns those that are kept: of the others there
// is no content here, only the pointer is on disk.
func (s Store) Keep(ctx context.Context, pointers []Pointer) (kept []Pointer, err error) {
	if len(pointers) == 0 {
		return nil, nil
	}
	err = s.locked(ctx, func() error {
		for _, p := range pointers {
			ok, err := s.keep(ctx, p)
			if err != nil {
				return err
			}
			if ok {
				kept = append(kept, p)
			}
		}
		return nil
	})
	return kept, err
}

func (s Store) keep(ctx context.Context, p Pointer) (bool, error) {
	if p.Size == 0 {
		return false, nil
	}
	if st, err := os.Lstat(place(s.Kept, p)); err == nil && has(s.Kept, p) {
		return true, os.Chmod(place(s.Kept, p), st.Mode().Perm()) // as it is: marks it as needed now, see Sweep
	}
	for _, dir := range append([]string{s.Storage}, s.Borrow...) {
		if has(dir, p) {
			return true, Clone(ctx, place(dir, p), place(s.Kept, p))
		}
	}
	return false, nil
}

// locked runs f while no other process keeps content or lets go of some.
func (s Store) locked(ctx context.Context, f func() error) error {
	if err := os.MkdirAll(s.Kept, 0o700); err != nil {
		return fmt.Errorf("keep LFS content: %w", err)
	}
	lock, err := files.WaitLock(ctx, filepath.Join(s.Kept, lockName))
	if err != nil {
		return fmt.Errorf("keep LFS content: %w", err)
	}
	return errors.Join(f(), lock.Unlock())
}

const (
	lockName  = "lock"
	sweptName = "swept" // its time is that of the last sweep
)

// Swept tells when Sweep was last done, or content first kept; false: no content
// was ever kept.
func (s Store) Swept() (time.Time, bool) {
	for _, name := range []string{sweptName, lockName} {
		if st, err := os.Stat(filepath.Join(s.Kept, name)); err == nil {
			return st.ModTime(), true
		}
	}
	return time.Time{}, false
}

// GiveBack puts kept content where git-lfs looks for it, unless it is there. The
// content is checked on the way: what git-lfs is given is what p names.
func (s Store) GiveBack(ctx context.Context, p Pointer) error {
	if p.Size == 0 || has(s.Storage, p) || !has(s.Kept, p) {
		return nil
	}
	if err := Check(place(s.Kept, p), p); err != nil {
		return err
	}
	return Clone(ctx, place(s.Kept, p), place(s.Storage, p))
}

// ErrCorrupt says that a file does not hold what its name says.
var ErrCorrupt = errors.New("LFS content is corrupt")

// Check reads the file with the content of p to its end.
func Check(file string, p Pointer) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	if n != p.Size || hex.EncodeToString(sum.Sum(nil)) != p.OID {
		return fmt.Errorf("%w: %s", ErrCorrupt, file)
	}
	return nil
}

// Clone gives the file from the further name to; where that cannot be done it is
// copied.
func Clone(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("keep LFS content: %w", err)
	}
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return copyFile(ctx, from, to)
}

// copyFile copies by way of a temporary name, so that what has the last name is
// whole.
func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("keep LFS content: %w", err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.CreateTemp(filepath.Dir(to), tempPrefix)
	if err != nil {
		return fmt.Errorf("keep LFS content: %w", err)
	}
	_, err = io.Copy(out, readerUntil{ctx, in})
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name())
		return fmt.Errorf("keep LFS content: %w", err)
	}
	return nil
}

const tempPrefix = "tmp-"

// readerUntil ends with the context.
type readerUntil struct {
	ctx context.Context
	r   io.Reader
}

func (r readerUntil) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// Sweep removes the kept content that needed does not name, by OID, and that was
// kept before the given time: what is younger may belong to a checkpoint that is
// being saved right now. It returns how many bytes it let go of.
func (s Store) Sweep(ctx context.Context, needed map[string]bool, before time.Time) (freed int64, err error) {
	if !s.Keeps() {
		return 0, nil
	}
	err = s.locked(ctx, func() error {
		return filepath.WalkDir(s.Kept, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == lockName || d.Name() == sweptName || needed[d.Name()] {
				return err
			}
			st, err := d.Info()
			if err != nil || !keptAt(st).Before(before) {
				return err
			}
			if err := os.Remove(path); err != nil {
				return err
			}
			freed += st.Size()
			_ = os.Remove(filepath.Dir(path))
			return ctx.Err()
		})
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Kept, sweptName), nil, 0o600)
	}
	if err != nil {
		return freed, fmt.Errorf("let go of LFS content: %w", err)
	}
	return freed, nil
}
