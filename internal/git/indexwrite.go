package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Old gives what the tree that the index was compared with has at the paths at
// which they differ; paths that it has not are not in the result.
func (s Staged) Old() map[string]Entry {
	old := make(map[string]Entry, len(s.differ))
	for _, c := range s.differ {
		if c.OldMode != 0 {
			old[c.Path] = Entry{Path: c.Path, Mode: c.OldMode, ID: c.OldID}
		}
	}
	return old
}

// IndexEdit is what the index is to have at one path: no entry, one, or up to three
// in conflict.
type IndexEdit struct {
	Path    string
	Entries []IndexEntry
}

// EditIndex changes the index at path, which is a copy of the user's. The result
// names paths at which an intent to add could not be made: git makes none for a
// file that is not there.
func (r *Repo) EditIndex(ctx context.Context, path string, edits []IndexEdit) (lost []string, err error) {
	var gone, made strings.Builder
	var intended, skip, assume []string
	for _, e := range edits {
		fmt.Fprintf(&gone, "0 %s 0\t%s\x00", strings.Repeat("0", 2*r.IDLen), e.Path)
		for _, ie := range e.Entries {
			switch {
			case !ie.IntentToAdd:
				fmt.Fprintf(&made, "%o %s %d\t%s\x00", ie.Mode, ie.ID, ie.Stage, ie.Path)
			case r.stands(ie.Path):
				intended = append(intended, ie.Path)
			default:
				lost = append(lost, ie.Path)
				continue
			}
			if ie.SkipWorktree {
				skip = append(skip, ie.Path)
			}
			if ie.AssumeSame {
				assume = append(assume, ie.Path)
			}
		}
	}
	for _, step := range []struct {
		stdin string
		args  []string
	}{
		{gone.String(), []string{"update-index", "-z", "--index-info"}},
		{made.String(), []string{"update-index", "-z", "--index-info"}},
		{joinNUL(intended), []string{"add", "-N", "--force", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"}},
		{joinNUL(skip), []string{"update-index", "--skip-worktree", "-z", "--stdin"}},
		{joinNUL(assume), []string{"update-index", "--assume-unchanged", "-z", "--stdin"}},
	} {
		if step.stdin == "" {
			continue
		}
		err := r.git.stream(ctx, call{dir: r.Worktree, index: path, stdin: strings.NewReader(step.stdin), args: step.args}, nil)
		if err != nil {
			return nil, fmt.Errorf("edit the index: %w", err)
		}
	}
	return lost, nil
}

func (r *Repo) stands(path string) bool {
	st, err := os.Lstat(filepath.Join(r.Worktree, path))
	return err == nil && (st.Mode().IsRegular() || st.Mode()&fs.ModeSymlink != 0)
}
