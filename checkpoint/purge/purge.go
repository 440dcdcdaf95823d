// Package purge takes a path out of everything that checkpoints keep of a
// repository.
package purge

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/blob"
	"github.com/turnback/turnback/internal/git/rules"
	"github.com/turnback/turnback/internal/snapshot"
)

// Reason is why a checkpoint leaves out what was purged: a restore leaves it alone,
// and does not take it for a file that the checkpoint did not have.
const Reason = "purged"

// Purger takes a path out of what the refs of ours in a repository hold.
type Purger struct {
	Repo *git.Repo
	Path string // relative to the root of the work tree: a file, or a folder with all in it
	Dir  string // the folder of ours for one of the work trees
	Now  func() time.Time
	// Update changes refs, all or none.
	Update func(ctx context.Context, changes []git.RefChange) error
	// Read and Write give what is kept beside a checkpoint, by its commit; an empty
	// commit stands for nothing.
	Read  func(ctx context.Context, c record.Checkpoint, commit string) (beside.Content, error)
	Write func(ctx context.Context, c beside.Content) (commit string, err error)

	trees map[string]without
	bytes map[string]without // trees of bytes on disk
	gone  map[string]bool    // ids of the files that were at the path
}

// Result tells what was purged.
type Result struct {
	Rewritten []record.Checkpoint // as they are now
	Dropped   []record.Checkpoint // could not be read, and their tree held the path
	Unknown   []record.Checkpoint // cannot be read so far that anybody could tell
	Gone      []string            // ids of the files that were at the path, sorted
	Changes   []git.RefChange     // what is to be done to the refs, in one transaction
}

// Plan writes everything anew that holds the path, and tells how the refs are to
// change. Nothing is changed yet.
func (p *Purger) Plan(ctx context.Context, held *record.Held, trash []record.Trashed, kept map[string]git.Ref) (Result, error) {
	var res Result
	p.gone = map[string]bool{}
	dropped := make([]record.Checkpoint, 0, len(trash))
	for _, t := range trash {
		if t.Damaged == "" {
			dropped = append(dropped, record.FromCommit(t.Pane, t.N, kept[t.Kept]))
		}
	}
	if err := p.lookAt(ctx, held, dropped); err != nil {
		return res, err
	}
	for _, c := range held.Checkpoints {
		commit, err := p.one(ctx, &c, &res)
		if err != nil {
			return res, err
		}
		if commit != c.Commit {
			res.Changes = append(res.Changes, git.RefChange{Name: c.Ref, Old: c.Commit, New: commit})
		}
	}
	if err := p.planTrash(ctx, trash, dropped, &res); err != nil {
		return res, err
	}
	for _, state := range held.Panes {
		change, err := p.pane(ctx, state)
		if err != nil {
			return res, err
		}
		res.Changes = append(res.Changes, change...)
	}
	res.Gone = slices.Sorted(maps.Keys(p.gone))
	return res, nil
}

// lookAt takes the path out of every tree that the refs hold or name.
func (p *Purger) lookAt(ctx context.Context, held *record.Held, dropped []record.Checkpoint) error {
	all := map[string]bool{}
	var disks []string
	for _, c := range slices.Concat(held.Checkpoints, dropped) {
		all[c.Tree] = true
		disks = append(disks, c.Disk)
		if c.Base != nil {
			all[c.Base.Tree] = true
			disks = append(disks, c.Base.Disk)
		}
	}
	for _, state := range held.Panes {
		all[state.BaseTree], all[state.Restored] = true, true
		disks = append(disks, state.BaseDisk)
		for _, u := range state.Undone {
			left := record.ParseState(u.Left)
			all[left.Tree] = true
			disks = append(disks, left.Disk)
		}
	}
	delete(all, "")
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(id string) bool { return strings.Trim(id, "0123456789abcdef") != "" })
	var err error
	if p.trees, err = removePath(ctx, p.Repo, ids, p.Path); err != nil {
		return err
	}
	return p.lookAtBytes(ctx, disks)
}

// without is a tree without the path.
func (p *Purger) without(tree string) string {
	w, ok := p.trees[tree]
	if !ok {
		return tree
	}
	for _, id := range w.gone {
		p.gone[id] = true
	}
	return w.tree
}

// one writes checkpoint c anew where it holds the path, and returns its commit:
// the same where it does not; empty where c has to go.
func (p *Purger) one(ctx context.Context, c *record.Checkpoint, res *Result) (string, error) {
	if c.Damaged != "" {
		switch _, known := p.trees[c.Tree]; {
		case !known:
			res.Unknown = append(res.Unknown, *c)
		case p.without(c.Tree) != c.Tree:
			res.Dropped = append(res.Dropped, *c)
			return "", nil
		}
		return c.Commit, nil
	}
	n := *c
	if _, known := p.trees[c.Tree]; !known {
		res.Unknown = append(res.Unknown, *c)
		return c.Commit, nil
	}
	n.Tree, n.Disk = p.without(c.Tree), p.disk(c.Disk)
	held := n.Tree != c.Tree
	if c.Base != nil {
		base := *c.Base
		base.Tree, base.Disk = p.without(base.Tree), p.disk(base.Disk)
		var err error
		if n.BaseCommit, err = p.base(ctx, *c, base.Tree, c.Base.Tree, c.BaseCommit); err != nil {
			return "", err
		}
		held = held || n.BaseCommit != c.BaseCommit
		n.Base = &base
	}
	content, changed, err := p.beside(ctx, *c, c.Beside, held)
	if err != nil {
		return "", err
	}
	if !changed {
		return c.Commit, nil
	}
	if n.Beside, err = p.Write(ctx, content); err != nil {
		return "", err
	}
	setLeftOut(&n, content.LeftOut)
	var parents, roles []string
	for _, of := range []struct{ commit, role string }{{n.Head, record.RoleHead}, {n.BaseCommit, record.RoleBase}, {n.Beside, record.RoleBeside}} {
		if of.commit != "" {
			parents, roles = append(parents, of.commit), append(roles, of.role)
		}
	}
	if n.Commit, err = p.commit(ctx, n.Tree, record.Describe(&n, roles), n.At, parents...); err != nil {
		return "", err
	}
	res.Rewritten = append(res.Rewritten, n)
	return n.Commit, nil
}

func setLeftOut(c *record.Checkpoint, list []snapshot.LeftOut) {
	c.LeftOutCount, c.LeftOut = len(list), nil
	for _, l := range list[:min(record.MaxNamed, len(list))] {
		c.LeftOut = append(c.LeftOut, record.LeftOut{Path: l.Path, Reason: l.Reason})
	}
}

// beside takes the path out of what is kept beside c, in commit; it notes there
// that the path was purged when purged says so, or something of it was beside.
func (p *Purger) beside(ctx context.Context, c record.Checkpoint, commit string, purged bool) (beside.Content, bool, error) {
	content, err := p.Read(ctx, c, commit)
	if err != nil {
		return content, false, fmt.Errorf("read what is kept beside checkpoint %d of pane %s: %w", c.N, c.Pane.ID, err)
	}
	for _, of := range []struct {
		tree   *string
		remove func(ctx context.Context, repo *git.Repo, trees []string, path string) (map[string]without, error)
	}{{&content.Bytes, removeBytes}, {&content.Overwritten, removePath}} {
		if *of.tree == "" {
			continue
		}
		found, err := of.remove(ctx, p.Repo, []string{*of.tree}, p.Path)
		if err != nil {
			return content, false, err
		}
		w := found[*of.tree]
		for _, id := range w.gone {
			p.gone[id] = true
		}
		purged = purged || len(w.gone) > 0
		*of.tree = w.tree
	}
	purged = p.withoutStaged(&content) || purged
	changed, err := p.withoutRules(&content)
	if err != nil {
		return content, false, err
	}
	purged = purged || changed
	for _, list := range []*[]beside.Made{&content.Made, &content.Taken} {
		had := len(*list)
		*list = slices.DeleteFunc(*list, func(m beside.Made) bool { return m.Path == p.Path || strings.HasPrefix(m.Path, p.Path+"/") })
		purged = purged || len(*list) < had
	}
	content.Without = slices.DeleteFunc(content.Without, func(path string) bool { return path == p.Path || strings.HasPrefix(path, p.Path+"/") })
	if purged && !slices.ContainsFunc(content.LeftOut, func(l snapshot.LeftOut) bool { return l.Path == p.Path }) {
		content.LeftOut = append(slices.Clone(content.LeftOut), snapshot.LeftOut{Path: p.Path, Reason: Reason})
	}
	return content, purged, nil
}

// withoutStaged takes the path out of the index that is kept beside.
func (p *Purger) withoutStaged(content *beside.Content) (changed bool) {
	if content.Index == nil {
		return false
	}
	index := *content.Index
	index.Entries = nil
	still := map[string]bool{}
	for _, e := range content.Index.Entries {
		if e.Path == p.Path || strings.HasPrefix(e.Path, p.Path+"/") {
			changed = true
			continue
		}
		still[e.ID] = true
		index.Entries = append(index.Entries, e)
	}
	if !changed {
		return false
	}
	index.Blobs = nil
	for _, id := range content.Index.Blobs {
		if still[id] {
			index.Blobs = append(index.Blobs, id)
		} else {
			p.gone[id] = true
		}
	}
	content.Index = &index
	return true
}

// withoutRules takes the path out of the ignore files that are kept beside.
func (p *Purger) withoutRules(content *beside.Content) (changed bool, err error) {
	if content.Rules == nil {
		return false, nil
	}
	kept := *content.Rules
	kept.Files = slices.DeleteFunc(slices.Clone(kept.Files), func(f rules.File) bool { return f.Path == p.Path || strings.HasPrefix(f.Path, p.Path+"/") })
	if len(kept.Files) == len(content.Rules.Files) {
		return false, nil
	}
	for _, part := range (&beside.Content{Disk: beside.Disk{Rules: content.Rules}}).Parts() {
		if part.Name != beside.NameIgnoreFiles {
			continue
		}
		id, err := blob.ID(p.Repo.IDLen, bytes.NewReader(part.Data), int64(len(part.Data)))
		if err != nil {
			return false, err
		}
		p.gone[id] = true
	}
	content.Rules = &kept
	return true, nil
}

// base gives the commit that keeps the base of c's turn: the tree was what it was
// before, kept in commit (empty: something else kept it).
func (p *Purger) base(ctx context.Context, c record.Checkpoint, tree, before, commit string) (string, error) {
	beside := ""
	if commit != "" {
		parents, err := p.Repo.Parents(ctx, commit)
		if err != nil {
			return "", err
		}
		if len(parents) > 0 {
			beside = parents[0]
		}
	}
	content, changed, err := p.beside(ctx, record.Checkpoint{N: c.N, Pane: c.Pane, Looked: c.Looked}, beside, tree != before)
	if err != nil || !changed {
		return commit, err
	}
	var parents []string
	if beside, err = p.Write(ctx, content); err != nil {
		return "", err
	}
	if beside != "" {
		parents = []string{beside}
	}
	return p.commit(ctx, tree, "base of a turn\n", p.Now(), parents...)
}

// planTrash writes what is in the trash anew.
func (p *Purger) planTrash(ctx context.Context, trash []record.Trashed, dropped []record.Checkpoint, res *Result) error {
	for _, t := range trash {
		if t.Damaged != "" {
			continue
		}
		i := slices.IndexFunc(dropped, func(c record.Checkpoint) bool { return c.Pane.ID == t.Pane && c.N == t.N })
		c := dropped[i]
		commit, err := p.one(ctx, &c, res)
		if err != nil {
			return err
		}
		if commit == c.Commit {
			continue
		}
		change := git.RefChange{Name: t.Ref, Old: t.Commit}
		if commit != "" {
			if change.New, err = p.commit(ctx, p.without(c.Tree), record.TrashMessage(&c, t.At), p.Now(), commit); err != nil {
				return err
			}
		}
		res.Changes = append(res.Changes, change)
	}
	return nil
}

// pane writes the ref of a pane anew where it holds or names the path's trees.
func (p *Purger) pane(ctx context.Context, state record.PaneState) ([]git.RefChange, error) {
	if state.Damaged != "" {
		return nil, nil
	}
	n := state
	n.Restored, n.BaseTree, n.BaseDisk = p.without(state.Restored), p.without(state.BaseTree), p.disk(state.BaseDisk)
	n.Undone = slices.Clone(state.Undone)
	for i := range n.Undone {
		n.Undone[i].Left = p.state(n.Undone[i].Left)
	}
	if state.BaseCommit != "" {
		var err error
		if n.BaseCommit, err = p.base(ctx, record.Checkpoint{Pane: state.Pane}, n.BaseTree, state.BaseTree, state.BaseCommit); err != nil {
			return nil, err
		}
	}
	if n.BaseCommit == state.BaseCommit && n.Restored == state.Restored && slices.Equal(n.Undone, state.Undone) {
		return nil, nil
	}
	empty, err := p.Repo.EmptyTree(ctx)
	if err != nil {
		return nil, err
	}
	var parents []string
	if n.BaseCommit != "" {
		parents = []string{n.BaseCommit}
	}
	id, err := p.commit(ctx, empty, n.Message(), p.Now(), parents...)
	return []git.RefChange{{Name: record.PanesRoot + state.ID, Old: state.Commit, New: id}}, err
}

func (p *Purger) commit(ctx context.Context, tree, message string, at time.Time, parents ...string) (string, error) {
	return p.Repo.WriteCommit(ctx, git.CommitSpec{
		Tree: tree, Parents: parents, Name: record.IdentityName, Email: record.IdentityEmail, When: at, Message: message,
	})
}
