package scan

import (
	"encoding/hex"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot/settings"
)

// oid is an object id; its length is the repository's. The zero value is none.
type oid [32]byte

func parseOID(s string) oid {
	var o oid
	_, _ = hex.Decode(o[:], []byte(s))
	return o
}

func (o oid) text(n int) string { return hex.EncodeToString(o[:n]) }

func (o oid) none() bool { return o == oid{} }

// stat is what tells whether a file may have changed.
type stat struct {
	mtime, ctime int64 // nanoseconds
	size         int64
	ino          uint64
	mode         uint32 // as lstat gives it, kind included
}

// kind is what stands at a path on disk.
type kind uint8

const (
	absent kind = iota
	regular
	link
	directory
	special // FIFO, socket, device
)

// flags of an entry.
const (
	fInTree   uint8 = 1 << iota // id and mode are in the tree
	fTracked                    // idxID and idxMode are the user's index entry
	fSkip                       // tracked, skip-worktree and absent: idxID is what counts
	fJudged                     // untracked: fIgnored holds git's verdict
	fIgnored                    // untracked and ignored
	fClean                      // id was taken while stat held, and not too young to tell
	fConflict                   // tracked, in conflict
	fAssume                     // tracked, and git was told not to look at it
)

// form says how a file's bytes on disk came from, or differ from, those of the
// blob in the tree.
type form uint8

const (
	formUnread   form = iota // git says that it is unchanged, and its size is the blob's; nobody read it here
	formSame                 // they are the blob's
	formCRLF                 // they have "\r\n" where the blob has "\n", and no other "\r"
	formRaw                  // they are those of another blob, in the node's raws
	formFiltered             // a filter program makes the blob's of them
	formDoubt                // they are not the blob's, whatever git's index says: to be stored anew
)

// entry is a name in a directory: what is on disk, what the user's index says,
// and what the tree holds.
type entry struct {
	name    string
	dir     *node // what is known below; also kept while no directory stands there
	stat    stat
	id      oid
	idxID   oid
	held    int64 // bytes that the file had when id was taken from the disk; else -1
	mode    uint32
	idxMode uint32
	kind    kind
	flags   uint8
	form    form // while in the tree
}

func (e *entry) has(f uint8) bool { return e.flags&f != 0 }
func (e *entry) set(f uint8)      { e.flags |= f }
func (e *entry) clear(f uint8)    { e.flags &^= f }

// node is a directory.
type node struct {
	parent          *node
	name            string
	entries         []entry // sorted by name
	tree            oid     // while not dirty; none: empty
	crlf            oid     // the part of tree that formCRLF holds for; as tree
	filtered        oid     // the part of tree that formFiltered holds for; as tree
	raw             oid     // the tree of raws; as tree
	raws            map[string]oid
	tracked         int // tracked paths below, at any depth
	dirty           atomic.Bool
	known           bool // was read before
	gone            bool // is absent, and its entries say so
	bad             bool // its path is one that no tree may hold
	listed          stat // of the folder when its names were read; zero: not to be relied on
	rules           stat // the .gitignore here; zero: none
	young           bool // rules was so young that a later change may look the same
	attributes      stat // the .gitattributes here; zero: none
	youngAttributes bool // as young, of that
	nested          stat // the .git here, when git took it for a repository of its own
}

// find gives the entry of name, or nil.
func (n *node) find(name string) *entry {
	i, ok := slices.BinarySearchFunc(n.entries, name, func(e entry, s string) int { return strings.Compare(e.name, s) })
	if !ok {
		return nil
	}
	return &n.entries[i]
}

// lookup gives the entry at a path below n, or nil.
func (n *node) lookup(path string) *entry {
	for {
		first, rest, more := strings.Cut(path, "/")
		e := n.find(first)
		if e == nil || !more {
			return e
		}
		if n, path = e.dir, rest; n == nil {
			return nil
		}
	}
}

// get gives the entry of name, made if need be. Pointers to entries of n that
// were taken before are void afterwards.
func (n *node) get(name string) *entry {
	i, ok := slices.BinarySearchFunc(n.entries, name, func(e entry, s string) int { return strings.Compare(e.name, s) })
	if !ok {
		n.entries = slices.Insert(n.entries, i, entry{name: name})
	}
	return &n.entries[i]
}

// below gives e's node, made if need be.
func (n *node) below(e *entry) *node {
	if e.dir == nil {
		e.dir = &node{parent: n, name: e.name, bad: n.refuses(e.name)}
		e.dir.touch()
	}
	return e.dir
}

// ignoreFile is the name of git's ignore files.
const ignoreFile = ".gitignore"

// refuses tells whether no tree may hold an entry of that name in n.
func (n *node) refuses(name string) bool { return n.bad || git.CheckName(name) != nil }

// hasSparseRules tells whether an ignore file counts in n that only the index has.
func (n *node) hasSparseRules() bool {
	for ; n != nil; n = n.parent {
		if e := n.find(ignoreFile); e != nil && e.kind == absent && e.has(fSkip) {
			return true
		}
	}
	return false
}

// noteSparseRules takes note of the ignore files that git was told to do without
// on disk: their rules are those of the index. When they are others than before,
// or that is not known, git judges every untracked path again.
func (t *table) noteSparseRules(entries []git.IndexEntry) {
	now := []string{}
	for _, e := range entries {
		if e.SkipWorktree && (e.Path == ignoreFile || strings.HasSuffix(e.Path, "/"+ignoreFile)) {
			now = append(now, e.Path, e.ID)
		}
	}
	if t.sparse == nil {
		t.root.each(func(_ *node, e *entry) {
			if e.name == ignoreFile && e.has(fSkip) {
				t.sparse = []string{"of another process"}
			}
		})
	}
	if !slices.Equal(t.sparse, now) {
		t.rules = settings.Digest{}
	}
	t.sparse = now
}

// touch marks n and all above as having another tree than before. Where one is
// dirty, all above are, or are about to be.
func (n *node) touch() {
	for ; n != nil && n.dirty.CompareAndSwap(false, true); n = n.parent {
	}
}

// path is where n stands, relative to the root; empty for the root.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	return join(n.parent.path(), n.name)
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// take puts mode and id of e into the tree.
func (n *node) take(e *entry, mode uint32, id oid) {
	if !e.has(fInTree) || e.mode != mode || e.id != id {
		n.reform(e, formUnread, oid{})
		e.mode, e.id, e.held = mode, id, -1
		e.set(fInTree)
		n.touch()
	}
}

// drop takes e out of the tree.
func (n *node) drop(e *entry) {
	if e.has(fInTree) {
		n.reform(e, formUnread, oid{})
		e.clear(fInTree | fClean)
		n.touch()
	}
}

// reform notes in which form the file of e is on disk; raw is its blob for
// formRaw.
func (n *node) reform(e *entry, f form, raw oid) {
	if e.form == f && (f != formRaw || n.raws[e.name] == raw) {
		return
	}
	if e.form > formSame || f > formSame {
		n.touch()
	}
	if e.form == formRaw {
		delete(n.raws, e.name)
	}
	if e.form = f; f == formRaw {
		if n.raws == nil {
			n.raws = map[string]oid{}
		}
		n.raws[e.name] = raw
	}
}

// keepIndexEntry gives e the user's index entry in the tree, or nothing where it
// has none, or none that a tree may hold: what is on disk cannot be had.
func (n *node) keepIndexEntry(e *entry) {
	e.clear(fClean)
	if e.has(fTracked) && !e.has(fConflict) && !n.refuses(e.name) && git.CheckEntry(e.name, e.idxMode) == nil {
		n.take(e, e.idxMode, e.idxID)
		n.reform(e, formUnread, oid{})
		return
	}
	n.drop(e)
}

// setTracked replaces what is known of the user's index.
func (n *node) setTracked(entries []git.IndexEntry) {
	n.each(func(_ *node, e *entry) {
		if e.has(fConflict) {
			e.idxID, e.idxMode = oid{}, 0
		}
		e.clear(fTracked | fSkip | fConflict | fAssume)
	})
	n.resetTracked()
	for i := range entries {
		n.track(&entries[i])
	}
	n.each(func(_ *node, e *entry) {
		if !e.has(fTracked) && e.idxMode != 0 {
			e.clear(fClean | fJudged | fIgnored)
			e.idxID, e.idxMode = oid{}, 0
		}
	})
}

func (n *node) resetTracked() {
	n.tracked, n.gone = 0, false
	for i := range n.entries {
		if d := n.entries[i].dir; d != nil {
			d.resetTracked()
		}
	}
}

func (n *node) track(ie *git.IndexEntry) {
	path := ie.Path
	for {
		n.tracked++
		first, rest, more := strings.Cut(path, "/")
		e := n.get(first)
		if more {
			n, path = n.below(e), rest
			continue
		}
		e.set(fTracked)
		e.clear(fJudged | fIgnored)
		if ie.Stage != 0 {
			e.set(fConflict)
			e.clear(fClean)
		}
		e.stage(ie.Mode, parseOID(ie.ID))
		if ie.SkipWorktree {
			e.set(fSkip)
		}
		if ie.AssumeSame {
			e.set(fAssume)
		}
		return
	}
}

// stage notes what the user's index has for e. It has a say in what is made of
// the file: its executable bit where the file system's do not count, its line
// ends. So the file is looked at again, unless the tree has that very entry.
func (e *entry) stage(mode uint32, id oid) {
	if (e.idxMode != mode || e.idxID != id) && (!e.has(fInTree) || e.mode != mode || e.id != id) {
		e.clear(fClean)
	}
	e.idxMode, e.idxID = mode, id
}

// each calls f for every entry at any depth.
func (n *node) each(f func(*node, *entry)) {
	for i := range n.entries {
		f(n, &n.entries[i])
		if d := n.entries[i].dir; d != nil {
			d.each(f)
		}
	}
}
