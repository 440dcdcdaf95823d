package plan

import (
	"context"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// skipUnseen names, as skipped, the places of which l's tree has what git knows
// and not what stands there, where the target has the same: the two trees do not
// tell that the files differ, and what stands there cannot be saved.
func (s *Planner) skipUnseen(ctx context.Context, p *Plan, l From, to Target, paths []string, changes []git.Change) error {
	changed := make(map[string]bool, len(changes))
	for _, c := range changes {
		changed[c.Path] = true
	}
	var unseen []string
	for _, left := range l.LeftOut {
		switch left.Reason {
		case snapshot.NotRegular, snapshot.Unreadable, snapshot.Filter:
			if !changed[left.Path] && p.leftThen.At(left.Path) == "" && Wanted(left.Path, paths) {
				unseen = append(unseen, left.Path)
			}
		}
	}
	if len(unseen) == 0 {
		return nil
	}
	held, err := s.Repo.PathsOf(ctx, to.Tree, unseen)
	for _, path := range unseen {
		if held[path] {
			p.Skipped = append(p.Skipped, path)
		}
	}
	return err
}
