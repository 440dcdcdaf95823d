package checkpoint

import (
	"context"
	"errors"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/internal/git"
)

// besideOf gathers what is to be kept beside the work tree in l.
func (s *Store) besideOf(l *looked) beside.Content {
	return beside.Content{LeftOut: l.made.LeftOut, LFS: l.lfs}
}

// writeBeside stores what is kept beside a checkpoint and returns its commit;
// empty: there is nothing to keep.
func (s *Store) writeBeside(ctx context.Context, c beside.Content) (string, error) {
	parts := c.Parts()
	if len(parts) == 0 {
		return "", nil
	}
	entries := make([]git.Entry, 0, len(parts))
	for _, p := range parts {
		e := git.Entry{Path: p.Name, Mode: git.ModeTree, ID: p.Tree}
		if p.Tree == "" {
			id, err := s.repo.WriteBlob(ctx, p.Data)
			if err != nil {
				return "", err
			}
			e.Mode, e.ID = git.ModeFile, id
		}
		entries = append(entries, e)
	}
	w, err := s.repo.WriteTrees(ctx)
	if err != nil {
		return "", err
	}
	tree, err := w.Write(entries)
	if err := errors.Join(err, w.Close()); err != nil {
		return "", err
	}
	return s.wrap(ctx, tree, "kept beside a checkpoint\n")
}

// besideLeftOut is the entry of the complete list of left-out paths.
const besideLeftOut = "left-out"
