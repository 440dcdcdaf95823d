package plan

import (
	"fmt"
	"strings"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// CheckPlace refuses a checkpoint of another work tree or another branch than these,
// unless here says that it does not matter.
func CheckPlace(c record.Checkpoint, worktree string, head git.Head, here bool) error {
	switch {
	case here:
		return nil
	case c.Worktree != worktree:
		return &fail.Error{
			Code: fail.OtherWorktree, Message: fmt.Sprintf("checkpoint %d was taken in %s, not in %s", c.N, c.Worktree, worktree),
			Detail: "add --here to restore it here all the same", Paths: []string{c.Worktree}, Flags: []string{"--here"},
		}
	case c.Branch != head.Branch:
		return &fail.Error{
			Code: fail.HeadMoved, Message: fmt.Sprintf("checkpoint %d was taken on %s, HEAD is on %s now", c.N, branchName(c.Branch), branchName(head.Branch)),
			Detail: "switch back first, or add --here to restore the files all the same", Flags: []string{"--here"},
		}
	}
	return nil
}

func branchName(ref string) string {
	if ref == "" {
		return "no branch"
	}
	return "branch " + strings.TrimPrefix(ref, "refs/heads/")
}

// HeadHolds names the commit that a turn made and HEAD still has.
func HeadHolds(c record.Checkpoint, head git.Head) string {
	if c.Base == nil || c.Head == "" || c.Head == c.Base.Head || head.Commit != c.Head {
		return ""
	}
	return c.Head
}
