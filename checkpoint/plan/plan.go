// Package plan says what going from the files of a work tree to a checkpoint
// means: what is written, removed, kept and skipped, and why it may not be.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/snapshot"
)

// From is the work tree as it is now.
type From struct {
	Run      *restore.Run // one that can look, if there is one already
	Tree     string
	Bytes    string             // as snapshot.Result.Bytes
	Converts bool               // as snapshot.Result.Converts
	LeftOut  []snapshot.LeftOut // what its own tree could not hold
	Head     git.Head
	Disk     beside.Disk // what no tree can hold
}

// Target is a tree to go to.
type Target struct {
	Tree    string
	Bytes   Bytes
	Name    string           // "checkpoint 2", "the base of turn 3"
	N       int              // the checkpoint's number; 0: none
	Head    string           // HEAD when it was taken; empty: not known
	LeftOut []record.LeftOut // what the tree could not hold
	Disk    beside.Disk      // what no tree can hold
	Rules   string           // the tree whose ignore rules say what was known then; empty: Tree

	// Own are the files of whom Disk is to be restored, where Tree is the work tree's
	// but for some files; nil: all. With it, folders are none of the target's.
	Own map[string]bool
	// Merged are the files of Own whose text is of both sides.
	Merged map[string]bool
	// BytesOf is the tree that Bytes belong to; empty: Rules.
	BytesOf string

	Overwritten string        // a tree of files that git ignored, to be brought back; empty: none
	Made        []beside.Made // what was made since where nothing was
	Taken       []beside.Made // what was taken away since
	Overwrite   bool          // what git ignores may be written over
}

// Planner makes plans for one work tree.
type Planner struct {
	Repo *git.Repo
	Dir  string // a folder of our own, for files that git needs meanwhile

	// Trusted tells whether a filter that the repository's own configuration
	// defines may run; nil: none may.
	Trusted func(git.Driver) bool
}

// Plan is what going from the work tree to a target means.
type Plan struct {
	Ops     []restore.Op
	Folders []restore.Folder
	permNow func(folder string) uint32 // the bits that folders have
	Kept    []string                   // would be removed, but the target could not have known them
	Skipped []string                   // submodules and what the target left out
	Run     *restore.Run               // looks at the work tree
	// Overwritten are files that git ignores and that are written over, or that stand
	// in the way; before the ops are carried out, Keep has to store them.
	Overwritten []string
	Again       bool     // what the ops leave has to be seen: the trees do not tell
	Include     []string // left out of the work tree's own tree, but about to be changed

	made     map[string]bool  // was made by the restore that the target undoes
	leftThen snapshot.Reasons // what the target left out
	leftNow  snapshot.Reasons // what the work tree's own tree left out
}

func reasonsOf(list []record.LeftOut) snapshot.Reasons {
	r := make(snapshot.Reasons, len(list))
	for _, l := range list {
		r[l.Path] = l.Reason
	}
	return r
}

// Make compares the work tree in l with to, at paths (empty: everywhere). It
// returns an error for what must not be done, and changes nothing.
func (s *Planner) Make(ctx context.Context, l From, to Target, paths []string) (*Plan, error) {
	changes, err := s.Changed(ctx, l, to)
	if err != nil {
		return nil, err
	}
	changes, overwritten, err := s.addOverwritten(ctx, to, changes)
	if err != nil {
		return nil, err
	}
	if err := s.checkMeant(ctx, l, to, paths, changes); err != nil {
		return nil, err
	}
	if changes, err = s.addModes(ctx, l, to, changes); err != nil {
		return nil, err
	}
	if changes, err = s.addTaken(ctx, to, changes); err != nil {
		return nil, err
	}
	if changes, err = s.addWithout(ctx, l, to, changes); err != nil {
		return nil, err
	}
	p := &Plan{leftThen: reasonsOf(to.LeftOut)}
	for _, c := range changes {
		if Wanted(c.Path, paths) {
			p.sort(c)
		}
	}
	if err := s.skipUnseen(ctx, p, l, to, paths, changes); err != nil {
		return nil, err
	}
	if err := restore.CheckOps(p.Ops); err != nil {
		return nil, damagedTarget(to, err.Error())
	}
	setModes(l, to, p.Ops)
	if p.Run = l.Run; p.Run == nil {
		if p.Run, err = LookingRun(ctx, s.Repo, s.Trusted); err != nil {
			return nil, err
		}
	}
	if err := s.setForms(ctx, l, to, p.Ops); err != nil {
		return nil, err
	}
	setRaw(p.Ops, overwritten)
	if err := s.haveObjects(ctx, p, to); err != nil {
		return nil, err
	}
	if err := s.removeMade(ctx, p, to, paths); err != nil {
		return nil, err
	}
	ignored, err := s.keepUnknown(ctx, l, p, to, changes)
	if err != nil {
		return nil, err
	}
	if err := s.dropDone(ctx, l, p); err != nil {
		return nil, err
	}
	if err := s.checkWay(l, to, p); err != nil {
		return nil, err
	}
	p.folders(s.Repo.Worktree, l, to, paths, ignored, s.madeFolders(p, to))
	return p, nil
}

// dropDone fits p to what the work tree's own tree does not tell. Files that are
// on disk as they should be, though git ignores them now or would make another blob
// of them, need nothing. Files that the tree has but the disk has not (git was told
// to do without them) are not expected there.
func (s *Planner) dropDone(ctx context.Context, l From, p *Plan) error {
	goes := p.goes()
	var kept []restore.Op
	for _, op := range p.Ops {
		st, above, err := restore.Stands(s.Repo.Worktree, op.Path)
		if err != nil {
			return err
		}
		if st == nil && above == "" {
			op.Old = restore.File{}
		}
		there := false
		maybe := op.Old.Absent() && !s.isOther(op.Path, goes)
		if maybe || !op.Old.Absent() && (l.Converts || op.Old.CRLF || op.Old.Raw != "") {
			if there, err = p.Run.Holds(ctx, op.Path, op.New); err != nil {
				return err
			}
		}
		if !there {
			kept = append(kept, op)
		}
	}
	p.Ops = kept
	return nil
}

// goes are the paths that go away, by their folded spelling: on some volumes
// another spelling of one is the same file.
func (p *Plan) goes() map[string]string {
	paths := map[string]string{}
	for _, op := range p.Ops {
		if op.New.Absent() {
			paths[restore.Fold(op.Path)] = op.Path
		}
	}
	return paths
}

// isOther tells whether what stands at file is a file of ours that goes away, by
// another spelling of its name.
func (s *Planner) isOther(file string, goes map[string]string) bool {
	other, ok := goes[restore.Fold(file)]
	if !ok || other == file {
		return false
	}
	a, err := os.Lstat(filepath.Join(s.Repo.Worktree, file))
	if err != nil {
		return false
	}
	b, err := os.Lstat(filepath.Join(s.Repo.Worktree, other))
	return err == nil && os.SameFile(a, b)
}

// checkMeant refuses a path that is in neither tree: it is mistyped.
func (s *Planner) checkMeant(ctx context.Context, l From, to Target, paths []string, changes []git.Change) error {
	left := reasonsOf(to.LeftOut)
	for _, p := range paths {
		p = strings.TrimSuffix(p, "/")
		if left.At(p) == record.ReasonLost {
			return &fail.Error{
				Code: fail.ContentMissing, Message: fmt.Sprintf("%s has lost %q: its content went from the repository, and the checkpoint was written anew without it", to.Name, p),
				Detail: "another checkpoint may have it", Command: "checkpoint list",
			}
		}
		if slices.ContainsFunc(changes, func(c git.Change) bool { return under(c.Path, p) }) {
			continue
		}
		known, err := s.Repo.HasPath(ctx, l.Tree, p)
		if err == nil && !known {
			known, err = s.Repo.HasPath(ctx, to.Tree, p)
		}
		if err != nil {
			return err
		}
		if !known {
			return &fail.Error{
				Code: fail.InvalidParams, Message: fmt.Sprintf("neither %s nor the work tree has %q", to.Name, p),
				Detail: "paths are relative to the root of the work tree", Command: fmt.Sprintf("checkpoint diff %d --worktree --stat", to.N),
			}
		}
	}
	return nil
}

// Wanted tells whether file is one of paths, or below one; of no paths all are.
func Wanted(file string, paths []string) bool {
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
func (p *Plan) sort(c git.Change) {
	if p.leftThen.At(c.Path) != "" ||
		c.NewMode == git.ModeGitlink || c.OldMode == git.ModeGitlink && c.NewMode == 0 {
		p.Skipped = append(p.Skipped, c.Path)
		return
	}
	op := restore.Op{Path: c.Path, Old: restore.File{Mode: c.OldMode, ID: c.OldID}, New: restore.File{Mode: c.NewMode, ID: c.NewID}}
	if c.OldMode == 0 {
		op.Old = restore.File{}
	}
	if c.NewMode == 0 {
		op.New = restore.File{}
	}
	p.Ops = append(p.Ops, op)
}

func damagedTarget(to Target, why string) error {
	if to.N > 0 {
		return fail.Broken(to.N, why)
	}
	return &fail.Error{Code: fail.Damaged, Message: to.Name + " is damaged: " + why, Command: "checkpoint list"}
}

func AsDamaged(to Target, err error) error {
	var ge *git.Error
	if errors.As(err, &ge) && ge.Code == 128 && !git.Stalled(err) {
		return damagedTarget(to, err.Error())
	}
	return err
}

// haveObjects refuses when content that would be written cannot be had. All of it
// is read once: that an object is there says nothing of what is in it.
func (s *Planner) haveObjects(ctx context.Context, p *Plan, to Target) error {
	var ids []string
	where := map[string]string{}
	for _, op := range p.Ops {
		if op.New.Absent() {
			continue
		}
		for _, id := range []string{op.New.ID, op.New.Raw} {
			if _, seen := where[id]; id != "" && !seen {
				ids = append(ids, id)
				where[id] = op.Path
			}
		}
	}
	bad, err := s.Repo.Unsound(ctx, ids, "blob", nil)
	if err != nil {
		return err
	}
	for _, id := range ids {
		switch why := bad[id]; {
		case why == nil:
		case errors.Is(why, git.ErrNotFetched):
			return &fail.Error{
				Code: fail.ContentMissing, Message: fmt.Sprintf("the content of %q was never fetched: this is a partial clone", where[id]),
				Detail: "this asks the remote for it: git cat-file -e " + id, Paths: []string{where[id]}, Err: why,
			}
		case errors.Is(why, git.ErrMissingObject):
			return damagedTarget(to, fmt.Sprintf("object %s of %q is missing", id, where[id]))
		default:
			return damagedTarget(to, fmt.Sprintf("object %s of %q cannot be used: %v", id, where[id], why))
		}
	}
	return nil
}

// keepUnknown takes the removals out of p that the target could not have known:
// files that its own ignore rules, in its tree and beside it, ignore and that are
// not tracked. The result has what is ignored, also in folders without files.
func (s *Planner) keepUnknown(ctx context.Context, l From, p *Plan, to Target, changes []git.Change) (map[string]bool, error) {
	var gone []string
	for _, op := range p.Ops {
		if op.New.Absent() {
			gone = append(gone, op.Path)
		}
	}
	for _, dir := range l.Disk.Folders {
		gone = append(gone, inside(dir))
	}
	// Rules count wherever they are, also outside the paths that are restored.
	if len(gone) == 0 || to.Rules == "" && !rulesDiffer(l, to, changes) {
		return nil, nil
	}
	ignored, err := s.Repo.IgnoredByTree(ctx, s.Dir, cmp.Or(to.Rules, to.Tree), to.Disk.Rules, gone)
	if err == nil {
		err = s.exceptTracked(ctx, l, to, ignored)
	}
	if err != nil {
		return nil, err
	}
	placed := p.places()
	p.Ops = slices.DeleteFunc(p.Ops, func(op restore.Op) bool {
		if op.New.Absent() && ignored[op.Path] && !placed(op.Path) && !p.made[op.Path] {
			p.Kept = append(p.Kept, op.Path)
			return true
		}
		return false
	})
	return ignored, nil
}

// places gives a function that tells whether the target has something at a path
// at which another kind of thing stands, above or below it: then it had no file
// there, ignored or not.
func (p *Plan) places() func(file string) bool {
	files, folders := map[string]bool{}, map[string]bool{}
	for _, op := range p.Ops {
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
func (s *Planner) exceptTracked(ctx context.Context, l From, to Target, ignored map[string]bool) error {
	if len(ignored) == 0 {
		return nil
	}
	tracked, _, err := s.Repo.TrackedEntries(ctx, l.Head)
	if err != nil {
		return err
	}
	if to.Head == "" {
		return nil
	}
	missing, err := s.Repo.Missing(ctx, []string{to.Head})
	if err != nil || len(missing) > 0 {
		return err
	}
	then, err := s.Repo.TreeEntries(ctx, to.Head)
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
func (s *Planner) checkWay(l From, to Target, p *Plan) error {
	var blocked, ignored []string
	p.leftNow = snapshot.ByPath(l.LeftOut)
	ours := map[string]bool{} // paths of which the safety checkpoint has the content
	for _, op := range p.Ops {
		if !op.Old.Absent() {
			ours[op.Path] = true
		}
	}
	most := record.MaxNamed
	if to.Overwrite {
		most = math.MaxInt
	}
	for _, op := range p.Ops {
		if path, left := p.leftNow.Over(op.Path); left != "" {
			switch left {
			case snapshot.TooLarge, snapshot.TooMuchNew:
				p.Include = append(p.Include, path)
			default:
				blocked = append(blocked, op.Path)
			}
			continue
		}
		if op.New.Absent() || !op.Old.Absent() {
			continue
		}
		found, err := restore.InTheWay(s.Repo.Worktree, op.Path, ours, most)
		if err != nil {
			return err
		}
		ignored = append(ignored, found...)
	}
	goes := p.goes()
	ignored = slices.DeleteFunc(ignored, func(f string) bool {
		if s.isOther(f, goes) {
			return true
		}
		switch p.leftNow.At(f) {
		case snapshot.TooLarge, snapshot.TooMuchNew:
			p.Include = append(p.Include, f)
			return true
		}
		return false
	})
	slices.Sort(ignored)
	ignored = slices.Compact(ignored)
	if to.Overwrite {
		blocked, ignored = append(blocked, s.overwrite(p, ignored)...), nil
	}
	slices.Sort(blocked)
	switch {
	case len(blocked) > 0:
		return wouldOverwrite(blocked, "no checkpoint holds what stands there ("+p.named(blocked)+"); move it out of the way, then restore again")
	case len(ignored) > 0:
		e := wouldOverwrite(ignored, "no checkpoint holds these (git ignores them, or the restore leaves them alone); move them out of the way, or add --overwrite to have the safety checkpoint hold them")
		e.Flags = []string{"--overwrite"}
		return e
	}
	return nil
}

// named tells what the things are that no checkpoint holds.
func (p *Plan) named(blocked []string) string {
	words := map[string]string{
		snapshot.Unreadable: "unreadable", snapshot.Filter: "behind a filter that fails or may not run (see turnback trust --show)",
		snapshot.NestedRepo: "a repository of its own", snapshot.Submodule: "a submodule", snapshot.NotRegular: "no regular file",
		snapshot.BadName: "of a name that is not allowed", snapshot.NotStorable: "in a form that git cannot store",
	}
	var kinds []string
	of := map[string][]string{}
	for _, path := range blocked {
		kind := cmp.Or(words[p.leftNow.At(path)], "no regular file that can be read")
		if strings.Contains("/"+path, "/.git/") {
			kind = words[snapshot.NestedRepo]
		}
		if len(of[kind]) == 0 {
			kinds = append(kinds, kind)
		}
		of[kind] = append(of[kind], path)
	}
	if len(kinds) == 1 { // the paths are in the message
		return kinds[0]
	}
	for i, kind := range kinds {
		kinds[i] = fail.Quoted(of[kind]) + ": " + kind
	}
	return strings.Join(kinds, ", ")
}

func wouldOverwrite(paths []string, detail string) *fail.Error {
	return &fail.Error{
		Code: fail.WouldOverwrite, Message: "the restore would write over " + fail.Quoted(paths),
		Detail: detail, Paths: paths,
	}
}

// LookingRun makes a run that can only look at the work tree; trusted is as in
// Planner.
func LookingRun(ctx context.Context, repo *git.Repo, trusted func(git.Driver) bool) (*restore.Run, error) {
	config, err := repo.Config(ctx, git.FilterPattern+`|^core\.(filemode|symlinks)$`)
	if err != nil {
		return nil, err
	}
	return &restore.Run{
		Root: repo.Worktree, IDLen: repo.IDLen, Hasher: repo.Through(config.Filters(trusted)),
		FileMode: git.Bool(config.Map(), "core.filemode", true), PlainLinks: !git.Bool(config.Map(), "core.symlinks", true),
	}, nil
}
