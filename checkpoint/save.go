package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/late"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/snapshot"
)

// refTries is how often a save starts over when another process took its number.
const refTries = 20

// looked is the work tree as it is now, with what the refs say.
type looked struct {
	*record.Held
	head   git.Head
	newest record.Newest // as recorded; Tree empty: not known
	all    *record.Held  // of all panes; nil: was not asked for
	run    *restore.Run  // likewise
	made   snapshot.Result
	lfs    []string // the LFS content that is kept for it

	files       []beside.Made // that a restore is about to make
	taken       []beside.Made // and to take away
	overwritten string        // a mirrored tree of what a restore writes over, to be kept beside
}

// look makes the tree of the work tree. The lock is held. Paths in include are
// taken whatever their size; progress may be nil.
func (s *Store) look(ctx context.Context, pane string, include []string, progress func(done, total int64)) (*looked, error) {
	l, err := s.stand(ctx, pane, false)
	if err == nil {
		err = s.see(ctx, l, include, progress)
	}
	return l, err
}

// stand reads what the refs say and what HEAD is. The lock is held. For a restore
// it also gets what is needed later and can be had meanwhile.
func (s *Store) stand(ctx context.Context, pane string, restoring bool) (*looked, error) {
	l := &looked{newest: record.ReadNewest(s.newestPath())}
	g, groupCtx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { l.head, err = s.repo.Head(groupCtx); return err })
	if restoring {
		g.Go(func() (err error) {
			l.all, l.Held, err = record.ReadBoth(groupCtx, s.repo, pane, l.newest.Ref)
			return err
		})
		g.Go(func() (err error) { l.run, err = plan.LookingRun(groupCtx, s.repo, s.trusted); return err })
		g.Go(func() error { return s.repo.WarmReader(groupCtx) })
	} else {
		g.Go(func() (err error) { l.Held, err = record.Read(groupCtx, s.repo, pane, l.newest.Ref); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if l.newest.Ref != "" && l.Extra[l.newest.Ref] != l.newest.Commit {
		l.newest = record.Newest{}
	}
	return l, nil
}

// see makes the tree of the work tree; the rest is as in look.
func (s *Store) see(ctx context.Context, l *looked, include []string, progress func(done, total int64)) (err error) {
	limits := s.limits()
	l.made, err = s.maker.Make(ctx, snapshot.Request{
		Head: l.head, Include: include, Passing: restore.Temporary(s.journalPath()), Reachable: l.reachable, Progress: progress,
		Limits: snapshot.Limits{MaxUntracked: limits.MaxUntracked, MaxNewUntracked: limits.MaxNewUntracked},
	})
	if err == nil && !s.rehearses {
		l.lfs, err = s.pointers.KeepNew(ctx, l.made.LFSStorage, l.head.Tree, l.made.Tree)
	}
	return err
}

// reachable tells whether refs hold a tree and the tree of the bytes beside it.
func (l *looked) reachable(tree, bytes string) bool {
	has := func(heldTree, disk string) bool {
		held, known := record.BytesOf(disk)
		return tree == heldTree && (bytes == "" || known && bytes == held)
	}
	if has(l.head.Tree, "") || l.newest.Ref != "" && has(l.newest.Tree, l.newest.Disk) || has(l.Pane.BaseTree, l.Pane.BaseDisk) {
		return true
	}
	return slices.ContainsFunc(l.Checkpoints, func(c Checkpoint) bool { return c.Damaged == "" && has(c.Tree, c.Disk) })
}

// state is the work tree that was looked at.
func (l *looked) state() record.State { return record.State{Tree: l.made.Tree, Disk: diskOf(l.made)} }

// previous is the state that a start is compared with: the newest checkpoint of
// this work tree by any pane, what the last restore left, else HEAD.
func (s *Store) previous(ctx context.Context, l *looked) (record.State, error) {
	if l.newest.Tree != "" {
		return record.State{Tree: l.newest.Tree, Disk: l.newest.Disk}, nil
	}
	all, err := record.Read(ctx, s.repo, "")
	if err != nil {
		return record.State{}, err
	}
	var latest *Checkpoint
	for i := range all.Checkpoints {
		c := &all.Checkpoints[i]
		if c.Worktree == s.repo.Worktree && c.Damaged == "" && (latest == nil || c.At.After(latest.At)) {
			latest = c
		}
	}
	if latest == nil {
		tree, err := s.headTree(ctx, l.head)
		return record.State{Tree: tree}, err
	}
	l.newest = record.Newest{Tree: latest.Tree, Disk: latest.Disk, Ref: latest.Ref, Commit: latest.Commit, Pane: latest.Pane.ID}
	return record.State{Tree: latest.Tree, Disk: latest.Disk}, nil
}

func (s *Store) headTree(ctx context.Context, head git.Head) (string, error) {
	if head.Tree != "" {
		return head.Tree, nil
	}
	return s.emptyTree(ctx)
}

// Begin notes the base of a turn that starts now: HEAD and the tree on disk.
// When the tree is not that of the newest checkpoint of this work tree, it is
// saved as kind start first, if the request says so.
func (s *Store) Begin(ctx context.Context, r BeginRequest) (BeginResult, error) {
	var res BeginResult
	err := s.locked(ctx, func() error {
		l, err := s.look(ctx, r.Pane.ID, nil, nil)
		if err != nil {
			return err
		}
		previous, err := s.previous(ctx, l)
		if err != nil {
			return err
		}
		c := &Checkpoint{
			Kind: KindStart, Pane: r.Pane, Turn: r.Turn, Agent: r.Agent,
			Label: fmt.Sprintf("edits before turn %d", r.Turn),
		}
		late.Mark(ctx, s.repo, c, previous.Tree, l.made.Tree, r.LetGo)
		at, uncertain := s.now().UTC(), c.Uncertain
		if r.SaveStart && !l.state().Same(previous) {
			c.Of(r.Talk)
			if err := s.record(ctx, l, c, nil); err != nil {
				return err
			}
			res.Start = c
		}
		res.Base = s.nameBase(ctx, l, res.Start)
		res.Base.At, res.Base.Uncertain = at, uncertain
		return s.holdBase(ctx, l, r)
	})
	return res, err
}

// holdBase keeps the base of a turn from git's gc until the turn is saved, and
// keeps what the base left out, unless a checkpoint of this pane does both.
func (s *Store) holdBase(ctx context.Context, l *looked, r BeginRequest) error {
	state := l.Pane
	state.BaseCommit, state.BaseTree, state.BaseDisk = "", "", ""
	holder := l.HolderOf(l.made.Tree, diskOf(l.made))
	kept := baseBeside(besideOf(l))
	if holder == nil && (l.made.Tree != l.head.Tree || len(kept.Parts()) > 0) {
		beside, err := s.writeBeside(ctx, l, kept)
		if err != nil {
			return err
		}
		parents := strings.Fields(beside) // one, or none
		if state.BaseCommit, err = s.wrap(ctx, l.made.Tree, "base of a turn\n", parents...); err != nil {
			return err
		}
		state.BaseTree, state.BaseDisk = l.made.Tree, diskOf(l.made)
	}
	if state.BaseTree == l.Pane.BaseTree && state.BaseDisk == l.Pane.BaseDisk {
		return nil
	}
	if state.Worktree == "" {
		state.Pane, state.Worktree = r.Pane, s.repo.Worktree
	}
	return s.writePane(ctx, &l.Held.Pane, state, nil)
}

// nameBase says what the tree in l is, for people.
func (s *Store) nameBase(ctx context.Context, l *looked, start *Checkpoint) Base {
	b := Base{Head: l.head.Commit, Tree: l.made.Tree, Disk: diskOf(l.made)}
	holder := l.Holder(b.Tree)
	switch {
	case start != nil:
		b.Number = start.N
	case holder != nil && holder == l.Last():
		b.Number = holder.N
	case b.Tree == l.Pane.Restored && l.Pane.RestoredN > 0:
		b.Name = fmt.Sprintf("the work tree after restoring %d", l.Pane.RestoredN)
	case l.head.Commit != "" && b.Tree == l.head.Tree:
		b.Name = "HEAD " + short(l.head.Commit)
	case holder != nil:
		b.Number = holder.N
	default:
		b.Name = "the work tree before the turn"
		if empty, err := s.emptyTree(ctx); err == nil && b.Tree == empty {
			b.Name = "an empty tree"
		}
	}
	if b.Number > 0 {
		b.Name = fmt.Sprintf("checkpoint %d", b.Number)
	}
	return b
}

func short(id string) string { return id[:min(7, len(id))] }

// Save saves the work tree. A turn whose tree is that of its base, or of a
// checkpoint of the same turn, saves nothing unless the request says Always.
func (s *Store) Save(ctx context.Context, r SaveRequest) (SaveResult, error) {
	var res SaveResult
	if err := checkPane(r.Pane.ID); err != nil {
		return res, err
	}
	err := s.locked(ctx, func() error {
		l, err := s.look(ctx, r.Pane.ID, nil, r.Progress)
		if err != nil {
			return err
		}
		res, err = s.save(ctx, l, r)
		return err
	})
	return res, err
}

func (s *Store) save(ctx context.Context, l *looked, r SaveRequest) (SaveResult, error) {
	res := SaveResult{Tree: l.made.Tree}
	if !r.Always {
		same, err := s.unchanged(ctx, l, r)
		res.Together = late.Together(l.Checkpoints, r.Turn, r.Base, r.Since)
		if err == nil && same && !r.Since.IsZero() {
			for _, left := range snapshot.Touched(s.repo.Worktree, l.made.LeftOut, r.Since) {
				res.NotCovered = append(res.NotCovered, LeftOut{Path: left.Path, Reason: left.Reason})
			}
		}
		if err != nil || same {
			return res, err
		}
	}
	c := &Checkpoint{
		Kind: r.Kind, Pane: r.Pane, Turn: r.Turn, State: r.State, Label: Label(r.Label), Base: r.Base,
		Agent: r.Agent, AgentSession: r.AgentSession, Transcript: r.Transcript, With: r.With, Named: r.Named,
	}
	from := ""
	if r.Base != nil {
		from, c.Uncertain = r.Base.Tree, r.Base.Uncertain
	}
	late.Mark(ctx, s.repo, c, from, l.made.Tree, r.LetGo)
	if err := s.record(ctx, l, c, nil); err != nil {
		return res, err
	}
	res.Checkpoint = c
	return res, nil
}

// unchanged tells whether there is nothing to save.
func (s *Store) unchanged(ctx context.Context, l *looked, r SaveRequest) (bool, error) {
	last, now := l.Last(), l.state()
	isNow := func(tree, disk string) bool { return now.Same(record.State{Tree: tree, Disk: disk}) }
	if last != nil && last.Kind == r.Kind && last.Turn == r.Turn && isNow(last.Tree, last.Disk) {
		return true, nil
	}
	if r.Base != nil {
		return isNow(r.Base.Tree, r.Base.Disk), nil
	}
	if last != nil {
		return isNow(last.Tree, last.Disk), nil
	}
	head, err := s.headTree(ctx, l.head)
	return head == l.made.Tree, err
}

// record writes the tree in l as checkpoint c, whose number, commit and further
// facts are filled in, and lets go of what is past the limits. The numbers in
// pinned stay. The lock is held.
func (s *Store) record(ctx context.Context, l *looked, c *Checkpoint, pinned []int) error {
	if err := checkPane(c.Pane.ID); err != nil {
		return err
	}
	c.Tree, c.Head, c.Branch, c.Worktree, c.At = l.made.Tree, l.head.Commit, l.head.Branch, s.repo.Worktree, s.now().UTC()
	c.LeftOutCount = len(l.made.LeftOut)
	c.LeftOut = nil
	for _, left := range l.made.LeftOut[:min(record.MaxNamed, len(l.made.LeftOut))] {
		c.LeftOut = append(c.LeftOut, LeftOut{Path: left.Path, Reason: left.Reason})
	}
	parents, roles, err := s.parents(ctx, l, c)
	if err != nil {
		return err
	}
	var failed error
	for try := range refTries {
		if err := pause(ctx, try); err != nil {
			return err
		}
		err := s.commit(ctx, l, c, parents, roles, pinned)
		if err == nil {
			l.Checkpoints = append(l.Checkpoints, *c)
			l.newest = record.Newest{Tree: c.Tree, Disk: c.Disk, Ref: c.Ref, Commit: c.Commit, Pane: c.Pane.ID}
			l.newest.Write(s.newestPath())
			return nil
		}
		if !errors.Is(err, git.ErrRefMoved) {
			return err
		}
		taken, last := c.N, err
		if l.Held, err = record.Read(ctx, s.repo, c.Pane.ID); err != nil {
			return err
		}
		if git.BlamesRef(last, c.Ref) {
			l.Pane.HighestN = max(l.Pane.HighestN, taken) // somebody has that number, its lock was left behind, or its ref is broken
		}
		failed = last
	}
	return fmt.Errorf("take a number: %w", failed)
}

// pause waits a little longer before each further try.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(try) * 5 * time.Millisecond):
		return nil
	}
}

// parents makes the commits that c needs beside HEAD, and says what each is.
func (s *Store) parents(ctx context.Context, l *looked, c *Checkpoint) (ids, roles []string, err error) {
	if c.Head != "" {
		ids, roles = append(ids, c.Head), append(roles, record.RoleHead)
	}
	if b := c.Base; b != nil && b.Tree == l.Pane.BaseTree && b.Disk == l.Pane.BaseDisk {
		c.BaseCommit = l.Pane.BaseCommit
		ids, roles = append(ids, c.BaseCommit), append(roles, record.RoleBase)
	} else if b != nil && b.Tree != l.head.Tree && l.Holder(b.Tree) == nil {
		// Nothing has held that tree so far: a gc may have taken it.
		missing, err := s.repo.Missing(ctx, []string{b.Tree})
		if err != nil {
			return nil, nil, err
		}
		if len(missing) == 0 {
			id, err := s.wrap(ctx, b.Tree, "base of a turn\n")
			if err != nil {
				return nil, nil, err
			}
			ids, roles = append(ids, id), append(roles, record.RoleBase)
		}
	}
	kept := besideOf(l)
	c.Disk, c.Looked = diskOf(l.made), kept.Looked()
	late.CutLists(c, &kept)
	if c.Beside, err = s.writeBeside(ctx, l, kept); err != nil {
		return nil, nil, err
	}
	if c.Beside != "" {
		ids, roles = append(ids, c.Beside), append(roles, record.RoleBeside)
	}
	return ids, roles, nil
}

// wrap makes a commit that holds tree.
func (s *Store) wrap(ctx context.Context, tree, message string, parents ...string) (string, error) {
	return s.repo.WriteCommit(ctx, git.CommitSpec{Tree: tree, Parents: parents, Name: record.IdentityName, Email: record.IdentityEmail, When: s.now(), Message: message})
}

// commit gives c its number and puts it under its ref, in one transaction with
// the pane's own ref and the removal of what is past the limits.
func (s *Store) commit(ctx context.Context, l *looked, c *Checkpoint, parents, roles []string, pinned []int) error {
	state := l.Pane
	state.HighestN++
	state.HighestTurn = max(state.HighestTurn, c.Turn)
	key := state.Key
	state.Pane, state.Worktree = c.Pane, s.repo.Worktree
	if state.Key == "" {
		state.Key = key
	}
	if c.Kind == KindTurn || c.Kind == KindStart {
		state.Undone = record.Closed(state.Undone)
	}
	c.N = state.HighestN
	c.Ref = record.CheckpointRef(c.Pane.ID, c.N)
	var err error
	c.Commit, err = s.repo.WriteCommit(ctx, git.CommitSpec{
		Tree: c.Tree, Parents: parents, Name: record.IdentityName, Email: record.IdentityEmail, When: c.At, Message: record.Describe(c, roles),
	})
	if err != nil {
		return err
	}
	changes := []git.RefChange{{Name: c.Ref, New: c.Commit}}
	for _, old := range s.overdue(append(append([]Checkpoint(nil), l.Checkpoints...), *c), pinned) {
		changes = append(changes, git.RefChange{Name: old.Ref, Old: old.Commit})
	}
	return s.writePane(ctx, &l.Held.Pane, state, changes)
}

// writePane moves the pane's ref to state, with further changes in the same
// transaction, and updates *now.
func (s *Store) writePane(ctx context.Context, now *record.PaneState, state record.PaneState, changes []git.RefChange) error {
	tree := s.emptyTree
	if now.Commit == "" {
		tree = s.repo.EmptyTree // no ref holds it, so a gc may have taken the one written before
	}
	empty, err := tree(ctx)
	if err != nil {
		return err
	}
	var parents []string
	if state.BaseCommit != "" {
		parents = []string{state.BaseCommit}
	}
	id, err := s.repo.WriteCommit(ctx, git.CommitSpec{
		Tree: empty, Parents: parents, Name: record.IdentityName, Email: record.IdentityEmail, When: s.now(), Message: state.Message(),
	})
	if err != nil {
		return err
	}
	if id != now.Commit {
		changes = append(changes, git.RefChange{Name: record.PanesRoot + state.ID, Old: now.Commit, New: id})
	}
	if err := s.repo.UpdateRefs(ctx, changes); err != nil {
		return err
	}
	state.Commit = id
	*now = state
	return nil
}

// NoteNotSaved records that a turn of a pane has no checkpoint although it
// should. It needs no look at the work tree.
func (s *Store) NoteNotSaved(ctx context.Context, pane Pane, note NotSaved) error {
	if err := checkPane(pane.ID); err != nil {
		return err
	}
	return s.locked(ctx, func() error {
		h, err := record.Read(ctx, s.repo, pane.ID)
		if err != nil {
			return err
		}
		state := h.Pane
		if state.Worktree == "" {
			state.Pane, state.Worktree = pane, s.repo.Worktree
		}
		note.Reason = Label(note.Reason)
		state.NotSaved = append(state.NotSaved, note)
		state.HighestTurn = max(state.HighestTurn, note.Turn)
		return s.writePane(ctx, &h.Pane, state, nil)
	})
}

// HighestTurn is the highest turn of a pane that its refs know of; 0: none.
func (s *Store) HighestTurn(ctx context.Context, paneID string) (int, error) {
	if err := checkPane(paneID); err != nil {
		return 0, err
	}
	h, err := record.Read(ctx, s.repo, paneID)
	if err != nil {
		return 0, fail.From(err)
	}
	return h.Pane.HighestTurn, nil
}
