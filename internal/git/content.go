package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// WriteRawFiles stores the files at paths, relative to the root, as they are on
// disk, without any conversion, and returns their ids in the same order. A file
// that cannot be read is an error.
func (r *Repo) WriteRawFiles(ctx context.Context, paths []string) ([]string, error) {
	const tries = 5
	for range tries {
		ids, err := r.writeRawFiles(ctx, paths)
		if err != nil {
			return nil, err
		}
		if gone, err := r.Hold(ctx, ids); err != nil || len(gone) == 0 {
			return ids, err
		}
	}
	return nil, errors.New("store raw bytes: another program takes new objects away")
}

func (r *Repo) writeRawFiles(ctx context.Context, paths []string) ([]string, error) {
	ids := make([]string, len(paths))
	var in strings.Builder
	var batch []int
	for i, path := range paths {
		if strings.Contains(path, "\n") || strings.HasSuffix(path, "\r") { // the list is one of lines
			out, err := r.line(ctx, call{dir: r.Worktree, writes: true, args: []string{"hash-object", "-w", "--no-filters", "--", "./" + path}})
			if err != nil {
				return nil, fmt.Errorf("store raw bytes of %q: %w", path, err)
			}
			ids[i] = out
			continue
		}
		batch = append(batch, i)
		in.WriteString("./" + path + "\n")
	}
	if len(batch) == 0 {
		return ids, nil
	}
	out, err := r.output(ctx, call{dir: r.Worktree, writes: true, stdin: strings.NewReader(in.String()), args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}})
	if err != nil {
		return nil, fmt.Errorf("store raw bytes: %w", err)
	}
	lines := strings.Fields(string(out))
	if len(lines) != len(batch) {
		return nil, fmt.Errorf("store raw bytes: %d ids for %d files", len(lines), len(batch))
	}
	for k, i := range batch {
		ids[i] = lines[k]
	}
	return ids, nil
}

// AttributeValue is what a file gives an attribute; empty where Attributes says
// that it is not set, or set without a value.
func AttributeValue(said string) string {
	switch said {
	case "set", "unset", "unspecified":
		return ""
	}
	return said
}

// Sizes gives the size in bytes of each of the objects ids, in their order; -1
// where the store does not have it.
func (r *Repo) Sizes(ctx context.Context, ids []string) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := r.output(ctx, call{
		dir: r.Worktree, stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"), args: []string{"cat-file", "--batch-check=%(objectsize)"},
	})
	if err != nil {
		return nil, fmt.Errorf("look up sizes: %w", err)
	}
	sizes := make([]int64, 0, len(ids))
	for line := range strings.Lines(string(out)) {
		var n int64 = -1
		if _, err := fmt.Sscan(line, &n); err != nil || strings.HasSuffix(line, " missing\n") {
			n = -1
		}
		sizes = append(sizes, n)
	}
	if len(sizes) != len(ids) {
		return nil, fmt.Errorf("look up sizes: %d answers for %d objects", len(sizes), len(ids))
	}
	return sizes, nil
}

// LookUp finds paths in a tree, reading only the trees along them; those that
// the tree does not have are not in the result.
func (r *Repo) LookUp(ctx context.Context, tree string, paths []string) (map[string]Entry, error) {
	found := map[string]Entry{}
	if tree == "" || len(paths) == 0 {
		return found, nil
	}
	objects, err := r.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	l := &lookup{editor: &treeEditor{objects: objects, idLen: r.IDLen}, dirs: map[string]map[string]Entry{}}
	for _, path := range paths {
		var e Entry
		var ok bool
		if e, ok, err = l.at(tree, path); err != nil {
			break
		}
		if ok {
			found[path] = Entry{Path: path, Mode: e.Mode, ID: e.ID}
		}
	}
	if err := errors.Join(err, objects.Close()); err != nil {
		return nil, fmt.Errorf("look into tree %s: %w", tree, err)
	}
	return found, nil
}

type lookup struct {
	editor *treeEditor
	dirs   map[string]map[string]Entry // by tree id
}

func (l *lookup) at(tree, path string) (Entry, bool, error) {
	for {
		entries, ok := l.dirs[tree]
		if !ok {
			var err error
			if entries, err = l.editor.read(tree); err != nil {
				return Entry{}, false, err
			}
			l.dirs[tree] = entries
		}
		first, rest, more := strings.Cut(path, "/")
		e, ok := entries[first]
		if !ok || !more || e.Mode != ModeTree {
			return e, ok && !more, nil
		}
		tree, path = e.ID, rest
	}
}
