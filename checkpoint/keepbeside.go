package checkpoint

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/fail"
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
	return beside.Content{LeftOut: l.made.LeftOut, Bytes: l.made.Bytes, LFS: l.lfs, Overwritten: l.overwritten, Made: l.files, Disk: beside.Disk{
		Modes: modes, Folders: folders, Rules: &l.made.Rules, Index: l.made.Index,
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
	return record.JoinDisk((&beside.Disk{Modes: made.Modes, Folders: made.Folders}).Digest(), made.Bytes)
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
	commit, err := s.writeParts(ctx, parts)
	if err == nil {
		s.lastBeside = writtenBeside{sum: sum, commit: commit}
	}
	return commit, err
}

// writeContent stores c; empty: there is nothing to keep.
func (s *Store) writeContent(ctx context.Context, c beside.Content) (string, error) {
	parts := c.Parts()
	if len(parts) == 0 {
		return "", nil
	}
	return s.writeParts(ctx, parts)
}

func (s *Store) writeParts(ctx context.Context, parts []beside.Part) (string, error) {
	entries := make([]git.Entry, 0, len(parts))
	for _, p := range parts {
		e, err := s.writePart(ctx, p)
		if err != nil {
			return "", err
		}
		entries = append(entries, e)
	}
	tree, err := s.writeTree(ctx, entries)
	if err != nil {
		return "", err
	}
	return s.wrap(ctx, tree, "kept beside a checkpoint\n")
}

// writtenBeside is what was kept beside a checkpoint last.
type writtenBeside struct {
	sum    [sha256.Size]byte
	commit string
}

func (s *Store) writePart(ctx context.Context, p beside.Part) (git.Entry, error) {
	e := git.Entry{Path: p.Name, Mode: git.ModeTree, ID: p.Tree}
	var err error
	switch {
	case p.Tree != "":
	case len(p.Blobs) > 0:
		blobs := make([]git.Entry, len(p.Blobs))
		for i, id := range p.Blobs {
			blobs[i] = git.Entry{Path: id, Mode: git.ModeFile, ID: id}
		}
		e.ID, err = s.writeTree(ctx, blobs)
	default:
		e.Mode = git.ModeFile
		e.ID, err = s.repo.WriteBlob(ctx, p.Data)
	}
	return e, err
}

func (s *Store) writeTree(ctx context.Context, entries []git.Entry) (string, error) {
	w, err := s.repo.WriteTrees(ctx)
	if err != nil {
		return "", err
	}
	tree, err := w.Write(entries)
	return tree, errors.Join(err, w.Close())
}

// readBeside reads what is kept beside checkpoint n, by a commit (empty: nothing
// is). What the checkpoint says it looked for is known then.
func (s *Store) readBeside(ctx context.Context, n int, commit string, looked []string) (beside.Content, error) {
	var c beside.Content
	if commit != "" {
		entries, err := s.repo.TreeTop(ctx, commit+"^{tree}")
		if err != nil {
			return c, fail.From(err)
		}
		c, err = beside.Decode(entries, func(id string) ([]byte, error) { return s.readBlob(ctx, id) })
		if errors.Is(err, beside.ErrMalformed) {
			return c, fail.Broken(n, err.Error())
		}
		if err != nil {
			return c, fail.From(err)
		}
	}
	c.Found(looked)
	return c, nil
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
