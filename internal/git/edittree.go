package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TreeEdit puts an entry at a path, or with Mode 0 takes it away.
type TreeEdit struct {
	Path string
	Mode uint32
	ID   string
}

// EditTree stores the tree that base becomes by edits, and returns its id. It
// reads and writes only the trees along the edited paths.
func (r *Repo) EditTree(ctx context.Context, base string, edits []TreeEdit) (string, error) {
	if len(edits) == 0 {
		return base, nil
	}
	objects, err := r.ReadObjects(ctx)
	if err != nil {
		return "", err
	}
	trees, err := r.WriteTrees(ctx)
	if err != nil {
		return "", errors.Join(err, objects.Close())
	}
	e := &treeEditor{objects: objects, trees: trees, idLen: r.IDLen}
	id, err := e.edit(base, planEdits(edits))
	if err := errors.Join(err, objects.Close(), trees.Close()); err != nil {
		return "", fmt.Errorf("edit tree: %w", err)
	}
	if id == "" {
		return r.EmptyTree(ctx)
	}
	return id, nil
}

// treeNode is what is edited in one directory.
type treeNode struct {
	entries map[string]TreeEdit  // by name
	dirs    map[string]*treeNode // by name
}

func planEdits(edits []TreeEdit) *treeNode {
	root := &treeNode{}
	for _, e := range edits {
		n, path := root, e.Path
		for {
			first, rest, more := strings.Cut(path, "/")
			if !more {
				break
			}
			if n.dirs == nil {
				n.dirs = map[string]*treeNode{}
			}
			if n.dirs[first] == nil {
				n.dirs[first] = &treeNode{}
			}
			n, path = n.dirs[first], rest
		}
		if n.entries == nil {
			n.entries = map[string]TreeEdit{}
		}
		n.entries[path] = e
	}
	return root
}

type treeEditor struct {
	objects *Objects
	trees   *TreeWriter
	idLen   int
}

// edit returns the id of the edited tree; empty: nothing is left in it. An empty
// id stands for a tree without entries.
func (e *treeEditor) edit(id string, n *treeNode) (string, error) {
	entries, err := e.read(id)
	if err != nil {
		return "", err
	}
	// What goes, goes first: a folder may come where a file was, and a file where
	// a folder was.
	for name, edit := range n.entries {
		if old, ok := entries[name]; edit.Mode == 0 && ok && old.Mode != ModeTree {
			delete(entries, name)
		}
	}
	for name, dir := range n.dirs {
		below := ""
		old, there := entries[name]
		if there && old.Mode == ModeTree {
			below = old.ID
		}
		if below, err = e.edit(below, dir); err != nil {
			return "", err
		}
		switch {
		case below != "":
			entries[name] = Entry{Path: name, Mode: ModeTree, ID: below}
		case there && old.Mode == ModeTree:
			delete(entries, name)
		}
	}
	for name, edit := range n.entries {
		if edit.Mode != 0 {
			entries[name] = Entry{Path: name, Mode: edit.Mode, ID: edit.ID}
		}
	}
	if len(entries) == 0 {
		return "", nil
	}
	return e.trees.Write(slices.Collect(maps.Values(entries)))
}

// read parses a tree object.
func (e *treeEditor) read(id string) (map[string]Entry, error) {
	entries := map[string]Entry{}
	if id == "" {
		return entries, nil
	}
	var b bytes.Buffer
	kind, _, err := e.objects.Copy(id, &b)
	if err != nil {
		return nil, err
	}
	if kind != "tree" {
		return nil, fmt.Errorf("object %s is a %s, not a tree", id, kind)
	}
	list, err := ParseTree(b.Bytes(), e.idLen)
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", id, err)
	}
	for _, entry := range list {
		entries[entry.Path] = entry
	}
	return entries, nil
}
