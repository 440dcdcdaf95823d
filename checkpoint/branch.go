package checkpoint

import (
	"context"

	"github.com/turnback/turnback/checkpoint/branch"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
)

// Branch makes a branch with a new commit that has n's tree, n's HEAD as its
// only parent, the user's identity, and n's label as its message. Nothing of
// ours goes with it.
func (s *Store) Branch(ctx context.Context, pane string, n int, name string) (commit string, err error) {
	if err := checkPane(pane); err != nil {
		return "", err
	}
	h, err := record.Read(ctx, s.repo, pane)
	if err != nil {
		return "", fail.From(err)
	}
	c, err := h.Sound(n)
	if err != nil {
		return "", err
	}
	return branch.Make(ctx, s.repo, *c, name)
}
