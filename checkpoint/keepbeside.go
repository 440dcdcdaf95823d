package checkpoint

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/kept"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// besideOf gathers what is to be kept beside the work tree in l. Nothing is said of
// folders and files whose names no tree may hold: their files are left out.
func besideOf(l *looked) beside.Content {
	folders := slices.DeleteFunc(append([]string{}, l.made.Folders...), func(dir string) bool { return git.CheckPath(dir) != nil })
	modes := l.made.Modes
	if modes != nil {
		named := *modes
		named.Odd = slices.DeleteFunc(slices.Clone(modes.Odd), func(m snapshot.Mode) bool { return git.CheckPath(m.Path) != nil })
		modes = &named
	}
	return beside.Content{LeftOut: l.made.LeftOut, Bytes: l.made.Bytes, LFS: l.lfs, Overwritten: l.overwritten, Made: l.files, Taken: l.taken, Disk: beside.Disk{
		Modes: modes, Folders: folders, Without: l.made.Without, Rules: &l.made.Rules, Index: l.made.Index,
	}}
}

// baseBeside is what is kept beside the base of a turn: what the files were. The
// turn's checkpoint has the rules.
func baseBeside(c beside.Content) beside.Content {
	c.Rules, c.Index = nil, nil
	return c
}

// diskOf is the digest of what was on disk and is not in the tree that was made.
func diskOf(made snapshot.Result) string {
	return record.JoinDisk((&beside.Disk{Modes: made.Modes, Folders: made.Folders, Without: made.Without}).Digest(), made.Bytes)
}

// writeBeside stores what is kept beside a checkpoint and returns its commit;
// empty: there is nothing to keep. Where a checkpoint of the pane has the very
// same, it is that one's.
func (s *Store) writeBeside(ctx context.Context, l *looked, c beside.Content) (string, error) {
	parts := c.Parts()
	if len(parts) == 0 {
		return "", nil
	}
	sum := beside.Sum(parts)
	last := s.lastBeside
	if last.sum == sum && slices.ContainsFunc(l.Checkpoints, func(c Checkpoint) bool { return c.Beside == last.commit }) {
		return last.commit, nil
	}
	if c.Index != nil { // as long as it takes, the user's index alone held what was staged
		gone, err := s.repo.Hold(ctx, c.Index.Blobs)
		if err != nil {
			return "", err
		}
		if len(gone) > 0 { // the entries stay: staging them again is refused by name
			index := *c.Index
			index.Blobs = slices.DeleteFunc(slices.Clone(index.Blobs), func(id string) bool { return slices.Contains(gone, id) })
			c.Index = &index
			parts = c.Parts()
		}
	}
	commit, err := kept.Write(ctx, s.repo, s.now(), parts)
	if err == nil {
		s.lastBeside = writtenBeside{sum: sum, commit: commit}
	}
	return commit, err
}

// writeContent stores c; empty: there is nothing to keep.
func (s *Store) writeContent(ctx context.Context, c beside.Content) (string, error) {
	return kept.Write(ctx, s.repo, s.now(), c.Parts())
}

// writtenBeside is what was kept beside a checkpoint last.
type writtenBeside struct {
	sum    [sha256.Size]byte
	commit string
}

// readBeside reads what is kept beside checkpoint n, by a commit (empty: nothing
// is). What the checkpoint says it looked for is known then.
func (s *Store) readBeside(ctx context.Context, n int, commit string, looked []string) (beside.Content, error) {
	return kept.Read(ctx, s.repo, n, commit, looked)
}

// NamedAll are the files that the tools of c's turn named, if turns of other
// panes were open at the same time.
func (s *Store) NamedAll(ctx context.Context, c Checkpoint) ([]string, error) {
	if c.NamedCount <= len(c.Named) {
		return c.Named, nil
	}
	kept, err := s.readBeside(ctx, c.N, c.Beside, nil)
	return kept.Named, err
}

// UncertainAll are the files that changed after the agent was let go, and before
// the work tree was seen for c.
func (s *Store) UncertainAll(ctx context.Context, c Checkpoint) ([]string, error) {
	if c.UncertainCount <= len(c.Uncertain) {
		return c.Uncertain, nil
	}
	kept, err := s.readBeside(ctx, c.N, c.Beside, nil)
	return kept.Uncertain, err
}
