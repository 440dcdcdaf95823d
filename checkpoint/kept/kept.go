// Package kept tells a person what is kept beside a checkpoint.
package kept

import (
	"context"
	"fmt"
	"strings"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// Kind is one kind of what is kept.
type Kind struct {
	What  string // raw, crlf, modes, folders, without, rules, index, lfs, overwritten: as docs/format.md names it
	Items []Item
}

// Item is one of it.
type Item struct {
	Path   string // a path in the work tree, raw bytes; of rules the file's name or path, of lfs the OID; may be empty
	Detail string // permission bits, say; may be empty
}

// List gives the kinds of which there is something.
func List(ctx context.Context, repo *git.Repo, c beside.Content) ([]Kind, error) {
	var kinds []Kind
	add := func(what string, items []Item) {
		if len(items) > 0 {
			kinds = append(kinds, Kind{What: what, Items: items})
		}
	}
	bytes, err := below(ctx, repo, c.Bytes)
	if err != nil {
		return nil, err
	}
	for _, form := range []string{snapshot.BytesRaw, snapshot.BytesCRLF} {
		add(form, in(bytes, form+"/"))
	}
	overwritten, err := below(ctx, repo, c.Overwritten)
	if err != nil {
		return nil, err
	}
	add("overwritten", in(overwritten, ""))
	add("modes", modes(c.Modes))
	add("folders", named(c.Folders))
	add("without", named(c.Without))
	add("rules", rules(c.Rules))
	add("index", index(c.Index))
	add("lfs", named(c.LFS))
	return kinds, nil
}

// below are the entries of a tree; none where it is empty.
func below(ctx context.Context, repo *git.Repo, tree string) ([]git.Entry, error) {
	if tree == "" {
		return nil, nil
	}
	return repo.TreeEntries(ctx, tree)
}

// in gives the files below a folder.
func in(entries []git.Entry, folder string) []Item {
	var items []Item
	for _, e := range entries {
		if path, ok := strings.CutPrefix(e.Path, folder); ok {
			items = append(items, Item{Path: path})
		}
	}
	return items
}

func named(list []string) []Item {
	var items []Item
	for _, p := range list {
		items = append(items, Item{Path: p})
	}
	return items
}

func modes(m *snapshot.Modes) []Item {
	if m == nil || m.Plain() {
		return nil
	}
	var items []Item
	if usual := (snapshot.Modes{File: m.File, Exec: m.Exec, Folder: m.Folder}); !usual.Plain() {
		items = append(items, Item{Detail: fmt.Sprintf("usually %04o, %04o and %04o for folders", m.File, m.Exec, m.Folder)})
	}
	for _, o := range m.Odd {
		items = append(items, Item{Path: o.Path, Detail: fmt.Sprintf("%04o", o.Perm)})
	}
	return items
}

func rules(r *snapshot.Rules) []Item {
	var items []Item
	if r != nil && len(r.Exclude) > 0 {
		items = append(items, Item{Path: "info/exclude"})
	}
	if r != nil && len(r.Global) > 0 {
		items = append(items, Item{Path: "core.excludesFile"})
	}
	if r != nil {
		for _, f := range r.Files {
			items = append(items, Item{Path: f.Path})
		}
	}
	return items
}

func index(i *snapshot.Index) []Item {
	if i == nil {
		return nil
	}
	var items []Item
	for _, e := range i.Entries {
		item := Item{Path: e.Path}
		if e.Mode == 0 {
			item.Detail = "not in the index"
		}
		items = append(items, item)
	}
	return items
}
