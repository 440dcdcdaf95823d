//go:build unix

package restore

import "golang.org/x/sys/unix"

// Folders carries changes of folders out: those that go are removed where nothing
// is in them, those that are to be there are made and given their bits, the
// innermost first. It can be done again. The result names those that could not be
// made: something else stands there.
func (r *Run) Folders(list []Folder) (missing []string) {
	root, err := openDir(unix.AT_FDCWD, r.Root)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(root) }()
	a := &applying{Run: r, root: root}
	removed, made := inOrder(list)
	for _, f := range removed {
		a.inFolder(f.Path, func(dir int, name string) { _ = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
	}
	for _, f := range made {
		a.inFolder(f.Path, func(dir int, name string) { _ = unix.Mkdirat(dir, name, 0o777) })
	}
	for i := len(made) - 1; i >= 0; i-- {
		if !a.setFolder(made[i]) {
			missing = append(missing, made[i].Path)
		}
	}
	return missing
}

// inFolder calls f with the folder that path is in, if that is there.
func (a *applying) inFolder(path string, f func(dir int, name string)) {
	dir, name, err := a.parent(path, false)
	if err != nil {
		return
	}
	defer a.closeDir(dir)
	f(dir, name)
}

// setFolder gives a folder its bits; it tells whether it is there.
func (a *applying) setFolder(f Folder) (there bool) {
	a.inFolder(f.Path, func(dir int, name string) {
		fd, err := openDir(dir, name)
		if err != nil {
			return
		}
		there = true
		if f.Perm != 0 {
			_ = unix.Fchmod(fd, f.Perm&permBits)
		}
		_ = unix.Close(fd)
	})
	return there
}

// permBits are the bits of a mode that are kept.
const permBits = 0o777
