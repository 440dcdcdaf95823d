package filtered

import (
	"context"
	"os"
	"path"

	"github.com/turnback/turnback/checkpoint/lfs"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
)

// Maker makes the content that restores of one work tree need.
type Maker struct {
	Repo    *git.Repo
	Dir     string                // as that of Source
	Trusted func(git.Driver) bool // as that of a Planner
}

// For makes the content of what ops write and take away behind filter programs,
// for run. It fails with ContentMissing for what cannot be had, before
// anything has changed. The work tree had the given tree before the ops; begun
// says that some of them may have been carried out. The result is to be called
// when the run is over.
func (m *Maker) For(ctx context.Context, run *restore.Run, before string, ops []restore.Op, begun bool) (func(), error) {
	roots, removeRoots, err := m.attributesAround(ctx, before, ops, begun)
	if err != nil {
		return nil, err
	}
	defer removeRoots()
	var list []Wanted
	for _, op := range ops {
		if op.New.Filtered {
			list = append(list, Wanted{Path: op.Path, ID: op.New.ID, Root: roots.after})
		}
		if op.Old.Filtered && (op.Old.ID != op.New.ID || !op.New.Filtered) {
			list = append(list, Wanted{Path: op.Path, ID: op.Old.ID, Root: roots.before, Disk: !begun})
		}
	}
	if len(list) == 0 {
		return func() {}, nil
	}
	config, err := m.Repo.Config(ctx, git.FilterPattern+"|"+lfs.SettingPattern)
	if err != nil {
		return nil, err
	}
	source := Source{
		Repo: m.Repo, Filters: config.Filters(m.Trusted), LFS: lfs.Find(m.Repo, config.Map()["lfs.storage"]), Dir: m.Dir,
	}
	stage, err := source.Make(ctx, list)
	if err != nil {
		return nil, err
	}
	run.Filtered = stage
	return stage.Remove, nil
}

// attributeRoots are folders with the attribute files that the work tree has
// before and after something; empty: the work tree itself.
type attributeRoots struct{ before, after string }

// attributesAround lays out the attribute files of the time before and after ops,
// where ops change any.
func (m *Maker) attributesAround(ctx context.Context, tree string, ops []restore.Op, begun bool) (r attributeRoots, remove func(), err error) {
	remove = func() {
		for _, root := range []string{r.before, r.after} {
			if root != "" {
				_ = os.RemoveAll(root)
			}
		}
	}
	var edits []git.TreeEdit
	needed := false
	for _, op := range ops {
		needed = needed || op.New.Filtered || begun && op.Old.Filtered
		if path.Base(op.Path) == ".gitattributes" {
			edits = append(edits, git.TreeEdit{Path: op.Path, Mode: op.New.Mode, ID: op.New.ID})
		}
	}
	if len(edits) == 0 || !needed {
		return r, remove, nil
	}
	if begun {
		if r.before, err = m.Repo.LayOut(ctx, m.Dir, tree, ".gitattributes"); err != nil {
			return r, remove, err
		}
	}
	after, err := m.Repo.EditTree(ctx, tree, edits)
	if err == nil {
		r.after, err = m.Repo.LayOut(ctx, m.Dir, after, ".gitattributes")
	}
	if err != nil {
		remove()
	}
	return r, remove, err
}
