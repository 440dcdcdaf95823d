package plan

import (
	"context"
	"slices"

	"github.com/turnback/turnback/internal/git"
)

// addWithout fits changes to the files that one of the two sides has in its tree and
// not on disk, because git was told to do without them: the tree has them as the
// index, or HEAD, has them.
func (s *Planner) addWithout(ctx context.Context, l From, to Target, changes []git.Change) ([]git.Change, error) {
	if l.Disk.Without == nil || to.Disk.Without == nil || to.Own != nil || len(l.Disk.Without)+len(to.Disk.Without) == 0 {
		return changes, nil
	}
	gone, goes := setOf(l.Disk.Without), setOf(to.Disk.Without)
	known := make(map[string]bool, len(changes))
	var out []git.Change
	for _, c := range changes {
		known[c.Path] = true
		if gone[c.Path] {
			c.OldMode, c.OldID = 0, ""
		}
		if goes[c.Path] {
			c.NewMode, c.NewID = 0, ""
		}
		if c.OldMode != 0 || c.NewMode != 0 {
			out = append(out, c)
		}
	}
	for _, side := range []struct {
		tree   string
		paths  []string
		there  map[string]bool
		change func(e git.Entry) git.Change
	}{
		{l.Tree, to.Disk.Without, gone, func(e git.Entry) git.Change {
			return git.Change{Path: e.Path, OldMode: e.Mode, OldID: e.ID}
		}},
		{to.Tree, l.Disk.Without, goes, func(e git.Entry) git.Change {
			return git.Change{Path: e.Path, NewMode: e.Mode, NewID: e.ID}
		}},
	} {
		paths := slices.DeleteFunc(slices.Clone(side.paths), func(path string) bool { return known[path] || side.there[path] })
		found, err := s.Repo.LookUp(ctx, side.tree, paths)
		if err != nil {
			return nil, AsDamaged(to, err)
		}
		for _, path := range paths {
			if e, ok := found[path]; ok && e.Mode != git.ModeTree {
				e.Path = path
				out = append(out, side.change(e))
			}
		}
	}
	return out, nil
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, path := range list {
		set[path] = true
	}
	return set
}
