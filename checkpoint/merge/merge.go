// Package merge takes what one tree changed against another out of a third: a
// three-way merge of trees. Paths are merged one by one and texts line by line.
// Renames are not looked for, and no merge program that config or attributes name
// runs: what such a program would decide is a conflict.
package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/turnback/turnback/internal/git"
)

// Trees says what to merge: Ours becomes what it would be had the way from Theirs
// to Base never been gone.
type Trees struct {
	Base   string // the tree that holds the changes to be taken back
	Ours   string // the tree to be changed
	Theirs string // the tree before the changes

	Wanted func(path string) bool // only at these paths; nil: everywhere
}

// Result is the outcome. With conflicts it says nothing else.
type Result struct {
	Tree      string   // the merged tree, stored
	Taken     []string // paths that are as in Theirs now
	Merged    []string // paths whose text or mode is of both sides
	Skipped   []string // submodules: they stay
	Conflicts []string // paths that both sides changed, and no merge fits
}

// Merger merges trees of one repository.
type Merger struct {
	Repo    *git.Repo
	Scratch string // an existing folder for temporary files, which are removed again
}

// entry is what a tree has at a path; Mode 0: nothing.
type entry struct {
	mode uint32
	id   string
}

// sides is a path in the three trees.
type sides struct{ base, ours, theirs entry }

// Merge merges t. Nothing is written but objects.
func (m Merger) Merge(ctx context.Context, t Trees) (Result, error) {
	var res Result
	back, err := m.Repo.ChangedEntries(ctx, t.Base, t.Theirs)
	if err != nil {
		return res, err
	}
	since, err := m.Repo.ChangedEntries(ctx, t.Base, t.Ours)
	if err != nil {
		return res, err
	}
	now := make(map[string]entry, len(since))
	for _, c := range since {
		now[c.Path] = entry{c.NewMode, idOf(c.NewMode, c.NewID)}
	}
	var edits []git.TreeEdit
	both := map[string]sides{} // changed on both sides, and not alike
	for _, c := range back {
		if t.Wanted != nil && !t.Wanted(c.Path) {
			continue
		}
		s := sides{base: entry{c.OldMode, idOf(c.OldMode, c.OldID)}, theirs: entry{c.NewMode, idOf(c.NewMode, c.NewID)}}
		ours, changed := now[c.Path]
		if s.ours = s.base; changed {
			s.ours = ours
		}
		switch {
		case s.base.mode == git.ModeGitlink || s.ours.mode == git.ModeGitlink || s.theirs.mode == git.ModeGitlink:
			res.Skipped = append(res.Skipped, c.Path)
		case s.ours == s.theirs:
		case !changed:
			res.Taken = append(res.Taken, c.Path)
			edits = append(edits, git.TreeEdit{Path: c.Path, Mode: s.theirs.mode, ID: s.theirs.id})
		default:
			both[c.Path] = s
		}
	}
	merged, err := m.mergeFiles(ctx, both, &res)
	if err != nil {
		return res, err
	}
	return m.finish(ctx, t.Ours, append(edits, merged...), res)
}

// finish checks that the edits fit into ours, and stores the tree.
func (m Merger) finish(ctx context.Context, ours string, edits []git.TreeEdit, res Result) (Result, error) {
	inTheWay, err := m.misfits(ctx, ours, edits)
	if err != nil {
		return res, err
	}
	if res.Conflicts = append(res.Conflicts, inTheWay...); len(res.Conflicts) > 0 {
		slices.Sort(res.Conflicts)
		return Result{Conflicts: slices.Compact(res.Conflicts)}, nil
	}
	res.Tree, err = m.Repo.EditTree(ctx, ours, edits)
	return res, err
}

func idOf(mode uint32, id string) string {
	if mode == 0 {
		return ""
	}
	return id
}

// misfits names the paths of edits at which a file would come where the merged
// tree has a folder, or below a file of it.
func (m Merger) misfits(ctx context.Context, ours string, edits []git.TreeEdit) ([]string, error) {
	if !slices.ContainsFunc(edits, func(e git.TreeEdit) bool { return e.Mode != 0 }) {
		return nil, nil
	}
	list, err := m.Repo.TreeEntries(ctx, ours)
	if err != nil {
		return nil, err
	}
	files := make(map[string]bool, len(list))
	for _, e := range list {
		files[e.Path] = true
	}
	for _, e := range edits {
		if files[e.Path] = true; e.Mode == 0 {
			delete(files, e.Path)
		}
	}
	folders := make(map[string]bool, len(files)/4)
	for path := range files {
		for i := range path {
			if path[i] == '/' {
				folders[path[:i]] = true
			}
		}
	}
	var out []string
	for _, e := range edits {
		if e.Mode == 0 {
			continue
		}
		if folders[e.Path] || slices.ContainsFunc(foldersOf(e.Path), func(dir string) bool { return files[dir] }) {
			out = append(out, e.Path)
		}
	}
	return out, nil
}

func foldersOf(path string) []string {
	var out []string
	for i := range path {
		if path[i] == '/' {
			out = append(out, path[:i])
		}
	}
	return out
}

// mergeFiles merges what both sides changed, and notes in res what came of it.
func (m Merger) mergeFiles(ctx context.Context, both map[string]sides, res *Result) (edits []git.TreeEdit, err error) {
	var texts []string
	for path, s := range both {
		if isFile(s.base) && isFile(s.ours) && isFile(s.theirs) {
			texts = append(texts, path)
			continue
		}
		res.Conflicts = append(res.Conflicts, path)
	}
	slices.Sort(texts)
	// Both are asked of the disk's attributes: what stands there is to be merged.
	attributes, err := m.Repo.Attributes(ctx, []string{"merge", "filter"}, texts)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	objects, err := m.Repo.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	dir, err := os.MkdirTemp(m.Scratch, "merge-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to merge in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, path := range texts {
		s := both[path]
		mode, fits := mergeModes(s)
		id, ok := mergeTrivially(s)
		if fits && !ok && isText(attributes[path]) {
			if id, ok, err = m.mergeText(ctx, objects, dir, s); err != nil {
				return nil, fmt.Errorf("merge %q: %w", path, err)
			}
		}
		if !fits || !ok {
			res.Conflicts = append(res.Conflicts, path)
			continue
		}
		res.Merged = append(res.Merged, path)
		edits = append(edits, git.TreeEdit{Path: path, Mode: mode, ID: id})
	}
	return edits, nil
}

func isFile(e entry) bool { return e.mode == git.ModeFile || e.mode == git.ModeExec }

// isText tells whether git itself would merge the file line by line: no filter
// program has made its content, and no attribute gives it to another merge.
func isText(attributes map[string]string) bool {
	none := func(value string) bool { return value == "unspecified" || value == "unset" }
	return none(attributes["filter"]) && slices.Contains([]string{"unspecified", "set", "text"}, attributes["merge"])
}

func mergeModes(s sides) (mode uint32, ok bool) {
	switch {
	case s.ours.mode == s.theirs.mode, s.theirs.mode == s.base.mode:
		return s.ours.mode, true
	case s.ours.mode == s.base.mode:
		return s.theirs.mode, true
	}
	return 0, false
}

func mergeTrivially(s sides) (id string, ok bool) {
	switch {
	case s.ours.id == s.theirs.id, s.theirs.id == s.base.id:
		return s.ours.id, true
	case s.ours.id == s.base.id:
		return s.theirs.id, true
	}
	return "", false
}

// mergeText merges the contents of a path and stores the outcome.
func (m Merger) mergeText(ctx context.Context, objects *git.Objects, dir string, s sides) (id string, ok bool, err error) {
	var content [3]bytes.Buffer
	for i, id := range []string{s.ours.id, s.base.id, s.theirs.id} {
		if _, _, err := objects.Copy(id, &content[i]); err != nil {
			return "", false, err
		}
	}
	merged, ok, err := m.Repo.MergeTexts(ctx, dir, content[0].Bytes(), content[1].Bytes(), content[2].Bytes())
	if err != nil || !ok {
		return "", false, err
	}
	id, err = m.Repo.WriteBlob(ctx, merged)
	return id, true, err
}
