package scan

import (
	"context"
	"errors"

	"github.com/turnback/turnback/internal/git"
)

// writeTree stores the trees of all directories that changed and returns the root's.
func (s *Scanner) writeTree(ctx context.Context) (string, error) {
	root := s.table.root
	if root.dirty.Load() {
		w, err := s.repo.WriteTrees(ctx)
		if err != nil {
			return "", err
		}
		err = root.write(w, s.repo.IDLen)
		if err := errors.Join(err, w.Close()); err != nil {
			return "", err
		}
	}
	if root.tree.none() {
		return s.repo.EmptyTree(ctx)
	}
	return root.tree.text(s.repo.IDLen), nil
}

// write stores n's tree and those below, as far as they changed.
func (n *node) write(w *git.TreeWriter, idLen int) error {
	if !n.dirty.Load() {
		return nil
	}
	var list []git.Entry
	for i := range n.entries {
		e := &n.entries[i]
		if e.has(fInTree) {
			list = append(list, git.Entry{Path: e.name, Mode: e.mode, ID: e.id.text(idLen)})
			continue
		}
		if e.dir == nil {
			continue
		}
		if err := e.dir.write(w, idLen); err != nil {
			return err
		}
		if !e.dir.tree.none() {
			list = append(list, git.Entry{Path: e.name, Mode: git.ModeTree, ID: e.dir.tree.text(idLen)})
		}
	}
	n.tree = oid{}
	if len(list) > 0 {
		id, err := w.Write(list)
		if err != nil {
			return err
		}
		n.tree = parseOID(id)
	}
	n.dirty.Store(false)
	return nil
}

// recheckObjects makes sure that what the table relies on is still in the object
// store: what is not is stored again.
func (s *Scanner) recheckObjects(ctx context.Context) error {
	var ids []string
	s.table.root.each(func(_ *node, e *entry) {
		if e.has(fInTree) && e.mode != modeGitlink {
			ids = append(ids, e.id.text(s.repo.IDLen))
		}
	})
	missing, err := s.repo.Missing(ctx, ids)
	if err != nil {
		return err
	}
	gone := make(map[string]bool, len(missing))
	for _, id := range missing {
		gone[id] = true
	}
	s.table.root.each(func(at *node, e *entry) {
		if e.has(fInTree) && gone[e.id.text(s.repo.IDLen)] {
			at.drop(e)
		}
	})
	// Trees are cheap to write again, and git leaves alone those that are there.
	s.table.root.eachNode(func(n *node) { n.dirty.Store(true) })
	return nil
}

func (n *node) eachNode(f func(*node)) {
	f(n)
	for i := range n.entries {
		if d := n.entries[i].dir; d != nil {
			d.eachNode(f)
		}
	}
}
