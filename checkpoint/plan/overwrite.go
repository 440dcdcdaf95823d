package plan

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/snapshot"
)

// WithTaken is to with what is kept beside the safety checkpoint of the restore that
// is to be taken back: files that git ignored and that it wrote over, what it made,
// and the folders without files in which it did.
func (s *Planner) WithTaken(ctx context.Context, to Target, kept beside.Content) (Target, error) {
	to.Overwritten, to.Made, to.Taken = kept.Overwritten, kept.Made, kept.Taken
	var odd []snapshot.Mode
	if to.Disk.Folders != nil {
		filled := filledFolders(kept)
		to.Disk.Folders = leaves(append(slices.Clone(to.Disk.Folders), filled...))
		if kept.Modes != nil {
			for _, dir := range filled {
				odd = append(odd, snapshot.Mode{Path: dir, Perm: kept.Modes.OfFolder(dir)})
			}
		}
	}
	if kept.Overwritten != "" && kept.Modes != nil {
		entries, err := s.Repo.TreeEntries(ctx, kept.Overwritten)
		if err != nil {
			return to, AsDamaged(to, err)
		}
		for _, e := range entries {
			if isFile(e.Mode) {
				odd = append(odd, snapshot.Mode{Path: e.Path, Perm: kept.Modes.OfFile(e.Path, e.Mode)})
			}
		}
	}
	if to.Disk.Modes != nil && len(odd) > 0 {
		modes := *to.Disk.Modes
		modes.Odd = append(slices.Clone(modes.Odd), odd...)
		modes.Sort()
		to.Disk.Modes = &modes
	}
	return to, nil
}

// filledFolders are the folders without files that stood where the restore made
// something, or above or below that.
func filledFolders(kept beside.Content) []string {
	made, above := map[string]bool{}, map[string]bool{}
	for _, m := range kept.Made {
		made[m.Path], above[m.Path] = true, true
		for i := range m.Path {
			if m.Path[i] == '/' {
				above[m.Path[:i]] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(kept.Folders), func(dir string) bool { return !above[dir] && !restore.BelowAny(dir, made) })
}

// addOverwritten has a target bring back the files that git ignored and that the
// restore wrote over whose safety checkpoint it is. The second result has their ids.
func (s *Planner) addOverwritten(ctx context.Context, to Target, changes []git.Change) ([]git.Change, map[string]string, error) {
	if to.Overwritten == "" || to.Own != nil {
		return changes, nil, nil
	}
	entries, err := s.Repo.TreeEntries(ctx, to.Overwritten)
	if err != nil {
		return nil, nil, AsDamaged(to, err)
	}
	ids := make(map[string]string, len(entries))
	at := make(map[string]int, len(changes))
	for i, c := range changes {
		at[c.Path] = i
	}
	for _, e := range entries {
		i, ok := at[e.Path]
		if !ok {
			i, changes = len(changes), append(changes, git.Change{Path: e.Path})
		}
		if changes[i].NewMode == 0 {
			changes[i].NewMode, changes[i].NewID = e.Mode, e.ID
			ids[e.Path] = e.ID
		}
	}
	return changes, ids, nil
}

// setRaw has the files with these ids be written as they were on disk.
func setRaw(ops []restore.Op, ids map[string]string) {
	for i := range ops {
		if f := &ops[i].New; isFile(f.Mode) && ids[ops[i].Path] == f.ID {
			f.Raw, f.CRLF, f.Filtered = f.ID, false, false
		}
	}
}

// overwrite makes ops of what git ignores and stands in the way, in found. It
// returns what cannot be kept, and so must not be written over. Ops whose old file
// has no id yet are those of which Keep has to store the content.
func (s *Planner) overwrite(p *Plan, found []string) (blocked []string) {
	at := map[string]int{}
	for i, op := range p.Ops {
		at[op.Path] = i
	}
	for _, path := range found {
		f, ok := s.ignoredFile(path)
		if !ok {
			blocked = append(blocked, path)
			continue
		}
		i, known := at[path]
		if !known {
			i, p.Ops = len(p.Ops), append(p.Ops, restore.Op{Path: path})
		}
		p.Ops[i].Old = f
		p.Overwritten = append(p.Overwritten, path)
	}
	return blocked
}

// ignoredFile is what stands at path, without its id; the second result is false
// where that cannot be kept.
func (s *Planner) ignoredFile(path string) (restore.File, bool) {
	full := filepath.Join(s.Repo.Worktree, path)
	st, err := os.Lstat(full)
	if err != nil || git.CheckPath(path) != nil {
		return restore.File{}, false
	}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		return restore.File{Mode: git.ModeLink}, true
	case !st.Mode().IsRegular():
		return restore.File{}, false
	}
	file, err := os.Open(full)
	if err != nil {
		return restore.File{}, false
	}
	_ = file.Close()
	f := restore.File{Mode: git.ModeFile, Perm: kindFile | uint32(st.Mode().Perm())}
	if st.Mode().Perm()&0o100 != 0 {
		f.Mode = git.ModeExec
	}
	return f, true
}

// Keep stores what p writes over and git ignores, fills in the ids of its ops, and
// returns a mirrored tree of it (empty: there is nothing). The permission
// bits of it are added to disk.
func (s *Planner) Keep(ctx context.Context, p *Plan, disk *beside.Disk) (string, error) {
	if len(p.Overwritten) == 0 {
		return "", nil
	}
	ids, err := s.storeIgnored(ctx, p)
	if err != nil {
		return "", err
	}
	over := p.overwrites()
	var edits []git.TreeEdit
	var odd []snapshot.Mode
	for i := range p.Ops {
		op := &p.Ops[i]
		if !over[op.Path] {
			continue
		}
		op.Old.ID = ids[op.Path]
		if isFile(op.Old.Mode) {
			op.Old.Raw = op.Old.ID
		}
		edits = append(edits, git.TreeEdit{Path: op.Path, Mode: op.Old.Mode, ID: op.Old.ID})
		if disk.Modes != nil && isFile(op.Old.Mode) {
			odd = append(odd, snapshot.Mode{Path: op.Path, Perm: op.Old.Perm &^ kindFile})
		}
	}
	if disk.Modes != nil {
		disk.Modes.Odd = append(disk.Modes.Odd, odd...)
	}
	tree, err := s.Repo.EditTree(ctx, "", edits)
	if err != nil {
		return "", fmt.Errorf("keep what is written over: %w", err)
	}
	return tree, nil
}

func (p *Plan) overwrites() map[string]bool {
	set := make(map[string]bool, len(p.Overwritten))
	for _, path := range p.Overwritten {
		set[path] = true
	}
	return set
}

// storeIgnored stores the content of what is written over, byte for byte.
func (s *Planner) storeIgnored(ctx context.Context, p *Plan) (map[string]string, error) {
	ids := map[string]string{}
	var files []string
	var bytes int64
	over := p.overwrites()
	for _, op := range p.Ops {
		if !over[op.Path] {
			continue
		}
		full := filepath.Join(s.Repo.Worktree, op.Path)
		if op.Old.Mode != git.ModeLink {
			if st, err := os.Lstat(full); err == nil {
				bytes += st.Size()
			}
			files = append(files, op.Path)
			continue
		}
		target, err := os.Readlink(full)
		if err != nil {
			return nil, fmt.Errorf("keep what is written over: %w", err)
		}
		if ids[op.Path], err = s.Repo.WriteBlob(ctx, []byte(target)); err != nil {
			return nil, err
		}
	}
	if err := snapshot.CheckRoom(s.Repo.CommonDir, bytes); err != nil {
		return nil, err
	}
	stored, err := s.Repo.WriteRawFiles(ctx, files)
	if err != nil {
		return nil, fmt.Errorf("keep what is written over: %w", err)
	}
	for i, path := range files {
		ids[path] = stored[i]
	}
	return ids, nil
}
