package purge

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/turnback/turnback/internal/git"
)

// without is a tree from which a path was taken.
type without struct {
	tree string   // the same where the path is not in it
	gone []string // the files and links that were at the path and below it, by id
}

// removePath takes a path, a file or a folder with all that is in it, out of each
// of trees, by the tree's id. Trees that cannot be read are not in the result.
func removePath(ctx context.Context, repo *git.Repo, trees []string, path string) (map[string]without, error) {
	out := make(map[string]without, len(trees))
	objects, err := repo.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	writer, err := repo.WriteTrees(ctx)
	if err != nil {
		return nil, errors.Join(err, objects.Close())
	}
	p := &pathRemover{objects: objects, writer: writer, idLen: repo.IDLen, done: map[string]without{}}
	for _, tree := range trees {
		w, doneErr := p.remove(tree, path)
		if errors.Is(doneErr, git.ErrMissingObject) || errors.Is(doneErr, git.ErrCorruptObject) {
			continue
		}
		if err = doneErr; err != nil {
			break
		}
		out[tree] = w
	}
	if err := errors.Join(err, objects.Close(), writer.Close()); err != nil {
		return nil, fmt.Errorf("take %q out of trees: %w", path, err)
	}
	empty, err := repo.EmptyTree(ctx)
	if err != nil {
		return nil, err
	}
	for tree, w := range out {
		if w.tree == "" {
			w.tree = empty
			out[tree] = w
		}
	}
	return out, nil
}

type pathRemover struct {
	objects *git.Objects
	writer  *git.TreeWriter
	idLen   int
	done    map[string]without // by tree and path: many trees have the same folders
}

// remove takes path out of a tree; a result without a tree is one of which nothing
// is left.
func (p *pathRemover) remove(tree, path string) (without, error) {
	key := tree + " " + path
	if w, ok := p.done[key]; ok {
		return w, nil
	}
	w := without{tree: tree}
	entries, err := p.read(tree)
	if err != nil {
		return w, err
	}
	first, rest, deeper := strings.Cut(path, "/")
	e, there := entries[first]
	switch {
	case !there, deeper && e.Mode != git.ModeTree:
		p.done[key] = w
		return w, nil
	case deeper:
		below, err := p.remove(e.ID, rest)
		if err != nil {
			return w, err
		}
		if below.tree == e.ID {
			p.done[key] = w
			return w, nil
		}
		w.gone = below.gone
		if e.ID = below.tree; e.ID == "" {
			delete(entries, first)
		} else {
			entries[first] = e
		}
	default:
		if err := p.filesOf(e, &w.gone); err != nil {
			return w, err
		}
		delete(entries, first)
	}
	if w.tree = ""; len(entries) > 0 {
		if w.tree, err = p.writer.Write(slices.Collect(maps.Values(entries))); err != nil {
			return w, err
		}
	}
	p.done[key] = w
	return w, nil
}

// filesOf adds the ids of what e is, or holds, to list.
func (p *pathRemover) filesOf(e git.Entry, list *[]string) error {
	switch e.Mode {
	case git.ModeGitlink:
		return nil
	case git.ModeTree:
		entries, err := p.read(e.ID)
		for _, below := range entries {
			err = errors.Join(err, p.filesOf(below, list))
		}
		return err
	}
	*list = append(*list, e.ID)
	return nil
}

func (p *pathRemover) read(tree string) (map[string]git.Entry, error) {
	var b bytes.Buffer
	kind, _, err := p.objects.Copy(tree, &b)
	if err == nil && kind != "tree" {
		err = fmt.Errorf("object %s is a %s, not a tree", tree, kind)
	}
	if err != nil {
		return nil, err
	}
	return parseTree(tree, b.Bytes(), p.idLen)
}

// parseTree reads the entries of a tree object, by name.
func parseTree(id string, data []byte, idLen int) (map[string]git.Entry, error) {
	entries := map[string]git.Entry{}
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, hasName := strings.Cut(string(head), " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		if !ok || !hasName || err != nil || len(rest) < idLen {
			return nil, fmt.Errorf("tree %s is malformed", id)
		}
		entries[name] = git.Entry{Path: name, Mode: uint32(m), ID: hex.EncodeToString(rest[:idLen])}
		data = rest[idLen:]
	}
	return entries, nil
}
