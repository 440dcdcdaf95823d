package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/snapshot"
)

// target is a tree to go to.
type target struct {
	tree    string
	name    string    // "checkpoint 2", "the base of turn 3"
	n       int       // the checkpoint's number; 0: none
	head    string    // HEAD when it was taken; empty: not known
	leftOut []LeftOut // what the tree could not hold
}

// plan is what going from the work tree to a target means.
type plan struct {
	ops     []restore.Op
	kept    []string     // would be removed, but the target could not have known them
	skipped []string     // submodules and what the target left out
	run     *restore.Run // looks at the work tree
	include []string     // left out of the work tree's own tree, but about to be changed

	leftThen snapshot.Reasons // what the target left out
	leftNow  snapshot.Reasons // what the work tree's own tree left out
}

func reasonsOf(list []LeftOut) snapshot.Reasons {
	r := make(snapshot.Reasons, len(list))
	for _, l := range list {
		r[l.Path] = l.Reason
	}
	return r
}

// makePlan compares the work tree in l with to, at paths (empty: everywhere). It
// returns an error for what must not be done, and changes nothing.
func (s *Store) makePlan(ctx context.Context, l *looked, to target, paths []string) (*plan, error) {
	changes, err := s.repo.ChangedEntries(ctx, l.made.Tree, to.tree)
	if err != nil {
		return nil, s.asDamaged(to, err)
	}
	if err := s.checkMeant(ctx, l, to, paths, changes); err != nil {
		return nil, err
	}
	p := &plan{leftThen: reasonsOf(to.leftOut)}
	for _, c := range changes {
		if wanted(c.Path, paths) {
			p.sort(c)
		}
	}
	if err := restore.CheckOps(p.ops); err != nil {
		return nil, damagedTarget(to, err.Error())
	}
	if err := s.haveObjects(ctx, p, to); err != nil {
		return nil, err
	}
	if err := s.keepUnknown(ctx, l, p, to, changes); err != nil {
		return nil, err
	}
	if err := s.dropDone(ctx, p); err != nil {
		return nil, err
	}
	if err := s.checkWay(l, p); err != nil {
		return nil, err
	}
	return p, nil
}

// dropDone fits p to what the work tree's own tree does not tell. Files that are
// on disk as they should be, though git ignores them now, need nothing. Files that
// the tree has but the disk has not (git was told to do without them) are not
// expected there.
func (s *Store) dropDone(ctx context.Context, p *plan) error {
	var err error
	if p.run, err = s.lookingRun(ctx); err != nil {
		return err
	}
	var kept []restore.Op
	for _, op := range p.ops {
		st, above, err := restore.Stands(s.repo.Worktree, op.Path)
		if err != nil {
			return err
		}
		if st == nil && above == "" {
			op.Old = restore.File{}
		}
		there := false
		if op.Old.Absent() {
			if there, err = p.run.Holds(ctx, op.Path, op.New); err != nil {
				return err
			}
		}
		if !there {
			kept = append(kept, op)
		}
	}
	p.ops = kept
	return nil
}

// checkMeant refuses a path that is in neither tree: it is mistyped.
func (s *Store) checkMeant(ctx context.Context, l *looked, to target, paths []string, changes []git.Change) error {
	for _, p := range paths {
		p = strings.TrimSuffix(p, "/")
		if slices.ContainsFunc(changes, func(c git.Change) bool { return under(c.Path, p) }) {
			continue
		}
		known, err := s.repo.HasPath(ctx, l.made.Tree, p)
		if err == nil && !known {
			known, err = s.repo.HasPath(ctx, to.tree, p)
		}
		if err != nil {
			return err
		}
		if !known {
			return &Error{
				Code: InvalidParams, Message: fmt.Sprintf("neither %s nor the work tree has %q", to.name, p), Paths: []string{p},
				Detail: "paths are relative to the root of the work tree", Command: fmt.Sprintf("checkpoint diff %d --worktree --stat", to.n),
			}
		}
	}
	return nil
}

func wanted(file string, paths []string) bool {
	if len(paths) == 0 {
		return true
	}
	return slices.ContainsFunc(paths, func(p string) bool { return under(file, strings.TrimSuffix(p, "/")) })
}

// under tells whether file is dir or lies below it.
func under(file, dir string) bool {
	return file == dir || strings.HasPrefix(file, dir+"/")
}

// sort makes an op of c, or skips it.
func (p *plan) sort(c git.Change) {
	if p.leftThen.At(c.Path) != "" ||
		c.NewMode == git.ModeGitlink || c.OldMode == git.ModeGitlink && c.NewMode == 0 {
		p.skipped = append(p.skipped, c.Path)
		return
	}
	op := restore.Op{Path: c.Path, Old: restore.File{Mode: c.OldMode, ID: c.OldID}, New: restore.File{Mode: c.NewMode, ID: c.NewID}}
	if c.OldMode == 0 {
		op.Old = restore.File{}
	}
	if c.NewMode == 0 {
		op.New = restore.File{}
	}
	p.ops = append(p.ops, op)
}

func damagedTarget(to target, why string) error {
	if to.n > 0 {
		return damaged(to.n, why)
	}
	return &Error{Code: Damaged, Message: to.name + " is damaged: " + why, Command: "checkpoint list"}
}

func (s *Store) asDamaged(to target, err error) error {
	var ge *git.Error
	if errors.As(err, &ge) && ge.Code == 128 && !git.Stalled(err) {
		return damagedTarget(to, err.Error())
	}
	return err
}

// haveObjects refuses when content that would be written is not in the store.
func (s *Store) haveObjects(ctx context.Context, p *plan, to target) error {
	var ids []string
	where := map[string]string{}
	for _, op := range p.ops {
		if !op.New.Absent() {
			ids = append(ids, op.New.ID)
			where[op.New.ID] = op.Path
		}
	}
	missing, err := s.repo.Missing(ctx, ids)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return damagedTarget(to, fmt.Sprintf("object %s of %q is missing", missing[0], where[missing[0]]))
	}
	return nil
}

// keepUnknown takes the removals out of p that the target could not have known:
// files that its own ignore rules ignore and that are not tracked.
func (s *Store) keepUnknown(ctx context.Context, l *looked, p *plan, to target, changes []git.Change) error {
	var gone []string
	for _, op := range p.ops {
		if op.New.Absent() {
			gone = append(gone, op.Path)
		}
	}
	// Rules count wherever they are, also outside the paths that are restored.
	rules := slices.ContainsFunc(changes, func(c git.Change) bool { return path.Base(c.Path) == ".gitignore" })
	if len(gone) == 0 || !rules {
		return nil
	}
	ignored, err := s.repo.IgnoredByTree(ctx, s.dir, to.tree, gone)
	if err == nil {
		err = s.exceptTracked(ctx, l, to, ignored)
	}
	if err != nil {
		return err
	}
	placed := p.places()
	p.ops = slices.DeleteFunc(p.ops, func(op restore.Op) bool {
		if op.New.Absent() && ignored[op.Path] && !placed(op.Path) {
			p.kept = append(p.kept, op.Path)
			return true
		}
		return false
	})
	return nil
}

// places gives a function that tells whether the target has something at a path
// at which another kind of thing stands, above or below it: then it had no file
// there, ignored or not.
func (p *plan) places() func(file string) bool {
	files, folders := map[string]bool{}, map[string]bool{}
	for _, op := range p.ops {
		if op.New.Absent() {
			continue
		}
		files[op.Path] = true
		for i := range op.Path {
			if op.Path[i] == '/' {
				folders[op.Path[:i]] = true
			}
		}
	}
	return func(file string) bool { return folders[file] || restore.BelowAny(file, files) }
}

// exceptTracked takes the paths out of a set that are tracked, and were in HEAD
// when the target was taken: ignore rules do not count for those.
func (s *Store) exceptTracked(ctx context.Context, l *looked, to target, ignored map[string]bool) error {
	if len(ignored) == 0 {
		return nil
	}
	tracked, _, err := s.repo.TrackedEntries(ctx, l.head)
	if err != nil {
		return err
	}
	if to.head == "" {
		return nil
	}
	missing, err := s.repo.Missing(ctx, []string{to.head})
	if err != nil || len(missing) > 0 {
		return err
	}
	then, err := s.repo.TreeEntries(ctx, to.head)
	if err != nil {
		return err
	}
	inHead := make(map[string]bool, len(then))
	for _, e := range then {
		inHead[e.Path] = true
	}
	for _, e := range tracked {
		if inHead[e.Path] {
			delete(ignored, e.Path)
		}
	}
	return nil
}

// checkWay refuses where something that no checkpoint holds stands in the way.
func (s *Store) checkWay(l *looked, p *plan) error {
	var blocked, ignored []string
	p.leftNow = snapshot.ByPath(l.made.LeftOut)
	ours := map[string]bool{} // paths of which the safety checkpoint has the content
	for _, op := range p.ops {
		if !op.Old.Absent() {
			ours[op.Path] = true
		}
	}
	for _, op := range p.ops {
		if left := p.leftNow.At(op.Path); left != "" {
			switch left {
			case snapshot.TooLarge, snapshot.TooMuchNew:
				p.include = append(p.include, op.Path)
			default:
				blocked = append(blocked, op.Path)
			}
			continue
		}
		if op.New.Absent() || !op.Old.Absent() {
			continue
		}
		found, err := restore.InTheWay(s.repo.Worktree, op.Path, ours, maxNamed)
		if err != nil {
			return err
		}
		ignored = append(ignored, found...)
	}
	ignored = slices.DeleteFunc(ignored, func(f string) bool {
		switch p.leftNow.At(f) {
		case snapshot.TooLarge, snapshot.TooMuchNew:
			p.include = append(p.include, f)
			return true
		}
		return false
	})
	slices.Sort(blocked)
	switch {
	case len(blocked) > 0:
		return wouldOverwrite(blocked, "these are unreadable, nested repositories or no regular files, so no checkpoint holds them; move them out of the way, then restore again")
	case len(ignored) > 0:
		slices.Sort(ignored)
		return wouldOverwrite(slices.Compact(ignored), "no checkpoint holds these (git ignores them, or the restore leaves them alone); move them out of the way, then restore again")
	}
	return nil
}

func wouldOverwrite(paths []string, detail string) error {
	return &Error{
		Code: WouldOverwrite, Message: "the restore would write over " + quoted(paths),
		Detail: detail, Paths: paths,
	}
}
