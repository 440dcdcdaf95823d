package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/rules"
)

// Modes are the permission bits (at most 0o777: never setuid, setgid, sticky) of
// the files and folders of a work tree. Most have the usual bits of their class,
// so only the others are listed.
type Modes struct {
	File   uint32 // the usual bits of files that nobody may run
	Exec   uint32 // and of those that their owner may run
	Folder uint32
	Odd    []Mode // sorted by path
}

// Mode is the permission bits of one file or folder.
type Mode struct {
	Path string
	Perm uint32
}

// PlainModes are the bits that git itself gives, with the umask that most have.
func PlainModes() Modes { return Modes{File: 0o644, Exec: 0o755, Folder: 0o755} }

// Plain tells whether m says nothing that PlainModes does not.
func (m *Modes) Plain() bool {
	return m.File == 0o644 && m.Exec == 0o755 && m.Folder == 0o755 && len(m.Odd) == 0
}

// odd gives the bits of a listed path.
func (m *Modes) odd(path string) (uint32, bool) {
	i, ok := slices.BinarySearchFunc(m.Odd, path, func(o Mode, p string) int { return strings.Compare(o.Path, p) })
	if !ok {
		return 0, false
	}
	return m.Odd[i].Perm, true
}

// OfFile gives the bits of a regular file, which mode (as git has it) says more of.
func (m *Modes) OfFile(path string, mode uint32) uint32 {
	if perm, ok := m.odd(path); ok {
		return perm
	}
	if mode == git.ModeExec {
		return m.Exec
	}
	return m.File
}

// OfFolder gives the bits of a folder.
func (m *Modes) OfFolder(path string) uint32 {
	if perm, ok := m.odd(path); ok {
		return perm
	}
	return m.Folder
}

// Sort puts what is listed into order.
func (m *Modes) Sort() {
	slices.SortFunc(m.Odd, func(a, b Mode) int { return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Perm, b.Perm)) })
	m.Odd = slices.CompactFunc(m.Odd, func(a, b Mode) bool { return a.Path == b.Path })
}

// Rules are the ignore rules that the tree does not hold.
type Rules = rules.Rules

// Index is what the user's index has that HEAD has not, and the other way round.
type Index struct {
	// Entries are those that differ from HEAD's, sorted by path and stage. Mode 0:
	// HEAD has the path, the index has not.
	Entries []git.IndexEntry
	// Blobs are the ids of staged files that the tree does not hold.
	Blobs []string
}

// Deepest drops the folders of a list that another one lies below.
func Deepest(list []string) []string {
	above := map[string]bool{}
	for _, dir := range list {
		for i := range dir {
			if dir[i] == '/' {
				above[dir[:i]] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(dir string) bool { return above[dir] })
}
