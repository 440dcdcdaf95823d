//go:build unix

package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Apply carries out those of ops whose numbers are in which; nil means all. A
// number gives an op's temporary file its name. What is written goes first, then what is removed; a
// file that needs the place of something removed is written beforehand and
// moved there last. It returns the numbers of the ops that were carried out,
// also with an error, which is a *PathError where a path is at fault.
func (r *Run) Apply(ctx context.Context, ops []Op, which []int) (done []int, err error) {
	root, err := openDir(unix.AT_FDCWD, r.Root)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer func() { _ = unix.Close(root) }()
	a := &applying{Run: r, ctx: ctx, root: root, ops: ops, stay: foldersOfNew(ops)}
	if which == nil {
		for i := range ops {
			which = append(which, i)
		}
	}
	a.total = int64(len(which))
	err = a.all(which)
	return a.done, err
}

type applying struct {
	*Run
	ctx   context.Context
	root  int
	ops   []Op
	stay  map[string]bool // folders that something is written into, now or later
	done  []int
	total int64
}

func (a *applying) all(which []int) error {
	writes, removes, late, rules := order(a.ops, which)
	for _, i := range writes {
		if err := a.one(i, a.write); err != nil {
			return err
		}
	}
	for _, i := range late {
		if err := a.stage(i); err != nil {
			a.unstage(late)
			return &PathError{a.ops[i].Path, err}
		}
	}
	for _, i := range removes {
		if err := a.one(i, a.remove); err != nil {
			a.unstage(late)
			return err
		}
	}
	for _, i := range late {
		if err := a.one(i, a.place); err != nil {
			a.unstage(late)
			return err
		}
	}
	for _, i := range rules {
		f := a.write
		if a.ops[i].New.Absent() {
			f = a.remove
		}
		if err := a.one(i, f); err != nil {
			return err
		}
	}
	return nil
}

func (a *applying) one(i int, f func(int) error) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if err := a.step("before %s", a.ops[i].Path); err != nil {
		return err
	}
	if err := f(i); err != nil {
		return &PathError{a.ops[i].Path, err}
	}
	a.done = append(a.done, i)
	if a.Progress != nil {
		a.Progress(int64(len(a.done)), a.total)
	}
	return a.step("after %s", a.ops[i].Path)
}

// write puts op i's new file in place of the old one.
func (a *applying) write(i int) error {
	op := a.ops[i]
	dir, name, err := a.parent(op.Path, true)
	if err != nil {
		return err
	}
	defer a.closeDir(dir)
	if done, err := a.chmod(dir, name, op); done {
		return err
	}
	temp := a.TempName(i)
	if err := a.create(dir, temp, op.Path, op.New, a.newPerm(dir, name, op)); err != nil {
		return err
	}
	if err := a.step("written %s", op.Path); err != nil {
		return err
	}
	if op.Old.Absent() {
		removeEmptyTree(dir, name)
		if err := renameNew(dir, temp, dir, name); err != nil {
			_ = unix.Unlinkat(dir, temp, 0)
			return asChanged(err)
		}
		return nil
	}
	if err := a.swap(dir, temp, name); err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
		return err
	}
	if err := a.step("swapped %s", op.Path); err != nil {
		return err
	}
	if err := a.expect(dir, temp, op.Path, op.Old); err != nil {
		return errors.Join(err, a.giveBack(dir, temp, name, op))
	}
	return unix.Unlinkat(dir, temp, 0)
}

// giveBack puts what was swapped out, and was not expected, back in its place.
// What comes out then is our own file; when it is not, somebody wrote there once
// more, and that stays in the place. What was swapped out is kept beside it.
func (a *applying) giveBack(dir int, temp, name string, op Op) error {
	if err := a.swap(dir, temp, name); err != nil {
		return a.keepAside(dir, temp, name, op)
	}
	ours, err := a.same(a.ctx, dir, temp, op.Path, op.New)
	if err == nil && ours {
		return unix.Unlinkat(dir, temp, 0)
	}
	return errors.Join(err, a.swap(dir, temp, name), a.keepAside(dir, temp, name, op))
}

// keepAside gives a file that belongs to the person, and whose place is taken, a
// name that is seen.
func (a *applying) keepAside(dir int, temp, name string, op Op) error {
	for i := range 100 {
		kept := fmt.Sprintf("%s.kept-%d", name, i+1)
		err := renameNew(dir, temp, dir, kept)
		if err == nil {
			return &KeptError{Path: strings.TrimSuffix(op.Path, name) + kept}
		}
		if !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("what was there is at %q now: %w", temp, err)
		}
	}
	return fmt.Errorf("what was there is at %q now", temp)
}

// swap exchanges two names of a folder; where the file system cannot do that at
// once, by three renames.
func (a *applying) swap(dir int, temp, name string) error {
	err := exchange(dir, temp, name)
	if err == nil || !notSupported(err) {
		return asChanged(err)
	}
	aside := temp + oldSuffix
	if err := renameNew(dir, name, dir, aside); err != nil {
		return asChanged(err)
	}
	if err := renameNew(dir, temp, dir, name); err != nil {
		return errors.Join(err, renameNew(dir, aside, dir, name))
	}
	return renameNew(dir, aside, dir, temp)
}

// remove takes op i's old file away, and the folders that are empty then.
func (a *applying) remove(i int) error {
	op := a.ops[i]
	dir, name, err := a.parent(op.Path, false)
	if err != nil {
		return asChanged(err)
	}
	defer a.closeDir(dir)
	temp := a.TempName(i)
	if err := renameNew(dir, name, dir, temp); err != nil {
		return asChanged(err)
	}
	if err := a.step("aside %s", op.Path); err != nil {
		return err
	}
	if err := a.expect(dir, temp, op.Path, op.Old); err != nil {
		if renameNew(dir, temp, dir, name) != nil {
			return errors.Join(err, a.keepAside(dir, temp, name, op))
		}
		return err
	}
	if err := unix.Unlinkat(dir, temp, 0); err != nil {
		return errors.Join(err, renameNew(dir, temp, dir, name))
	}
	a.removeEmptyFolders(op.Path)
	return nil
}

// removeEmptyFolders takes away the folders above path that are empty and that
// nothing is written into, by a plain rmdir.
func (a *applying) removeEmptyFolders(path string) {
	for {
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return
		}
		path = path[:i]
		if a.stay[path] {
			return
		}
		dir, name, err := a.parent(path, false)
		if err != nil {
			return
		}
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		a.closeDir(dir)
		if err != nil {
			return
		}
	}
}

// stage writes op i's new file at the root, until its place is free.
func (a *applying) stage(i int) error {
	if err := a.step("before staging %s", a.ops[i].Path); err != nil {
		return err
	}
	return a.create(a.root, a.TempName(i), a.ops[i].Path, a.ops[i].New, a.ops[i].New.Perm)
}

func (a *applying) unstage(late []int) {
	for _, i := range late {
		_ = unix.Unlinkat(a.root, a.TempName(i), 0)
	}
}

// place moves what stage wrote to its place. An empty folder there goes.
func (a *applying) place(i int) error {
	dir, name, err := a.parent(a.ops[i].Path, true)
	if err != nil {
		return err
	}
	defer a.closeDir(dir)
	removeEmptyTree(dir, name)
	return asChanged(renameNew(a.root, a.TempName(i), dir, name))
}

// removeEmptyTree takes away a folder that holds nothing but empty folders, by
// plain rmdirs. Whatever else is there stays.
func removeEmptyTree(dir int, name string) {
	fd, err := openDir(dir, name)
	if err != nil {
		return
	}
	file := os.NewFile(uintptr(fd), name)
	names, err := file.Readdirnames(-1)
	if err == nil {
		for _, n := range names {
			removeEmptyTree(fd, n)
		}
	}
	_ = file.Close()
	_ = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

// create makes a new file or link. A perm of 0 means what the umask allows, another
// has the permission bits, with S_IFREG.
func (a *applying) create(dir int, name, path string, f File, perm uint32) error {
	if f.Mode == modeLink && a.PlainLinks {
		f = File{ID: f.ID}
	}
	if f.Mode == modeLink {
		var target strings.Builder
		if _, _, err := a.Objects.Copy(f.ID, &target); err != nil {
			return err
		}
		return unix.Symlinkat(target.String(), dir, name)
	}
	mode := uint32(0o666)
	if f.Mode == modeExec {
		mode = 0o777
	}
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), name)
	err = a.copyTo(file, path, f)
	if err == nil && perm != 0 {
		err = file.Chmod(os.FileMode(perm & permBits))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = unix.Unlinkat(dir, name, 0)
	}
	return err
}

// asChanged gives the errors of a name that is not as expected their meaning.
func asChanged(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTEMPTY):
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}
