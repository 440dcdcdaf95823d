package plan

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/snapshot"
)

// The kinds of what lstat gives, for permission bits that are known.
const (
	kindFile   = 0o100000
	kindFolder = 0o040000
)

func isFile(mode uint32) bool { return mode == git.ModeFile || mode == git.ModeExec }

// addModes adds the files that are the same in both trees and have other
// permission bits.
func (s *Planner) addModes(ctx context.Context, l From, to Target, changes []git.Change) ([]git.Change, error) {
	now, then := l.Disk.Modes, to.Disk.Modes
	if now == nil || then == nil {
		return changes, nil
	}
	maybe := map[string]bool{}
	for _, m := range slices.Concat(now.Odd, then.Odd) {
		maybe[m.Path] = true
	}
	all := now.File != then.File || now.Exec != then.Exec
	if len(maybe) == 0 && !all {
		return changes, nil
	}
	entries, err := s.Repo.TreeEntries(ctx, to.Tree)
	if err != nil {
		return nil, AsDamaged(to, err)
	}
	known := make(map[string]bool, len(changes))
	for _, c := range changes {
		known[c.Path] = true
	}
	left := snapshot.ByPath(l.LeftOut)
	for _, e := range entries {
		if known[e.Path] || to.Own != nil && !to.Own[e.Path] || !isFile(e.Mode) || !all && !maybe[e.Path] || left.At(e.Path) != "" {
			continue
		}
		if now.OfFile(e.Path, e.Mode) == then.OfFile(e.Path, e.Mode) {
			continue
		}
		if st, _, err := restore.Stands(s.Repo.Worktree, e.Path); err != nil || st == nil {
			continue // git was told to do without it
		}
		changes = append(changes, git.Change{Path: e.Path, OldMode: e.Mode, OldID: e.ID, NewMode: e.Mode, NewID: e.ID})
	}
	return changes, nil
}

// setModes says of both sides of ops which permission bits the files have.
func setModes(l From, to Target, ops []restore.Op) {
	set := func(m *snapshot.Modes, path string, f *restore.File) {
		if m != nil && isFile(f.Mode) {
			f.Perm = kindFile | m.OfFile(path, f.Mode)
		}
	}
	for i := range ops {
		set(l.Disk.Modes, ops[i].Path, &ops[i].Old)
		set(to.Disk.Modes, ops[i].Path, &ops[i].New)
	}
}

// folderPerm gives the bits of folders by m, which may be nil.
func folderPerm(m *snapshot.Modes) func(folder string) uint32 {
	return func(folder string) uint32 {
		if m == nil {
			return 0
		}
		return kindFolder | m.OfFolder(folder)
	}
}

// standingPerm gives the bits of folders that are there, where m says that they are
// meant: it does not know those that git ignores.
func standingPerm(root string, m *snapshot.Modes) func(folder string) uint32 {
	known := folderPerm(m)
	return func(folder string) uint32 {
		if st, err := os.Lstat(filepath.Join(root, folder)); m != nil && err == nil && st.IsDir() {
			return kindFolder | uint32(st.Mode().Perm())
		}
		return known(folder)
	}
}

// FolderOps are all changes of folders that p makes: those planned, and those that go
// with the last file in them, which a way back makes again with the bits that they have.
func (p *Plan) FolderOps(root string) []restore.Folder {
	return append(slices.Clone(p.Folders), restore.EmptiedFolders(root, p.Ops, p.Folders, p.permNow)...)
}

// folders plans the changes of folders: those that the ops have to make, and those
// that no file tells of. Of those that are there, none gets other bits.
func (p *Plan) folders(root string, l From, to Target, paths []string, ignored map[string]bool, made []string) {
	now, then := standingPerm(root, l.Disk.Modes), folderPerm(to.Disk.Modes)
	p.permNow = now
	p.Folders = append(restore.MissingFolders(root, p.Ops, then), restore.FilledFolders(root, p.Ops, now)...)
	if l.Disk.Folders == nil || to.Disk.Folders == nil || to.Own != nil {
		return
	}
	within := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(dir string) bool {
			return !Wanted(dir, paths) || p.leftThen.At(dir) != "" || p.leftNow.At(dir) != ""
		})
	}
	have := slices.Compact(slices.Sorted(slices.Values(append(within(l.Disk.Folders), within(made)...))))
	known := map[restore.Folder]bool{}
	for _, f := range p.Folders {
		known[f] = true
	}
	changes := restore.FolderChanges(root, restore.FolderPlan{
		Have: have, Want: within(to.Disk.Folders), Stay: to.Disk.Folders, Ops: p.Ops,
		PermNow: now, PermThen: then, Keep: func(dir string) bool { return ignored[inside(dir)] && !p.made[dir] },
	})
	p.Folders = append(p.Folders, slices.DeleteFunc(changes, func(f restore.Folder) bool { return known[f] })...)
}

// inside is a path below a folder, to ask whether what is in there is ignored.
func inside(dir string) string { return dir + "/.turnback" }

// rulesDiffer tells whether the target's ignore rules are others than those by
// which the work tree was looked at.
func rulesDiffer(l From, to Target, changes []git.Change) bool {
	if then, now := to.Disk.Rules, l.Disk.Rules; then != nil && now != nil && !then.Same(now) {
		return true
	}
	return slices.ContainsFunc(changes, func(c git.Change) bool { return path.Base(c.Path) == ".gitignore" })
}
