package checkpoint

import (
	"context"
	"strings"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/kept"
	"github.com/turnback/turnback/checkpoint/purge"
)

// What is to leave all checkpoints, and what became of it; see package purge.
type (
	PurgeRequest = purge.Request
	PurgeResult  = purge.Outcome
)

// Purge takes a path out of all checkpoints of the repository, of all panes and in
// the trash, out of what is kept beside them and of the bases of turns. Numbers,
// labels and times stay; a restore leaves the path alone from then on. A damaged
// checkpoint whose tree holds the path is dropped. Objects stay until git's gc,
// unless Now is set.
func (s *Store) Purge(ctx context.Context, r PurgeRequest) (res PurgeResult, err error) {
	r.Path = strings.TrimSuffix(r.Path, "/")
	if err := fail.CheckPaths([]string{r.Path}); err != nil {
		return res, err
	}
	p := &purge.Purger{
		Repo: s.repo, Dir: s.dir, Now: s.now, Write: s.writeContent, Update: s.updateRefs,
		Read: func(ctx context.Context, c Checkpoint, commit string) (beside.Content, error) {
			return kept.ReadAll(ctx, s.repo, c.N, commit, c.Looked)
		},
	}
	err = s.lockedAll(ctx, func() error {
		s.lastBeside = writtenBeside{}
		res, err = p.Run(ctx, r)
		return err
	})
	return res, err
}
