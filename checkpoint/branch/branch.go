// Package branch makes a branch of a checkpoint that has nothing of ours in it.
package branch

import (
	"context"
	"fmt"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// Make makes the branch called name with a new commit: c's tree, c's HEAD as its
// only parent, the user's identity, c's label as its message.
func Make(ctx context.Context, repo *git.Repo, c record.Checkpoint, name string) (commit string, err error) {
	message := c.Label
	if message == "" {
		message = fmt.Sprintf("checkpoint %d", c.N)
	}
	if commit, err = repo.CommitAsUser(ctx, c.Tree, c.Head, message+"\n"); err != nil {
		return "", fail.From(err)
	}
	if err := repo.Branch(ctx, name, commit); err != nil {
		return "", branchError(name, err)
	}
	return commit, nil
}

func branchError(name string, err error) error {
	switch {
	case fail.IsBadPath(err):
		return &fail.Error{Code: fail.InvalidParams, Message: fmt.Sprintf("%q is not a valid name for a branch", name), Err: err}
	case fail.IsRefMoved(err):
		return &fail.Error{
			Code: fail.InvalidParams, Message: fmt.Sprintf("there is a branch %q already, or one that stands in its way", name),
			Detail: "choose another name", Err: err,
		}
	}
	return fail.From(err)
}
