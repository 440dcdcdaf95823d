package checkpoint

import (
	"context"
	"fmt"
	"slices"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/lfs"
	"github.com/turnback/turnback/internal/git"
)

// Driver is a filter: the programs that git runs on the content of files that
// name it.
type Driver = git.Driver

// Filter is a driver with its leave to run.
type Filter = git.Filter

// TrustBook remembers, outside of any repository, which drivers of a
// repository's own configuration may run. A driver is trusted by its whole
// content: one whose programs change is another.
type TrustBook interface {
	Trusts(commonDir string, d Driver) bool
	Set(commonDir string, drivers []Driver) error
	Remove(commonDir string) (had bool, err error)
}

// trusted tells whether a driver of the repository's own configuration may run.
func (s *Store) trusted(d git.Driver) bool {
	return s.trust != nil && s.trust.Trusts(s.repo.CommonDir, d)
}

// Filters lists the filters that git's configuration defines for this work tree,
// by name. Of those whose programs the repository's own configuration sets
// (scope local or worktree), only trusted ones run; files that name another keep
// the index's entry, and are left out once they change.
func (s *Store) Filters(ctx context.Context) ([]Filter, error) {
	config, err := s.repo.Config(ctx, git.FilterPattern)
	if err != nil {
		return nil, fail.From(err)
	}
	return config.Filters(s.trusted).Sorted(), nil
}

// TrustFilters lets the filters in shown run in this repository, and no others
// of its own configuration. They are those that a person was shown: it fails with
// ChangedMeanwhile when the configuration has another of the same name by now.
func (s *Store) TrustFilters(ctx context.Context, shown []Driver) error {
	if s.trust == nil {
		return &Error{Code: GitFailed, Message: "there is no place to remember what is trusted"}
	}
	now, err := s.Filters(ctx)
	if err != nil {
		return err
	}
	for _, d := range shown {
		if !slices.ContainsFunc(now, func(f Filter) bool { return f.Driver == d }) {
			return &Error{
				Code: ChangedMeanwhile, Message: fmt.Sprintf("filter %q is no longer what was shown; nothing is trusted", d.Name),
				Detail: "look at it again, then decide",
			}
		}
	}
	return fail.From(s.trust.Set(s.repo.CommonDir, shown))
}

// SweepLFS lets go of kept LFS content that no checkpoint of the repository needs
// any more. It returns the bytes that were freed.
func (s *Store) SweepLFS(ctx context.Context) (int64, error) {
	freed, err := lfs.LetGo(ctx, s.repo, s.now())
	return freed, fail.From(err)
}

// Distrust takes back all that was trusted in this repository; it tells whether
// anything was.
func (s *Store) Distrust() (bool, error) {
	if s.trust == nil {
		return false, nil
	}
	had, err := s.trust.Remove(s.repo.CommonDir)
	return had, fail.From(err)
}
