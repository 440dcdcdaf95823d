// Package salvage writes a checkpoint anew of which objects are missing or
// corrupt: without what is lost, and with all that is whole.
package salvage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/kept"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// ErrNothing says that nothing of a checkpoint can be had.
var ErrNothing = errors.New("its tree cannot be read")

// Salvager writes checkpoints of one repository anew.
type Salvager struct {
	Repo *git.Repo
	Now  func() time.Time
	Bad  map[string]error // objects that are known to be missing or corrupt
}

// Write stores c without what is lost, and gives what it is then: its number, label
// and time are the same, and what is lost stands among what it left out, as
// record.ReasonLost. ErrNothing: its tree cannot be read.
func (s Salvager) Write(ctx context.Context, c record.Checkpoint) (record.Checkpoint, error) {
	w, err := s.begin(ctx)
	if err != nil {
		return c, err
	}
	n, err := w.checkpoint(c)
	if err := errors.Join(err, w.close()); err != nil {
		return c, err
	}
	n.Commit, err = s.commit(ctx, &n)
	return n, err
}

func (s Salvager) commit(ctx context.Context, n *record.Checkpoint) (string, error) {
	var parents, roles []string
	for _, of := range []struct{ commit, role string }{{n.Head, record.RoleHead}, {n.BaseCommit, record.RoleBase}, {n.Beside, record.RoleBeside}} {
		if of.commit == "" {
			continue
		}
		missing, err := s.Repo.Missing(ctx, []string{of.commit})
		if err != nil {
			return "", err
		}
		if len(missing) == 0 {
			parents, roles = append(parents, of.commit), append(roles, of.role)
		}
	}
	return s.Repo.WriteCommit(ctx, git.CommitSpec{
		Tree: n.Tree, Parents: parents, Name: record.IdentityName, Email: record.IdentityEmail, When: n.At, Message: record.Describe(n, roles),
	})
}

// work is one run over a checkpoint.
type work struct {
	Salvager
	ctx     context.Context
	objects *git.Objects // nil: none is open
	writer  *git.TreeWriter
}

func (s Salvager) begin(ctx context.Context) (*work, error) {
	writer, err := s.Repo.WriteTrees(ctx)
	return &work{Salvager: s, ctx: ctx, writer: writer}, err
}

func (w *work) close() error {
	w.end()
	return w.writer.Close()
}

func (w *work) end() {
	if w.objects != nil {
		_ = w.objects.Close() // what it could not read is known by then
		w.objects = nil
	}
}

func (w *work) checkpoint(c record.Checkpoint) (record.Checkpoint, error) {
	n := c
	var lost []string
	ok := false
	var err error
	if n.Tree, ok, err = w.tree(c.Tree, "", &lost); err != nil {
		return c, err
	}
	if !ok {
		return c, ErrNothing
	}
	content, err := w.content(&n, &lost)
	if err != nil {
		return c, err
	}
	slices.Sort(lost)
	for _, path := range slices.Compact(lost) {
		content.LeftOut = append(content.LeftOut, snapshot.LeftOut{Path: path, Reason: record.ReasonLost})
	}
	// What had other bytes on disk, and has lost them, is lost.
	for _, path := range lost {
		if n.Tree, err = w.without(n.Tree, path); err != nil {
			return c, err
		}
	}
	n.LeftOutCount, n.LeftOut = len(content.LeftOut), nil
	for _, l := range content.LeftOut[:min(record.MaxNamed, len(content.LeftOut))] {
		n.LeftOut = append(n.LeftOut, record.LeftOut{Path: l.Path, Reason: l.Reason})
	}
	if n.Beside, err = kept.Write(w.ctx, w.Repo, w.Now(), content.Parts()); err != nil {
		return c, err
	}
	if n.BaseCommit != "" {
		whole, err := w.whole(n.BaseCommit)
		if err != nil || !whole {
			n.BaseCommit = "" // a diff says that the base was pruned
		}
		return n, err
	}
	return n, nil
}

// content is what is kept beside c, as far as it can be had; what was looked for
// and is lost is not known any more.
func (w *work) content(c *record.Checkpoint, lost *[]string) (beside.Content, error) {
	var content beside.Content
	asNamed := func() { // all that is known without the list
		for _, l := range c.LeftOut {
			content.LeftOut = append(content.LeftOut, snapshot.LeftOut{Path: l.Path, Reason: l.Reason})
		}
	}
	if c.Beside == "" {
		asNamed()
		return content, nil
	}
	entries, ok, err := w.besideTree(c.Beside)
	if err != nil {
		return content, err
	}
	if !ok {
		c.Looked, c.Disk = nil, ""
		asNamed()
		return content, nil
	}
	var there []git.Entry
	var staged []string
	for _, e := range entries {
		part := e
		if e.Path == beside.NameIndexBlobs {
			if staged, err = w.idsIn(e.ID); err != nil {
				return content, err
			}
			continue
		}
		if e.Mode == git.ModeTree {
			var below []string
			if part.ID, ok, err = w.tree(e.ID, "", &below); err != nil {
				return content, err
			}
			*lost = append(*lost, ofMirror(e.Path, below)...)
		} else if ok, err = w.has(e.ID); err != nil {
			return content, err
		}
		if ok {
			there = append(there, part)
			continue
		}
		c.Looked = slices.DeleteFunc(slices.Clone(c.Looked), func(name string) bool { return strings.HasPrefix(e.Path, name) })
		if e.Path == "left-out" {
			asNamed()
		}
	}
	named := content.LeftOut
	content, err = beside.Decode(there, func(id string) ([]byte, error) { return w.read(id, "blob") })
	if err != nil {
		return content, err
	}
	content.LeftOut = append(named, content.LeftOut...)
	if content.Index != nil {
		index := *content.Index
		index.Blobs, err = w.having(staged)
		content.Index = &index
	}
	digest, _, _ := strings.Cut(c.Disk, "+")
	c.Disk = record.JoinDisk(digest, content.Bytes)
	return content, err
}

// idsIn are the ids that a tree has; none where it cannot be read.
func (w *work) idsIn(tree string) ([]string, error) {
	data, err := w.read(tree, "tree")
	if err != nil {
		return nil, w.ctx.Err()
	}
	entries, err := git.ParseTree(data, w.Repo.IDLen)
	if err != nil {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids, nil
}

// ofMirror gives the paths in the work tree of what is lost in an entry that has
// files at their own paths.
func ofMirror(name string, below []string) []string {
	var paths []string
	for _, path := range below {
		if name == "bytes" {
			_, path, _ = strings.Cut(path, "/")
		}
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

func (w *work) besideTree(commit string) ([]git.Entry, bool, error) {
	content, err := w.read(commit, "commit")
	if err != nil {
		return nil, false, w.ctx.Err()
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(string(content), "tree "), "\n")
	data, err := w.read(id, "tree")
	if err != nil {
		return nil, false, w.ctx.Err()
	}
	entries, err := git.ParseTree(data, w.Repo.IDLen)
	return entries, err == nil, nil
}

// tree stores what is whole of a tree, and adds to lost what is not, below dir. It
// is not ok where the tree itself cannot be read.
func (w *work) tree(id, dir string, lost *[]string) (whole string, ok bool, err error) {
	data, err := w.read(id, "tree")
	if err != nil {
		return "", false, w.ctx.Err()
	}
	entries, err := git.ParseTree(data, w.Repo.IDLen)
	if err != nil {
		return "", false, nil
	}
	var files []string
	for _, e := range entries {
		if e.Mode != git.ModeTree && e.Mode != git.ModeGitlink {
			files = append(files, e.ID)
		}
	}
	there, err := w.having(files)
	if err != nil {
		return "", false, err
	}
	var stay []git.Entry
	for _, e := range entries {
		ok := e.Mode == git.ModeGitlink || slices.Contains(there, e.ID)
		if e.Mode == git.ModeTree {
			if e.ID, ok, err = w.tree(e.ID, dir+e.Path+"/", lost); err != nil {
				return "", false, err
			}
		}
		if !ok {
			*lost = append(*lost, dir+e.Path)
			continue
		}
		stay = append(stay, e)
	}
	whole, err = w.writer.Write(stay)
	return whole, true, err
}

// without takes path out of a tree that is whole.
func (w *work) without(tree, path string) (string, error) {
	found, err := w.Repo.LookUp(w.ctx, tree, []string{path})
	if err != nil || len(found) == 0 {
		return tree, err
	}
	return w.Repo.EditTree(w.ctx, tree, []git.TreeEdit{{Path: path}})
}

// whole tells whether all that a commit and its parents of ours have can be had.
func (w *work) whole(commit string) (bool, error) {
	commits := []string{commit}
	if parents, err := w.Repo.Parents(w.ctx, commit); err == nil {
		commits = append(commits, parents...)
	}
	found, err := w.Repo.Reach(w.ctx, commits)
	if err != nil {
		return false, w.ctx.Err()
	}
	return len(found.Missing) == 0 && !slices.ContainsFunc(found.Objects, func(id string) bool { return w.Bad[id] != nil }), nil
}

// having gives those of blobs that can be had.
func (w *work) having(ids []string) ([]string, error) {
	missing, err := w.Repo.Missing(w.ctx, ids)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return w.Bad[id] != nil || slices.Contains(missing, id) }), err
}

func (w *work) has(id string) (bool, error) {
	there, err := w.having([]string{id})
	return len(there) > 0, err
}

func (w *work) read(id, kind string) ([]byte, error) {
	if err := w.Bad[id]; err != nil {
		return nil, err
	}
	if w.objects == nil {
		var err error
		if w.objects, err = w.Repo.ReadObjects(w.ctx); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	is, _, err := w.objects.Copy(id, &b)
	if err != nil {
		w.end() // git may have ended itself
		return nil, err
	}
	if is != kind {
		return nil, fmt.Errorf("object %s is a %s, not a %s", id, is, kind)
	}
	return b.Bytes(), nil
}
