package git

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git/pack"

	"github.com/turnback/turnback/internal/git/rawdiff"
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
		tree = pack.IDOf(pack.Tree, nil, r.IDLen) // git knows it without having it
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
	return rawdiff.Parse(splitNUL(out))
}

// intended names those of changes that the index has only as an intent to add.
// Git is asked only where one could be.
func (r *Repo) intended(ctx context.Context, tree string, changes []Change) (map[string]bool, error) {
	set, emptyBlob := map[string]bool{}, pack.IDOf(pack.Blob, nil, r.IDLen)
	for _, c := range changes {
		if c.Status == 'A' && c.NewID == emptyBlob {
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
