package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Staged is what the user's index has that a tree has not, and the other way
// round.
type Staged struct {
	differ   []Change
	intended map[string]bool
}

// Staged compares the user's index with a tree (empty: with one without entries).
func (r *Repo) Staged(ctx context.Context, tree string) (Staged, error) {
	if tree == "" {
		tree = r.emptyTreeID()
	}
	changes, err := r.cachedAgainst(ctx, tree, "--ita-visible-in-index")
	if err != nil {
		return Staged{}, err
	}
	intended, err := r.intended(ctx, tree, changes)
	return Staged{differ: changes, intended: intended}, err
}

// Of picks those of entries, which are that index, that differ, sorted by path
// and stage. Mode 0: the tree has the path, the index has not. Paths that git
// would take into no index are left out: a broken one can have those.
func (s Staged) Of(entries []IndexEntry) []IndexEntry {
	if len(s.differ) == 0 {
		return nil
	}
	differ := make(map[string]bool, len(s.differ))
	for _, c := range s.differ {
		differ[c.Path] = CheckPath(c.Path) == nil
	}
	var out []IndexEntry
	there := map[string]bool{}
	for _, e := range entries {
		if differ[e.Path] {
			there[e.Path] = true
			e.IntentToAdd = s.intended[e.Path]
			out = append(out, e)
		}
	}
	for path, allowed := range differ {
		if allowed && !there[path] {
			out = append(out, IndexEntry{Entry: Entry{Path: path}})
		}
	}
	slices.SortFunc(out, func(a, b IndexEntry) int { return cmp.Or(strings.Compare(a.Path, b.Path), a.Stage-b.Stage) })
	return out
}

// cachedAgainst compares the user's index with a tree.
func (r *Repo) cachedAgainst(ctx context.Context, tree string, more ...string) ([]Change, error) {
	args := append([]string{"diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none"}, more...)
	out, err := r.output(ctx, call{dir: r.Worktree, args: append(args, tree)})
	if err != nil {
		return nil, fmt.Errorf("compare the index with HEAD: %w", err)
	}
	return parseRaw(splitNUL(out))
}

// intended names those of changes that the index has only as an intent to add.
// Git is asked only where one could be.
func (r *Repo) intended(ctx context.Context, tree string, changes []Change) (map[string]bool, error) {
	set := map[string]bool{}
	for _, c := range changes {
		if c.Status == 'A' && c.NewID == r.emptyBlobID() {
			set[c.Path] = true
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	added, err := r.cachedAgainst(ctx, tree, "--ita-invisible-in-index")
	if err != nil {
		return nil, err
	}
	for _, c := range added {
		delete(set, c.Path)
	}
	return set, nil
}

// emptyTreeID is the id of the tree without entries, which git knows without
// having it.
func (r *Repo) emptyTreeID() string {
	if r.IDLen == sha256.Size {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

// emptyBlobID is the id of a file without content.
func (r *Repo) emptyBlobID() string {
	if r.IDLen == sha256.Size {
		return "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	}
	return "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
}
