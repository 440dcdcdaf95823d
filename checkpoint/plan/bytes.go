package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/snapshot"
)

// Bytes says which files have other bytes on disk than their blobs: a tree as
// snapshot.Result.Bytes. The zero value knows nothing.
type Bytes struct {
	Known bool
	Tree  string // empty: all are as their blobs
}

// BytesOf is what the digest of a checkpoint, or of a base, says of bytes.
func BytesOf(disk string) (b Bytes) {
	b.Tree, b.Known = record.BytesOf(disk)
	return b
}

// BytesKept is BytesOf, as far as the repository has them still.
func (s *Planner) BytesKept(ctx context.Context, disk string) (Bytes, error) {
	b := BytesOf(disk)
	if b.Tree == "" {
		return b, nil
	}
	missing, err := s.Repo.Missing(ctx, []string{b.Tree})
	if len(missing) > 0 {
		b = Bytes{}
	}
	return b, err
}

// mirrors are the entries of such a tree.
func mirrors() []string {
	return []string{snapshot.BytesCRLF, snapshot.BytesRaw, snapshot.BytesFiltered}
}

// Changed compares the work tree in l with to: the files whose blobs or modes
// differ, and those with the same blob and other bytes on disk.
func (s *Planner) Changed(ctx context.Context, l From, to Target) ([]git.Change, error) {
	changes, err := s.Repo.ChangedEntries(ctx, l.Tree, to.Tree)
	if err != nil {
		return nil, AsDamaged(to, err)
	}
	return s.otherBytes(ctx, l, to, changes)
}

// otherBytes adds to changes the files that are the same in both trees and have
// other bytes on disk.
func (s *Planner) otherBytes(ctx context.Context, l From, to Target, changes []git.Change) ([]git.Change, error) {
	if !to.Bytes.Known || l.Bytes == to.Bytes.Tree {
		return changes, nil
	}
	sides := []string{l.Bytes, to.Bytes.Tree}
	for i := range sides {
		if sides[i] != "" {
			continue
		}
		var err error
		if sides[i], err = s.Repo.EmptyTree(ctx); err != nil {
			return nil, err
		}
	}
	differ, err := s.Repo.ChangedEntries(ctx, sides[0], sides[1])
	if err != nil {
		return nil, AsDamaged(to, err)
	}
	left := snapshot.ByPath(l.LeftOut)
	known := make(map[string]bool, len(changes))
	for _, c := range changes {
		known[c.Path] = true
	}
	var paths []string
	for _, d := range differ {
		_, path, ok := strings.Cut(d.Path, "/")
		if ok && !known[path] && left.At(path) == "" && (to.Own == nil || to.Own[path]) {
			known[path] = true
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	entries, err := s.Repo.LookUp(ctx, to.Tree, paths)
	if err != nil {
		return nil, AsDamaged(to, err)
	}
	for _, path := range paths {
		e, ok := entries[path]
		if !ok || !isFile(e.Mode) {
			return nil, damagedTarget(to, fmt.Sprintf("it keeps bytes of %q, which is no file of it", path))
		}
		changes = append(changes, git.Change{Path: path, OldMode: e.Mode, OldID: e.ID, NewMode: e.Mode, NewID: e.ID})
	}
	return changes, nil
}

// setForms says of both sides of ops how their bytes on disk come from blobs.
func (s *Planner) setForms(ctx context.Context, l From, to Target, ops []restore.Op) error {
	meant, err := s.meant(ctx, to, ops)
	if err != nil {
		return err
	}
	for _, side := range []struct {
		tree  string
		file  func(*restore.Op) *restore.File
		meant func(path, id string) bool // nil: always
	}{
		{l.Bytes, func(op *restore.Op) *restore.File { return &op.Old }, nil},
		{to.Bytes.Tree, func(op *restore.Op) *restore.File { return &op.New }, meant},
	} {
		var paths []string
		for i := range ops {
			if f := side.file(&ops[i]); isFile(f.Mode) {
				for _, m := range mirrors() {
					paths = append(paths, m+"/"+ops[i].Path)
				}
			}
		}
		found, err := s.Repo.LookUp(ctx, side.tree, paths)
		if err != nil {
			return AsDamaged(to, err)
		}
		for i := range ops {
			f := side.file(&ops[i])
			if side.meant != nil && !side.meant(ops[i].Path, f.ID) {
				continue
			}
			_, f.CRLF = found[snapshot.BytesCRLF+"/"+ops[i].Path]
			_, f.Filtered = found[snapshot.BytesFiltered+"/"+ops[i].Path]
			f.Raw = found[snapshot.BytesRaw+"/"+ops[i].Path].ID
		}
	}
	var guess []string
	var merged []*restore.Op
	for i := range ops {
		old, want := &ops[i].Old, &ops[i].New
		if known := to.Bytes.Known && (meant == nil || meant(ops[i].Path, want.ID)); known || !isFile(want.Mode) {
			continue
		}
		if old.ID == want.ID {
			want.Raw, want.CRLF, want.Filtered = old.Raw, old.CRLF, old.Filtered
			continue
		}
		if to.Merged[ops[i].Path] && isFile(old.Mode) {
			merged = append(merged, &ops[i])
			continue
		}
		guess = append(guess, ops[i].Path)
	}
	return errors.Join(s.guessFiltered(ctx, ops, guess), s.formMerged(ctx, merged))
}

// formMerged says in which form merged texts are written.
func (s *Planner) formMerged(ctx context.Context, ops []*restore.Op) (err error) {
	if len(ops) == 0 {
		return nil
	}
	objects, err := s.Repo.ReadObjects(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	for _, op := range ops {
		if err := s.likeOnDisk(ctx, objects, op); err != nil {
			return err
		}
	}
	return nil
}

// meant tells of which files the target's Bytes speak: of those that are as in the
// tree that they belong to, and not merged with others; nil: of all.
func (s *Planner) meant(ctx context.Context, to Target, ops []restore.Op) (func(path, id string) bool, error) {
	of := cmp.Or(to.BytesOf, to.Rules)
	if to.Bytes.Tree == "" && len(to.Merged) == 0 || of == "" || of == to.Tree {
		return nil, nil
	}
	paths := make([]string, len(ops))
	for i, op := range ops {
		paths[i] = op.Path
	}
	then, err := s.Repo.LookUp(ctx, of, paths)
	return func(path, id string) bool { return then[path].ID == id }, err
}

// guessFiltered marks what is written at paths, where nothing tells whether a
// filter program stands before it: by what the path names now.
func (s *Planner) guessFiltered(ctx context.Context, ops []restore.Op, paths []string) error {
	named, err := s.Repo.FiltersOf(ctx, "", paths)
	if err != nil {
		return err
	}
	for i := range ops {
		op := &ops[i]
		op.New.Filtered = op.New.Filtered || named[op.Path] != ""
	}
	return nil
}
