package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// Staged gives the edits that make the user's index, which now is what the work
// tree was looked at with, what it was when c was taken, at paths (empty:
// everywhere). Either index is nil where it is not known: that is an error.
func (s *Planner) Staged(ctx context.Context, c record.Checkpoint, then, now *snapshot.Index, paths []string) ([]git.IndexEdit, error) {
	if then == nil {
		return nil, &fail.Error{Code: fail.InvalidParams, Message: fmt.Sprintf("checkpoint %d does not know the index: there was none that could be read", c.N), Command: "checkpoint list"}
	}
	if now == nil {
		return nil, &fail.Error{
			Code: fail.GitFailed, Message: "the index is not there, or git cannot read it, so the safety checkpoint could not hold it; nothing was restored",
			Detail: "move .git/index out of the way and run git reset, then run the command again",
		}
	}
	entries, err := s.Repo.IndexEntries(ctx, "")
	if err != nil {
		return nil, err
	}
	head := c.Head
	if head != "" {
		head += "^{tree}"
	}
	staged, err := s.Repo.Staged(ctx, head)
	if err != nil {
		return nil, AsDamaged(Target{N: c.N, Name: fmt.Sprintf("checkpoint %d", c.N)}, err)
	}
	edits := editsOf(byPath(then.Entries), byPath(staged.Of(entries)), staged.Old())
	edits = slices.DeleteFunc(edits, func(e git.IndexEdit) bool { return !Wanted(e.Path, paths) })
	return edits, s.haveStaged(ctx, c, edits)
}

// haveStaged refuses when content that was staged is not in the store.
func (s *Planner) haveStaged(ctx context.Context, c record.Checkpoint, edits []git.IndexEdit) error {
	where := map[string]string{}
	var ids []string
	for _, edit := range edits {
		for _, e := range edit.Entries {
			if e.Mode != git.ModeGitlink && where[e.ID] == "" {
				where[e.ID] = e.Path
				ids = append(ids, e.ID)
			}
		}
	}
	missing, err := s.Repo.Missing(ctx, ids)
	if err == nil && len(missing) > 0 {
		err = fail.Broken(c.N, fmt.Sprintf("object %s, which was staged as %q, is missing", missing[0], where[missing[0]]))
	}
	return err
}

func byPath(entries []git.IndexEntry) map[string][]git.IndexEntry {
	m := map[string][]git.IndexEntry{}
	for _, e := range entries {
		list := m[e.Path]
		if e.Mode != 0 {
			list = append(list, e)
		}
		m[e.Path] = list
	}
	return m
}

// editsOf gives what leads from the index of now to that of then. Both are told by
// where they differ from the same tree; old is what that has where now differs.
func editsOf(then, now map[string][]git.IndexEntry, old map[string]git.Entry) []git.IndexEdit {
	var edits []git.IndexEdit
	for path, want := range then {
		have, differs := now[path]
		if !differs || !sameEntries(have, want) {
			edits = append(edits, git.IndexEdit{Path: path, Entries: want})
		}
	}
	for path, have := range now {
		if _, ok := then[path]; ok {
			continue
		}
		edit := git.IndexEdit{Path: path}
		if entry, ok := old[path]; ok {
			e := git.IndexEntry{Entry: entry}
			e.SkipWorktree = len(have) == 1 && have[0].SkipWorktree // the file is not there, and git does without it
			edit.Entries = []git.IndexEntry{e}
		}
		edits = append(edits, edit)
	}
	slices.SortFunc(edits, func(a, b git.IndexEdit) int { return strings.Compare(a.Path, b.Path) })
	return edits
}

// sameEntries compares entries of one path. That git does without a file is known
// only while it is not there, so it does not count.
func sameEntries(a, b []git.IndexEntry) bool {
	return slices.EqualFunc(a, b, func(a, b git.IndexEntry) bool {
		return a.Entry == b.Entry && a.Stage == b.Stage && a.IntentToAdd == b.IntentToAdd && a.AssumeSame == b.AssumeSame
	})
}
