package plan

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/internal/snapshot"
)

// KeepFolders adds the folders to disk that p takes away or fills and that a look at
// the work tree does not tell of, because git ignores them: those in the place of a
// file, those that a restore made, and empty ones that p writes into.
func (s *Planner) KeepFolders(p *Plan, disk *beside.Disk) {
	if disk.Folders == nil {
		return
	}
	for _, dir := range p.Folders {
		if !dir.Made {
			s.keepFolder(disk, dir.Path)
		}
	}
	for _, op := range p.Ops {
		if op.New.Absent() {
			continue
		}
		_ = filepath.WalkDir(filepath.Join(s.Repo.Worktree, op.Path), func(full string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				s.keepFolder(disk, strings.TrimPrefix(full, s.Repo.Worktree+"/"))
			}
			return nil
		})
	}
	disk.Folders = leaves(disk.Folders)
	if disk.Modes != nil {
		disk.Modes.Sort()
	}
}

// keepFolder adds a folder, and its permission bits where they are not the usual.
func (s *Planner) keepFolder(disk *beside.Disk, dir string) {
	st, err := os.Lstat(filepath.Join(s.Repo.Worktree, dir))
	if err != nil || !st.IsDir() {
		return
	}
	disk.Folders = append(disk.Folders, dir)
	if perm := uint32(st.Mode().Perm()); disk.Modes != nil && disk.Modes.OfFolder(dir) != perm {
		disk.Modes.Odd = append(disk.Modes.Odd, snapshot.Mode{Path: dir, Perm: perm})
	}
}

// leaves sorts list and leaves out the folders that others of it are in.
func leaves(list []string) []string {
	above := map[string]bool{}
	for _, dir := range list {
		for i := range dir {
			if dir[i] == '/' {
				above[dir[:i]] = true
			}
		}
	}
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	return slices.DeleteFunc(list, func(dir string) bool { return above[dir] })
}
