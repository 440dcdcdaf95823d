package compare

import (
	"context"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// Side is one of two work trees that are compared: its tree, and what its files had
// on disk where that is another thing (as snapshot.Result.Bytes), if that is known.
type Side struct {
	Tree, Bytes string
	Known       bool
}

// SideOf is the work tree with the digest disk, as a checkpoint has it.
func SideOf(tree, disk string) Side {
	s := Side{Tree: tree}
	s.Bytes, s.Known = record.BytesOf(disk)
	return s
}

// OtherBytes adds to d the files that are the same in both trees and have other
// bytes on disk.
func OtherBytes(ctx context.Context, repo *git.Repo, d *Diff, from, to Side, paths []string) error {
	if !from.Known || !to.Known || from.Bytes == to.Bytes {
		return nil
	}
	empty, err := repo.EmptyTree(ctx)
	if err != nil {
		return err
	}
	for _, side := range []*Side{&from, &to} {
		if side.Bytes == "" {
			side.Bytes = empty
		}
	}
	missing, err := repo.Missing(ctx, []string{from.Bytes, to.Bytes})
	if err != nil || len(missing) > 0 {
		return err // what is not kept any more cannot be compared
	}
	differ, err := repo.ChangedEntries(ctx, from.Bytes, to.Bytes)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, f := range d.Files {
		seen[f.Path] = true
	}
	var maybe []string
	for _, c := range differ {
		if _, path, ok := strings.Cut(c.Path, "/"); ok && !seen[path] && wanted(path, paths) {
			seen[path] = true
			maybe = append(maybe, path)
		}
	}
	was, err := repo.LookUp(ctx, from.Tree, maybe)
	if err != nil {
		return err
	}
	is, err := repo.LookUp(ctx, to.Tree, maybe)
	for _, path := range maybe {
		if was[path] == is[path] && is[path].Mode != 0 {
			d.Files = append(d.Files, FileDiff{Status: 'M', Path: path, BytesOnly: true})
		}
	}
	slices.SortStableFunc(d.Files, func(a, b FileDiff) int { return strings.Compare(a.Path, b.Path) })
	return err
}

// wanted tells whether path is one of paths, or below one; of none all are.
func wanted(path string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		p = strings.TrimSuffix(p, "/")
		return path == p || strings.HasPrefix(path, p+"/")
	})
}
