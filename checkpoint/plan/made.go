package plan

import (
	"context"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
)

// Made lists what p makes where nothing is, for its safety checkpoint. What a
// filter program has a say in is not among it: nobody could tell its bytes later.
func (p *Plan) Made() []beside.Made {
	var list []beside.Made
	for _, op := range p.Ops {
		if op.Old.Absent() && !op.New.Absent() && !op.New.Filtered {
			list = append(list, madeOf(op.Path, op.New))
		}
	}
	for _, dir := range p.Folders {
		if dir.Made {
			list = append(list, beside.Made{Path: dir.Path, Mode: git.ModeTree})
		}
	}
	return list
}

// Taken lists what p takes away and its safety checkpoint's tree has.
func (p *Plan) Taken() []beside.Made {
	ignored := make(map[string]bool, len(p.Overwritten))
	for _, path := range p.Overwritten {
		ignored[path] = true
	}
	var list []beside.Made
	for _, op := range p.Ops {
		if op.New.Absent() && !op.Old.Absent() && !ignored[op.Path] {
			list = append(list, madeOf(op.Path, op.Old))
		}
	}
	return list
}

// Edited lists the files that are not on disk as expected has them. What is there
// all the same, though git ignores it by now, and what is not, though git was told to
// do without it, is not among them: the work tree's own tree does not tell.
func (s *Planner) Edited(ctx context.Context, l From, expected Target) ([]string, error) {
	changes, err := s.Changed(ctx, l, expected)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	p := &Plan{Run: l.Run}
	if p.Run == nil {
		if p.Run, err = LookingRun(ctx, s.Repo, s.Trusted); err != nil {
			return nil, err
		}
	}
	for _, c := range changes {
		p.sort(c)
	}
	if err := s.setForms(ctx, l, expected, p.Ops); err != nil {
		return nil, err
	}
	if err := s.dropDone(ctx, l, p); err != nil {
		return nil, err
	}
	edited := p.Skipped
	for _, op := range p.Ops {
		edited = append(edited, op.Path)
	}
	return edited, nil
}

func madeOf(path string, f restore.File) beside.Made {
	return beside.Made{Path: path, Mode: f.Mode, ID: f.ID, Raw: f.Raw, CRLF: f.CRLF}
}

// addTaken adds to changes the files that the restore took away whose safety
// checkpoint the target is, and that both trees have all the same: git was told to
// do without them, so the work tree's own tree has what the index says of them.
func (s *Planner) addTaken(ctx context.Context, to Target, changes []git.Change) ([]git.Change, error) {
	if len(to.Taken) == 0 || to.Own != nil {
		return changes, nil
	}
	known := make(map[string]bool, len(changes))
	for _, c := range changes {
		known[c.Path] = true
	}
	var gone []string
	entries := map[string]beside.Made{}
	for _, m := range to.Taken {
		if known[m.Path] {
			continue
		}
		st, above, err := restore.Stands(s.Repo.Worktree, m.Path)
		if err != nil {
			return nil, err
		}
		if st == nil && above == "" {
			gone = append(gone, m.Path)
			entries[m.Path] = m
		}
	}
	if len(gone) == 0 {
		return changes, nil
	}
	held, err := s.Repo.PathsOf(ctx, to.Tree, gone)
	for _, path := range gone {
		if held[path] {
			changes = append(changes, git.Change{Path: path, NewMode: entries[path].Mode, NewID: entries[path].ID})
		}
	}
	return changes, err
}

// removeMade has p take away what the restore made whose safety checkpoint the
// target is, as long as it is as it was made: there was nothing when the checkpoint
// was taken, whatever the trees and the ignore rules say of the path.
func (s *Planner) removeMade(ctx context.Context, p *Plan, to Target, paths []string) error {
	if len(to.Made) == 0 || to.Own != nil {
		return nil
	}
	at := map[string]int{}
	for i, op := range p.Ops {
		at[op.Path] = i
	}
	p.made = map[string]bool{}
	var hidden []string
	for _, m := range to.Made {
		if !Wanted(m.Path, paths) || p.leftThen.At(m.Path) != "" {
			continue
		}
		if m.Mode == git.ModeTree {
			// A file that was in its way is none of what the restore made.
			st, _, err := restore.Stands(s.Repo.Worktree, m.Path)
			if err != nil {
				return err
			}
			p.made[m.Path] = st != nil && st.IsDir()
			continue
		}
		holds, err := p.Run.Holds(ctx, m.Path, restore.File{Mode: m.Mode, ID: m.ID, Raw: m.Raw, CRLF: m.CRLF})
		if err != nil {
			return err
		}
		if !holds {
			continue
		}
		p.made[m.Path] = true
		if i, ok := at[m.Path]; ok {
			p.Again = p.Again || !p.Ops[i].New.Absent()
			p.Ops[i].New = restore.File{}
			continue
		}
		hidden = append(hidden, m.Path)
	}
	s.removeHidden(p, hidden)
	return nil
}

// madeFolders are the folders that the restore made whose safety checkpoint the
// target is, and that are there still.
func (s *Planner) madeFolders(p *Plan, to Target) []string {
	var list []string
	for _, m := range to.Made {
		if m.Mode != git.ModeTree || !p.made[m.Path] {
			continue
		}
		if st, _, err := restore.Stands(s.Repo.Worktree, m.Path); err == nil && st != nil && st.IsDir() {
			list = append(list, m.Path)
		}
	}
	return list
}

// removeHidden plans the removal of files that are not among what differs between
// the two trees. They are kept beside the safety checkpoint.
func (s *Planner) removeHidden(p *Plan, hidden []string) {
	for _, path := range hidden {
		if f, ok := s.ignoredFile(path); ok {
			p.Ops = append(p.Ops, restore.Op{Path: path, Old: f})
			p.Overwritten = append(p.Overwritten, path)
		}
	}
}
