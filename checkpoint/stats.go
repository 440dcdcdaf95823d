package checkpoint

import (
	"context"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/usage"
)

// What checkpoints cost on the disk; see package usage.
type (
	Stats     = usage.Stats
	PaneStats = usage.PaneStats
)

// Stats measures the repository's checkpoints. It asks git once for each pane.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	panes, err := s.ListAll(ctx)
	if err != nil {
		return Stats{}, err
	}
	st, err := usage.Measure(ctx, s.repo, panes)
	return st, fail.From(err)
}
