//go:build unix

package restore

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/blob"
)

const (
	modeLink = git.ModeLink
	modeExec = git.ModeExec
)

// expect returns ErrChanged unless the file called name in dir is what f says;
// path is where it belongs, for git's conversions.
func (a *applying) expect(dir int, name, path string, f File) error {
	same, err := a.same(a.ctx, dir, name, path, f)
	if err == nil && !same {
		err = ErrChanged
	}
	return err
}

func (r *Run) same(ctx context.Context, dir int, name, path string, f File) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return f.Absent(), nil
	}
	if err != nil {
		return false, err
	}
	if f.Absent() { // a folder is no file
		return uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR, nil
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFLNK:
		return r.sameLink(dir, name, f, st.Size)
	case unix.S_IFREG:
		if f.Mode == modeLink {
			if !r.PlainLinks {
				return false, nil
			}
			return r.sameContent(ctx, dir, name, path, File{ID: f.ID}, st.Size)
		}
		if !r.samePerm(f, uint32(st.Mode)) {
			return false, nil
		}
		return r.sameContent(ctx, dir, name, path, f, st.Size)
	}
	return false, nil
}

func (r *Run) sameLink(dir int, name string, f File, size int64) (bool, error) {
	if f.Mode != modeLink {
		return false, nil
	}
	buf := make([]byte, max(size, 4096)+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return false, err
	}
	id, err := blob.ID(r.IDLen, strings.NewReader(string(buf[:n])), int64(n))
	return id == f.ID, err
}

func (r *Run) sameContent(ctx context.Context, dir int, name, path string, f File, size int64) (bool, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() { _ = file.Close() }()
	id, err := blob.ID(r.IDLen, file, size)
	switch {
	case err != nil || id == "": // it grows or shrinks right now: not what was expected
		return false, err
	case f.Raw != "":
		return id == f.Raw, nil
	case !f.CRLF && !f.Filtered:
		return id == f.ID, nil
	case f.Filtered && r.Filtered != nil && r.Filtered.Has(path, f.ID):
		made := blob.NewHash(r.IDLen, size)
		if err := r.Filtered.Copy(path, f.ID, made); err != nil || made.ID() == id {
			return err == nil, err
		}
	}
	if f.Filtered && id == f.ID { // the stored form is on disk, and not what it stands for
		return false, nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if f.CRLF {
		id, err = blob.LFID(r.IDLen, file)
	} else {
		id, err = r.Hasher.HashLikePath(ctx, path, file)
	}
	return id == f.ID, err
}

// Holds tells whether op's path holds what f says. No link is followed.
func (r *Run) Holds(ctx context.Context, path string, f File) (bool, error) {
	root, err := openDir(unix.AT_FDCWD, r.Root)
	if err != nil {
		return false, err
	}
	a := &applying{Run: r, ctx: ctx, root: root}
	defer func() { _ = unix.Close(root) }()
	dir, name, err := a.parent(path, false)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, ErrBlocked) {
		return f.Absent(), nil
	}
	if err != nil {
		return false, err
	}
	defer a.closeDir(dir)
	return r.same(ctx, dir, name, path, f)
}

// Stands tells what stands at path, without following links.
func Stands(root, path string) (st os.FileInfo, above string, err error) {
	for i := range path {
		if path[i] != '/' {
			continue
		}
		info, err := os.Lstat(root + "/" + path[:i])
		if err != nil {
			if os.IsNotExist(err) {
				return nil, "", nil
			}
			return nil, "", err
		}
		if !info.IsDir() {
			return nil, path[:i], nil
		}
	}
	info, err := os.Lstat(root + "/" + path)
	if os.IsNotExist(err) {
		return nil, "", nil
	}
	return info, "", err
}

// CleanUp removes the temporary files that a killed run over ops left. One that
// holds neither the old nor the new file of its op goes back to its place where
// that holds the new file or nothing; otherwise it stays and is returned.
func (r *Run) CleanUp(ctx context.Context, ops []Op) (strange []string, err error) {
	root, err := openDir(unix.AT_FDCWD, r.Root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(root) }()
	a := &applying{Run: r, ctx: ctx, root: root, ops: ops}
	for i := range ops {
		for _, temp := range []string{a.TempName(i), a.TempName(i) + oldSuffix} {
			left, err := a.cleanOne(i, temp)
			if err != nil {
				return strange, &PathError{ops[i].Path, err}
			}
			strange = append(strange, left...)
		}
	}
	return strange, nil
}

func (a *applying) cleanOne(i int, temp string) (strange []string, err error) {
	op := a.ops[i]
	if staged, err := a.unstaged(temp, op); staged || err != nil {
		return nil, err
	}
	dir, name, err := a.parent(op.Path, false)
	if err != nil {
		return nil, nil
	}
	defer a.closeDir(dir)
	var st unix.Stat_t
	if unix.Fstatat(dir, temp, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil, nil
	}
	isOld, err := a.same(a.ctx, dir, temp, op.Path, op.Old)
	if err != nil {
		return nil, err
	}
	atPlace, err := a.same(a.ctx, dir, name, op.Path, op.New)
	if err != nil {
		return nil, err
	}
	vacant := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil
	begun := false
	if !isOld && !atPlace {
		if begun, err = a.begins(dir, temp, op.Path, op.New); err != nil {
			return nil, err
		}
	}
	switch {
	case vacant && isOld:
		return nil, renameNew(dir, temp, dir, name)
	case isOld, begun:
		return nil, unix.Unlinkat(dir, temp, 0)
	case vacant:
		return nil, renameNew(dir, temp, dir, name)
	case atPlace:
		if err := a.swap(dir, temp, name); err != nil {
			return nil, err
		}
		return nil, unix.Unlinkat(dir, temp, 0)
	}
	return []string{op.Path}, nil
}

// unstaged removes the new file of op that waits at the root for its place, if it
// is there. Another file of that name is somebody else's.
func (a *applying) unstaged(temp string, op Op) (bool, error) {
	if !strings.Contains(op.Path, "/") {
		return false, nil
	}
	ours, err := a.begins(a.root, temp, op.Path, op.New)
	return ours && unix.Unlinkat(a.root, temp, 0) == nil, err
}

// begins tells whether the file called name is the beginning of f's content, or
// all of it: what a killed write left.
func (a *applying) begins(dir int, name, path string, f File) (bool, error) {
	if f.Absent() {
		return false, nil
	}
	if f.Mode == modeLink {
		return a.same(a.ctx, dir, name, name, f)
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, nil
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() { _ = file.Close() }()
	w := &prefixOf{file: file}
	if err := a.copyTo(w, path, f); err != nil {
		return false, err
	}
	rest, err := io.Copy(io.Discard, file)
	return !w.differs && (w.ended || rest == 0), err
}

// prefixOf compares what is written to it with a file that may be shorter.
type prefixOf struct {
	file    io.Reader
	ended   bool
	differs bool
}

func (w *prefixOf) Write(p []byte) (int, error) {
	if w.ended || w.differs {
		return len(p), nil
	}
	have := make([]byte, len(p))
	n, err := io.ReadFull(w.file, have)
	w.ended = err != nil
	w.differs = string(have[:n]) != string(p[:n])
	return len(p), nil
}
