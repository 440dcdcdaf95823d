// Package fresh makes the tree of a work tree with git alone, from nothing: an
// index of its own with the entries of the user's and no stat data, every file
// looked at again. It is slow, keeps no state, and is what the other ways are
// compared with.
package fresh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// Maker implements snapshot.Maker.
type Maker struct {
	repo    *git.Repo
	dir     string
	trusted func(git.Driver) bool
}

var _ snapshot.Maker = (*Maker)(nil)

// New makes a Maker; dir is an existing folder of our own for its index. Filters
// of the repository's own configuration run when trusted says so; it may be nil.
func New(repo *git.Repo, dir string, trusted func(git.Driver) bool) *Maker {
	return &Maker{repo: repo, dir: dir, trusted: trusted}
}

// making is one Make.
type making struct {
	*Maker
	ctx   context.Context
	index string
	gate  snapshot.Gate
	left  []snapshot.LeftOut
	add   []string

	// listing is the user's index without the paths at which a folder stands
	// now: those are no longer tracked files that git would name below.
	listing string
}

// Make implements snapshot.Maker.
func (m *Maker) Make(ctx context.Context, r snapshot.Request) (snapshot.Result, error) {
	dir, err := os.MkdirTemp(m.dir, "index-")
	if err != nil {
		return snapshot.Result{}, fmt.Errorf("make a private index: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	k := &making{Maker: m, ctx: ctx, index: filepath.Join(dir, "index"), listing: filepath.Join(dir, "listing")}
	if err := k.readConfig(); err != nil {
		return snapshot.Result{}, err
	}
	tracked, err := k.tracked(r.Head)
	if err != nil {
		return snapshot.Result{}, err
	}
	untracked, err := k.untracked(r, tracked)
	if err != nil {
		return snapshot.Result{}, err
	}
	k.add = append(k.add, untracked...)
	if err := k.throughGate(tracked); err != nil {
		return snapshot.Result{}, err
	}
	if err := k.takeIn(tracked); err != nil {
		return snapshot.Result{}, err
	}
	tree, err := m.repo.WriteIndexTree(ctx, k.index)
	if err != nil {
		return snapshot.Result{}, err
	}
	inBytes, err := k.bytes(tree)
	if err != nil {
		return snapshot.Result{}, err
	}
	return snapshot.Result{Tree: tree, Bytes: inBytes, LeftOut: snapshot.SortLeftOut(k.left)}, nil
}

// readConfig reads which filters may run.
func (k *making) readConfig() error {
	c, err := k.repo.Config(k.ctx, git.FilterPattern+`|^core\.filemode$`)
	k.gate = snapshot.Gate{Repo: k.repo, Filters: c.Filters(k.trusted), FileMode: git.Bool(c.Map(), "core.filemode", true)}
	return err
}

// throughGate takes the files out of those to add that may not be stored.
func (k *making) throughGate(tracked map[string]git.IndexEntry) error {
	var files []snapshot.Guarded
	for _, path := range k.add {
		if f, ok := k.guarded(path, tracked); ok {
			files = append(files, f)
		}
	}
	verdicts, err := k.gate.Judge(k.ctx, files)
	if err != nil {
		return err
	}
	var same []git.Entry
	kept := k.add[:0]
	for _, path := range k.add {
		v, named := verdicts[path]
		switch {
		case !named || v.Filter != "":
			kept = append(kept, path)
		case v.LeftOut():
			k.leave(path, snapshot.Filter)
		default:
			same = append(same, v.Same)
		}
	}
	k.add = kept
	return k.fill(k.index, same)
}

// takeIn takes the files to add into the index; one by one where git refuses.
func (k *making) takeIn(tracked map[string]git.IndexEntry) error {
	content := k.repo.Through(k.gate.Filters)
	err := content.AddToIndex(k.ctx, k.index, k.add)
	if err == nil {
		return nil
	}
	if _, ok := snapshot.Refusal(err, k.add); !ok {
		return err
	}
	for _, path := range k.add {
		if err := content.AddToIndex(k.ctx, k.index, []string{path}); err != nil {
			reason, ok := snapshot.Refusal(err, []string{path})
			if !ok {
				return err
			}
			if err := k.refused(path, reason, tracked); err != nil {
				return err
			}
		}
	}
	return nil
}

// refused leaves out what git could not store; unless only its filter failed, and
// it has the bytes that the user's index has, or only its conversion failed.
func (k *making) refused(path, reason string, tracked map[string]git.IndexEntry) error {
	f, regular := k.guarded(path, tracked)
	switch {
	case regular && reason == snapshot.Filter:
		same, err := k.gate.Same(f)
		if err != nil || same.Mode != 0 {
			return errors.Join(err, k.fill(k.index, []git.Entry{same}))
		}
	case regular && reason == snapshot.NotStorable:
		return k.asItIs(f)
	}
	k.leave(path, reason)
	return nil
}

// asItIs takes the bytes of a file that git cannot convert into the index.
func (k *making) asItIs(f snapshot.Guarded) error {
	ids, err := k.repo.WriteRawFiles(k.ctx, []string{f.Path})
	if err != nil {
		return err
	}
	return k.fill(k.index, []git.Entry{k.gate.EntryOf(f, ids[0])})
}

func (k *making) guarded(path string, tracked map[string]git.IndexEntry) (snapshot.Guarded, bool) {
	st, err := os.Lstat(filepath.Join(k.repo.Worktree, path))
	if err != nil || !st.Mode().IsRegular() {
		return snapshot.Guarded{}, false
	}
	f := snapshot.Guarded{Path: path, Perm: st.Mode().Perm(), Size: st.Size()}
	if e, ok := tracked[path]; ok && e.Stage == 0 {
		f.Index, f.Blind = e.Entry, e.AssumeSame
	}
	return f, true
}

// tracked puts the user's entries into the index and says which have to be
// looked at. It returns what is tracked, by path.
func (k *making) tracked(head git.Head) (map[string]git.IndexEntry, error) {
	entries, _, err := k.repo.TrackedEntries(k.ctx, head)
	if err != nil {
		return nil, err
	}
	inHead, err := k.stagedAgainst(head)
	if err != nil {
		return nil, err
	}
	set := map[string]git.IndexEntry{}
	var keep, list []git.Entry
	var rules []string // ignore files that count though they are not on disk
	for _, e := range entries {
		if _, twice := set[e.Path]; twice {
			continue
		}
		set[e.Path] = e
		listed := e.Entry
		if old, ok := inHead[e.Path]; ok && e.SkipWorktree && old.OldMode != 0 {
			e.ID, e.Mode = old.OldID, old.OldMode
		}
		if st, err := os.Lstat(filepath.Join(k.repo.Worktree, e.Path)); err != nil || !st.IsDir() || e.Mode == git.ModeGitlink {
			list = append(list, listed)
			if err != nil && e.SkipWorktree && filepath.Base(e.Path) == ".gitignore" {
				rules = append(rules, e.Path)
			}
		}
		stands, look := k.trackedOnDisk(e)
		if git.CheckPath(e.Path) != nil {
			if stands || look {
				k.leave(e.Path, snapshot.BadName)
			}
			continue
		}
		if stands && e.Stage == 0 && git.CheckEntry(e.Path, e.Mode) == nil {
			keep = append(keep, e.Entry)
		}
		if look {
			k.add = append(k.add, e.Path)
		}
	}
	if err := k.fill(k.listing, list); err != nil {
		return nil, err
	}
	if err := k.repo.SkipInIndex(k.ctx, k.listing, rules); err != nil {
		return nil, err
	}
	return set, k.fill(k.index, keep)
}

func (k *making) fill(index string, entries []git.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	return k.repo.SetIndexEntries(k.ctx, index, entries)
}

func (k *making) stagedAgainst(head git.Head) (map[string]git.Change, error) {
	old := map[string]git.Change{}
	if head.Tree == "" {
		return old, nil
	}
	changes, err := k.repo.StagedAgainst(k.ctx, head.Tree)
	if errors.Is(err, git.ErrNoIndex) {
		return old, nil
	}
	for _, c := range changes {
		old[c.Path] = c
	}
	return old, nil
}

// trackedOnDisk tells whether the index's entry e is still of use, and whether
// the file is to be taken from the disk.
func (k *making) trackedOnDisk(e git.IndexEntry) (stands, look bool) {
	abs := filepath.Join(k.repo.Worktree, e.Path)
	st, err := os.Lstat(abs)
	if errors.Is(err, fs.ErrPermission) {
		k.leave(k.unreadableFolder(e.Path), snapshot.Unreadable)
		return true, false
	}
	if err == nil && k.beyondLink(e.Path) {
		err = fs.ErrNotExist
	}
	switch {
	case e.Mode == git.ModeGitlink && (err != nil || st.IsDir()):
		k.leave(e.Path, snapshot.Submodule)
		return true, false
	case err != nil:
		return e.SkipWorktree, false
	case st.IsDir():
		return false, false
	case st.Mode()&fs.ModeSymlink != 0:
		return e.Mode != git.ModeGitlink, true
	case st.Mode().IsRegular():
		f, err := os.Open(abs)
		if err != nil {
			k.leave(e.Path, snapshot.Unreadable)
			return true, false
		}
		_ = f.Close()
		return e.Mode != git.ModeGitlink, true
	}
	k.leave(e.Path, snapshot.NotRegular)
	return true, false
}

// beyondLink tells whether a folder above path is a symbolic link.
func (k *making) beyondLink(path string) bool {
	for i, c := range path {
		if c != '/' {
			continue
		}
		st, err := os.Lstat(filepath.Join(k.repo.Worktree, path[:i]))
		if err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// unreadableFolder is the topmost folder above path that cannot be read.
func (k *making) unreadableFolder(path string) string {
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		dir := strings.Join(parts[:i], "/")
		if _, err := os.ReadDir(filepath.Join(k.repo.Worktree, dir)); errors.Is(err, fs.ErrPermission) {
			return dir
		}
	}
	return path
}

// untracked lists the untracked files to take.
func (k *making) untracked(r snapshot.Request, tracked map[string]git.IndexEntry) ([]string, error) {
	paths, err := k.repo.Untracked(k.ctx, k.listing)
	if err != nil {
		return nil, err
	}
	var take []string
	var candidates []snapshot.Candidate
	for _, path := range paths {
		if _, known := tracked[path]; known {
			continue
		}
		if inner, ok := strings.CutSuffix(path, "/"); ok {
			k.leave(inner, snapshot.NestedRepo)
			continue
		}
		if git.CheckPath(path) != nil {
			k.leave(path, snapshot.BadName)
			continue
		}
		if r.Passing[path] {
			continue
		}
		st, err := os.Lstat(filepath.Join(k.repo.Worktree, path))
		if err != nil || !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if st.Mode()&fs.ModeSymlink != 0 && git.CheckEntry(path, git.ModeLink) != nil {
			k.leave(path, snapshot.BadName)
			continue
		}
		if st.Mode().IsRegular() {
			candidates = append(candidates, snapshot.Candidate{Path: path, Size: st.Size(), New: true})
		}
		take = append(take, path)
	}
	out := map[string]bool{}
	for _, l := range snapshot.Select(candidates, r.Limits, r.Include) {
		out[l.Path] = true
		k.left = append(k.left, l)
	}
	kept := take[:0]
	for _, path := range take {
		if !out[path] {
			kept = append(kept, path)
		}
	}
	return kept, nil
}

func (k *making) leave(path, reason string) {
	k.left = append(k.left, snapshot.LeftOut{Path: path, Reason: reason})
}
