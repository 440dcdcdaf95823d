package checkpoint

import (
	"context"
	"fmt"

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
	c, err := h.Find(n)
	if err != nil {
		return "", err
	}
	if c.Damaged != "" {
		return "", fail.Broken(n, c.Damaged)
	}
	message := c.Label
	if message == "" {
		message = fmt.Sprintf("checkpoint %d", n)
	}
	if commit, err = s.repo.CommitAsUser(ctx, c.Tree, c.Head, message+"\n"); err != nil {
		return "", fail.From(err)
	}
	if err := s.repo.Branch(ctx, name, commit); err != nil {
		return "", branchError(name, err)
	}
	return commit, nil
}

func branchError(name string, err error) error {
	switch {
	case fail.IsBadPath(err):
		return &Error{Code: InvalidParams, Message: fmt.Sprintf("%q is not a valid name for a branch", name), Err: err}
	case fail.IsRefMoved(err):
		return &Error{Code: InvalidParams, Message: fmt.Sprintf("there is a branch %q already, or one that stands in its way", name), Detail: "choose another name", Err: err}
	}
	return fail.From(err)
}
