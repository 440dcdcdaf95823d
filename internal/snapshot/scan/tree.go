package scan

import (
	"context"
	"errors"
	"slices"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// written are the trees of a work tree.
type written struct {
	tree  string
	bytes string // as snapshot.Result has it
}

// writeTrees stores the trees of all directories that changed.
func (s *Scanner) writeTrees(ctx context.Context) (written, error) {
	root := s.table.root
	out := written{bytes: s.table.bytes}
	if root.dirty.Load() {
		w, err := s.repo.WriteTrees(ctx)
		if err != nil {
			return out, err
		}
		err = root.write(w, s.repo.IDLen)
		if err == nil {
			out.bytes, err = root.writeBytes(w, s.repo.IDLen)
		}
		if err := errors.Join(err, w.Close()); err != nil {
			return out, err
		}
	}
	var err error
	if out.tree = root.tree.text(s.repo.IDLen); root.tree.none() {
		out.tree, err = s.repo.EmptyTree(ctx)
	}
	return out, err
}

// writeBytes stores the tree of the root's mirrored trees; empty: there are none.
func (n *node) writeBytes(w *git.TreeWriter, idLen int) (string, error) {
	list := appendTree(nil, snapshot.BytesCRLF, n.crlf, idLen)
	list = appendTree(list, snapshot.BytesFiltered, n.filtered, idLen)
	list = appendTree(list, snapshot.BytesRaw, n.raw, idLen)
	if len(list) == 0 {
		return "", nil
	}
	return w.Write(list)
}

// appendTree appends an entry for the tree id, unless that is empty.
func appendTree(list []git.Entry, name string, id oid, idLen int) []git.Entry {
	if id.none() {
		return list
	}
	return append(list, git.Entry{Path: name, Mode: git.ModeTree, ID: id.text(idLen)})
}

// write stores n's trees and those below, as far as they changed.
func (n *node) write(w *git.TreeWriter, idLen int) error {
	if !n.dirty.Load() {
		return nil
	}
	var list, crlf, raw, filtered []git.Entry
	for i := range n.entries {
		e := &n.entries[i]
		if e.has(fInTree) {
			file := git.Entry{Path: e.name, Mode: e.mode, ID: e.id.text(idLen)}
			list = append(list, file)
			switch e.form {
			case formCRLF:
				crlf = append(crlf, file)
			case formFiltered:
				filtered = append(filtered, file)
			case formRaw:
				raw = append(raw, git.Entry{Path: e.name, Mode: git.ModeFile, ID: n.raws[e.name].text(idLen)})
			}
			continue
		}
		if e.dir == nil {
			continue
		}
		if err := e.dir.write(w, idLen); err != nil {
			return err
		}
		list = appendTree(list, e.name, e.dir.tree, idLen)
		crlf = appendTree(crlf, e.name, e.dir.crlf, idLen)
		filtered = appendTree(filtered, e.name, e.dir.filtered, idLen)
		raw = appendTree(raw, e.name, e.dir.raw, idLen)
	}
	var err error
	if n.tree, err = writeOne(w, list); err != nil {
		return err
	}
	if n.crlf, err = n.writePart(w, crlf, list); err != nil {
		return err
	}
	if n.filtered, err = n.writePart(w, filtered, list); err != nil {
		return err
	}
	if n.raw, err = writeOne(w, raw); err != nil {
		return err
	}
	n.dirty.Store(false)
	return nil
}

// writePart stores a tree of some of the entries of n's, which are whole.
func (n *node) writePart(w *git.TreeWriter, part, whole []git.Entry) (oid, error) {
	if slices.Equal(part, whole) {
		return n.tree, nil
	}
	return writeOne(w, part)
}

// writeOne stores a tree; one without entries has no id.
func writeOne(w *git.TreeWriter, list []git.Entry) (oid, error) {
	if len(list) == 0 {
		return oid{}, nil
	}
	id, err := w.Write(list)
	return parseOID(id), err
}

// recheckObjects makes sure that what the table relies on is still in the object
// store: what is not is stored again.
func (s *Scanner) recheckObjects(ctx context.Context) error {
	var staged, own []string // held by the user's index; by nothing, as far as is known
	s.table.root.each(func(at *node, e *entry) {
		switch id := e.id.text(s.repo.IDLen); {
		case !e.has(fInTree) || e.mode == modeGitlink:
		case e.has(fTracked) && e.idxID == e.id:
			staged = append(staged, id)
		default:
			own = append(own, id)
		}
		if e.form == formRaw {
			own = append(own, at.raws[e.name].text(s.repo.IDLen))
		}
	})
	missing, err := s.repo.Missing(ctx, staged)
	if err != nil {
		return err
	}
	taken, err := s.repo.Hold(ctx, own)
	if err != nil {
		return err
	}
	missing = append(missing, taken...)
	gone := make(map[string]bool, len(missing))
	for _, id := range missing {
		gone[id] = true
	}
	s.table.root.each(func(at *node, e *entry) {
		if e.has(fInTree) && (gone[e.id.text(s.repo.IDLen)] || e.form == formRaw && gone[at.raws[e.name].text(s.repo.IDLen)]) {
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
