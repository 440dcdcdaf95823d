package git

import (
	"context"
	"fmt"
	"strconv"
)

// DiskUsage is how many bytes of the object store are held by the refs below
// prefixes and by nothing else: by no ref that is not below ours (a prefix too),
// no HEAD, reflog or index of any work tree. Objects in a pack count as they are
// packed.
func (r *Repo) DiskUsage(ctx context.Context, prefixes []string, ours string) (int64, error) {
	args := []string{"rev-list", "--objects", "--disk-usage"}
	for _, p := range prefixes {
		args = append(args, "--glob="+p+"*")
	}
	args = append(args, "--not", "--exclude="+ours+"*", "--all", "--reflog", "--indexed-objects")
	out, err := r.line(ctx, call{dir: r.Worktree, args: args})
	if err != nil {
		return 0, fmt.Errorf("measure objects: %w", err)
	}
	n, err := strconv.ParseInt(out, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("measure objects: unexpected answer %.80q", out)
	}
	return n, nil
}
