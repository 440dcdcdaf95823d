package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/blob"
)

// Gate decides about files that name a filter. Where its programs may not run,
// or nobody has said what they are, what is on disk is not what belongs in the
// store: it may be the clear text of something that is stored encrypted.
type Gate struct {
	Repo     *git.Repo
	Filters  git.Filters
	FileMode bool // the file system's executable bits are meant (core.fileMode)
}

// Guarded is a regular file that may be stored.
type Guarded struct {
	Path  string
	Index git.Entry   // what the user's index has; Mode 0: nothing that is of use
	Perm  os.FileMode // its permission bits on disk
	Size  int64       // bytes on disk
	Blind bool        // git was told not to look at it: only its bytes can prove it the same
}

// Verdict says what becomes of a file that names a filter.
type Verdict struct {
	Filter string    // its name; its programs may run, so the file is stored through them
	Same   git.Entry // else: the file is as the user's index has it, and this is its entry
	Bytes  bool      // with Same: the file has the very bytes of that entry
}

// LeftOut tells whether the file is not stored.
func (v Verdict) LeftOut() bool { return v.Filter == "" && v.Same.Mode == 0 }

// Judge gives a verdict for those of files that name a filter.
func (g Gate) Judge(ctx context.Context, files []Guarded) (map[string]Verdict, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	named, err := g.Repo.FiltersOf(ctx, "", paths)
	if err != nil || len(named) == 0 {
		return nil, err
	}
	verdicts := make(map[string]Verdict, len(named))
	var closed []Guarded
	for _, f := range files {
		name := named[f.Path]
		switch {
		case name == "":
		case g.Filters.Usable(name):
			verdicts[f.Path] = Verdict{Filter: name}
		default:
			verdicts[f.Path] = Verdict{}
			if f.Index.Mode == git.ModeFile || f.Index.Mode == git.ModeExec {
				closed = append(closed, f)
			}
		}
	}
	return verdicts, g.findSame(ctx, closed, verdicts)
}

// findSame finds those of files that hold what the index has for them: by their
// bytes, or because git, which filters nothing here, sees no change.
func (g Gate) findSame(ctx context.Context, files []Guarded, verdicts map[string]Verdict) error {
	var unlike []Guarded
	for _, f := range files {
		same, err := g.holds(f)
		if err != nil {
			return err
		}
		if same {
			verdicts[f.Path] = Verdict{Same: g.entry(f), Bytes: true}
			continue
		}
		if !f.Blind {
			unlike = append(unlike, f)
		}
	}
	if len(unlike) == 0 {
		return nil
	}
	changed, err := g.changed(ctx, unlike)
	if err != nil {
		return err
	}
	for _, f := range unlike {
		if !changed[f.Path] {
			verdicts[f.Path] = Verdict{Same: g.entry(f)}
		}
	}
	return nil
}

// manyArguments is up to how many paths are named on a command line.
const manyArguments = 100

func (g Gate) changed(ctx context.Context, files []Guarded) (map[string]bool, error) {
	var only []string
	if len(files) <= manyArguments {
		for _, f := range files {
			only = append(only, f.Path)
		}
	}
	dirty, err := g.Repo.Through(g.Filters).DirtyTracked(ctx, only...)
	if err != nil {
		return nil, err
	}
	set := make(map[string]bool, len(dirty))
	for _, path := range dirty {
		set[path] = true
	}
	return set, nil
}

// Same gives the index's entry for a file whose filter failed, where the file has
// the very bytes of that entry: then none is needed. Mode 0: it has not.
func (g Gate) Same(f Guarded) (git.Entry, error) {
	if f.Index.Mode != git.ModeFile && f.Index.Mode != git.ModeExec {
		return git.Entry{}, nil
	}
	same, err := g.holds(f)
	if err != nil || !same {
		return git.Entry{}, err
	}
	return g.entry(f), nil
}

// holds tells whether the bytes of f on disk are those of its blob in the index.
func (g Gate) holds(f Guarded) (bool, error) {
	file, err := os.Open(filepath.Join(g.Repo.Worktree, f.Path))
	if err != nil {
		return false, nil // it went, or cannot be read: then it is not known to be the same
	}
	defer func() { _ = file.Close() }()
	id, err := blob.ID(g.Repo.IDLen, file, f.Size)
	if err != nil {
		return false, fmt.Errorf("read %q: %w", f.Path, err)
	}
	return id == f.Index.ID, nil
}

// entry is the index's entry for f with the executable bit that the file has.
func (g Gate) entry(f Guarded) git.Entry { return g.EntryOf(f, f.Index.ID) }

// EntryOf is the entry of f with the blob id: with the executable bit that the file
// has or, where that is not meant, the index's entry has.
func (g Gate) EntryOf(f Guarded, id string) git.Entry {
	e := git.Entry{Path: f.Path, Mode: git.ModeFile, ID: id}
	if g.FileMode && f.Perm&0o100 != 0 || !g.FileMode && f.Index.Mode == git.ModeExec {
		e.Mode = git.ModeExec
	}
	return e
}
