package scan

import (
	"slices"
	"sync/atomic"

	"github.com/turnback/turnback/internal/git/rules"
	"github.com/turnback/turnback/internal/snapshot"
)

// permBits are the bits of a mode that are kept.
const permBits = 0o777

// Classes of what has permission bits.
const (
	classFile = iota
	classExec
	classFolder
	classes
)

// usual are the permission bits that most of a class have.
type usual [classes]uint32

func plain() usual { return usual{classFile: 0o644, classExec: 0o755, classFolder: 0o755} }

// class tells that of a file with these bits.
func class(mode uint32) int {
	if mode&0o100 != 0 {
		return classExec
	}
	return classFile
}

// kept is what a pass sees of the things that a tree cannot hold.
type kept struct {
	usual usual
	count [classes][permBits + 1]atomic.Int32
	odd   []place // files, and folders under a nil name, with other bits than the usual
	bare  []*node // folders in which no file of the tree was seen
}

// notePerm counts the bits of the regular file e, and remembers odd ones.
func (p *pass) notePerm(n *node, e *entry, path string) {
	k := class(e.stat.mode)
	perm := e.stat.mode & permBits
	p.kept.count[k][perm].Add(1)
	if perm != p.kept.usual[k] {
		p.mu.Lock()
		p.kept.odd = append(p.kept.odd, place{n, e.name, path})
		p.mu.Unlock()
	}
}

// noteFolder does that for the folder n, whose entries are up to date.
func (p *pass) noteFolder(n *node, path string, mode uint32) {
	if n.parent == nil {
		return
	}
	perm := mode & permBits
	p.kept.count[classFolder][perm].Add(1)
	odd, bare := perm != p.kept.usual[classFolder], !n.holdsFiles()
	if !odd && !bare {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if odd {
		p.kept.odd = append(p.kept.odd, place{at: n, path: path})
	}
	if bare {
		p.kept.bare = append(p.kept.bare, n)
	}
}

// noteBare remembers n where its files have left the tree since it was looked at.
func (p *pass) noteBare(n *node) {
	if n.parent == nil || n.holdsFiles() {
		return
	}
	p.mu.Lock()
	p.kept.bare = append(p.kept.bare, n)
	p.mu.Unlock()
}

// holdsFiles tells whether n itself has something that is in the tree and stays
// there, whatever git says of what it is yet to be asked about.
func (n *node) holdsFiles() bool {
	return slices.ContainsFunc(n.entries, func(e entry) bool { return e.has(fInTree) && e.has(fTracked|fJudged) })
}

// modes gives the permission bits that the pass saw. What most have is the same
// for the same disk, whatever was usual before.
func (p *pass) modes() *snapshot.Modes {
	most := p.kept.most()
	m := &snapshot.Modes{File: most[classFile], Exec: most[classExec], Folder: most[classFolder]}
	if most != p.kept.usual {
		p.s.table.usual = most
		p.s.table.root.odd("", most, m)
	} else {
		for _, at := range p.kept.odd {
			if perm, ok := at.odd(most); ok {
				m.Odd = append(m.Odd, snapshot.Mode{Path: at.path, Perm: perm})
			}
		}
	}
	m.Sort()
	return m
}

// most gives the bits that the most of each class have; plain ones where as many
// have those.
func (k *kept) most() usual {
	out := plain()
	for c := range k.count {
		top := k.count[c][out[c]].Load()
		for perm := range k.count[c] {
			if n := k.count[c][perm].Load(); n > top {
				top, out[c] = n, uint32(perm)
			}
		}
	}
	return out
}

// odd gives the bits of what stands at the place, if they are not usual.
func (at place) odd(u usual) (uint32, bool) {
	if at.name == "" {
		n := at.at
		e := n.parent.find(n.name)
		if e == nil {
			return 0, false
		}
		return e.stat.mode & permBits, e.isFolder() && e.stat.mode&permBits != u[classFolder]
	}
	e := at.at.find(at.name)
	if e == nil {
		return 0, false
	}
	return e.stat.mode & permBits, e.isFile() && e.stat.mode&permBits != u[class(e.stat.mode)]
}

// isFile tells whether e is a regular file of the tree.
func (e *entry) isFile() bool { return e.kind == regular && e.has(fInTree) }

// isFolder tells whether e is a folder that was looked into.
func (e *entry) isFolder() bool {
	return e.kind == directory && e.dir != nil && e.dir.known && !e.dir.gone
}

// odd lists all at and below n whose bits are not usual.
func (n *node) odd(path string, u usual, m *snapshot.Modes) {
	for i := range n.entries {
		e := &n.entries[i]
		perm := e.stat.mode & permBits
		switch {
		case e.isFile() && perm != u[class(perm)], e.isFolder() && perm != u[classFolder]:
			m.Odd = append(m.Odd, snapshot.Mode{Path: join(path, e.name), Perm: perm})
		}
		if e.isFolder() {
			e.dir.odd(join(path, e.name), u, m)
		}
	}
}

// folders gives those below which nothing is in the tree. The trees are written.
func (p *pass) folders() []string {
	var out []string
	for _, n := range p.kept.bare {
		if n.known && !n.gone && n.tree.none() {
			out = append(out, n.path())
		}
	}
	slices.Sort(out)
	return snapshot.Deepest(slices.Compact(out)) // one may have been noted twice
}

// without gives the files that the tree has and the disk has not, because git was
// told to do without them.
func (t *table) without() []string {
	out := []string{}
	if t.noneSkipped {
		return out
	}
	t.root.each(func(n *node, e *entry) {
		if e.kind == absent && e.has(fInTree) && e.has(fSkip) {
			out = append(out, join(n.path(), e.name))
		}
	})
	slices.Sort(out)
	return out
}

// stagedBlobs gives the ids of staged files that the tree does not hold where
// they are staged.
func (s *Scanner) stagedBlobs() []string {
	var out []string
	for _, ie := range s.table.staged {
		if ie.Mode == 0 || ie.Mode == modeGitlink {
			continue
		}
		e := s.table.root.lookup(ie.Path)
		if e == nil || !e.has(fInTree) || e.id != parseOID(ie.ID) {
			out = append(out, ie.ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rules are the ignore rules that the tree does not hold.
func (p *pass) rules() snapshot.Rules {
	r := p.outside.Content
	var paths []string
	for _, at := range p.ruleFiles {
		if e := at.at.find(at.name); e != nil && !e.has(fInTree) {
			paths = append(paths, at.path)
		}
	}
	r.Files = rules.ReadFiles(p.s.repo.Worktree, paths)
	return r
}
