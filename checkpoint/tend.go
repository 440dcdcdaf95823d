package checkpoint

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/lfs"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/tidy"
)

// Tend does what can wait until nothing else is to be done in the work tree. It
// makes way for a save or a restore of this store that comes meanwhile, and for
// other processes; what it did not get to is done the next time. It may be called
// often: where nothing is due it costs a stat. An error says what is amiss, and
// leaves everything as it was.
func (s *Store) Tend(ctx context.Context) error {
	ctx, end := s.tending.Begin(ctx)
	defer end()
	_, err := s.Retain(ctx)
	if err == nil {
		err = lfs.LetGoNowAndThen(ctx, s.repo, s.now())
	}
	if err == nil {
		err = s.table.ReadUnread(ctx)
	}
	if err == nil {
		err = s.tidier().Tidy(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return fail.From(err)
}

// TendPiled is Tend for a process that ends soon: it does what has piled up over many
// saves. Where nothing has, it costs a few stats.
func (s *Store) TendPiled(ctx context.Context) error {
	ctx, end := s.tending.Begin(ctx)
	defer end()
	_, err := s.Retain(ctx)
	if err == nil {
		err = lfs.LetGoNowAndThen(ctx, s.repo, s.now())
	}
	if err == nil {
		t := s.tidier()
		t.Least = tidy.JoinFrom
		err = t.Tidy(ctx)
	}
	return fail.From(err)
}

func (s *Store) tidier() *tidy.Tidier {
	return &tidy.Tidier{Repo: s.repo, Dir: filepath.Join(s.repo.CommonDir, "turnback"), Refs: record.Root, Now: s.now}
}
