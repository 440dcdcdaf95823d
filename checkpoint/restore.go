package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/turnback/turnback/checkpoint/company"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/trees"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/snapshot"
)

// RestoreRequest says what to put back.
type RestoreRequest struct {
	Pane   Pane     // the pane whose checkpoint it is
	N      int      // its number
	Paths  []string // only these, literal, relative to the root; empty: all
	DryRun bool     // change nothing, take no safety checkpoint
	Here   bool     // also when taken in another work tree or on another branch
	// Overwrite allows to write over files that git ignores (WouldOverwrite): they are
	// kept beside the safety checkpoint. Whatever cannot be kept stops it all the same.
	Overwrite bool

	// Files that other panes' turns changed since stop it (OthersChanged). With Mine
	// only what this pane's turns changed is put back; files of which nobody can tell
	// are skipped, and one that both changed stops it. With AllPanes all is.
	Mine, AllPanes bool
	// Undo, Redo: files that were changed since stop it (EditedSince). With KeepEdits
	// only the turn's own changes are taken back, by a three-way merge (Conflicts);
	// with DiscardEdits all files are as they were at the turn's start.
	KeepEdits, DiscardEdits bool
	// OpenTurns tells the turns that go on in the work tree, or that are over and not
	// saved; nil: there are none.
	OpenTurns func(ctx context.Context) ([]OpenTurn, error)

	Half *Half       // what is put back with the files or not at all; nil: nothing. Not of RestoreStaged
	Talk func() Talk // the pane's conversation now, for the safety checkpoint; nil: not known

	Turn     int    // the pane's open or newest turn, for the safety checkpoint
	State    string // and its state
	Progress func(done, total int64)
	// Check is called under the lock, before anything is written: an error of it
	// ends the restore with nothing changed. It may be nil.
	Check func(ctx context.Context) error
	// Step is called at every step boundary; an error of it ends the process's
	// work on the spot, as a kill would. For tests; nil otherwise.
	Step func(step string) error
}

// RestoreResult tells what was put back.
type RestoreResult struct {
	N       int         // the checkpoint; 0: a turn's base
	Turn    int         // Undo, Redo: the turn
	Safety  *Checkpoint // nil in a dry run
	Written []string
	Removed []string
	Kept    []string // not removed: the target could not have known them
	Staged  bool     // the index was restored and nothing else: Written and Removed are its entries
	// Overwritten are files that git ignores and that were written over, or removed
	// because they stood in the way; the safety checkpoint brings them back.
	Overwritten []string
	Skipped     []string // submodules, what the target left out, and with Mine the files of which nobody can tell whose they are
	Uncertain   []string // files of the target that may be of a later time: they changed after the agent was let go and before it was saved
	HeadHolds   string   // Undo: the commit of the turn that HEAD still holds
	More        bool     // Undo, Redo: there is a further step
	Notes       []string
}

// withCheckpoint runs f on checkpoint N of the request's pane, with the work tree
// locked and no restore interrupted in it.
func (s *Store) withCheckpoint(ctx context.Context, r RestoreRequest, f func(l *looked, c *Checkpoint) error) error {
	return s.locked(ctx, func() error {
		if err := s.notInterrupted(); err != nil {
			return err
		}
		l, err := s.stand(ctx, r.Pane.ID, true)
		if err != nil {
			return err
		}
		c, err := l.Sound(r.N)
		if err != nil {
			return err
		}
		return f(l, c)
	})
}

// Restore makes the work tree what checkpoint N holds. It first saves the work
// tree as a safety checkpoint; a refusal changes nothing. Ignored and left-out
// files, the index and HEAD stay as they are.
func (s *Store) Restore(ctx context.Context, r RestoreRequest) (RestoreResult, error) {
	res := RestoreResult{N: r.N}
	if err := errors.Join(checkPane(r.Pane.ID), fail.CheckPaths(r.Paths), checkFlags(r)); err != nil {
		return res, err
	}
	if r.DryRun && !s.rehearses {
		return s.rehearse(func(d *Store) (RestoreResult, error) { return d.Restore(ctx, r) })
	}
	err := s.withCheckpoint(ctx, r, func(l *looked, c *Checkpoint) error {
		to, err := s.targetOf(ctx, *c)
		if err != nil {
			return err
		}
		to.Overwrite = r.Overwrite
		if res.Uncertain, err = s.UncertainAll(ctx, *c); err != nil {
			return err
		}
		var o *company.Company
		p, err := s.lookAndPlan(ctx, l, r.Paths, func() (plan.Target, error) {
			if err := plan.CheckPlace(*c, s.repo.Worktree, l.head, r.Here); err != nil {
				return to, err
			}
			others := s.others(r, l)
			o = others.In(others.Since(*c, l.made.Tree), to.Name)
			return o.Own(ctx, l.made.Tree, to)
		})
		if err == nil {
			err = o.Check(ctx, p)
		}
		if err != nil {
			return err
		}
		res.note(o)
		return s.carryOut(ctx, &res, l, p, job{action: "restore", to: to, request: r, shared: o.Shared(), label: fmt.Sprintf("before restoring checkpoint %d", r.N)})
	})
	return res, err
}

// others is what r asks of other panes' files.
func (s *Store) others(r RestoreRequest, l *looked) company.Request {
	return company.Request{
		Repo: s.repo, Scratch: s.dir, Pane: r.Pane.ID, Paths: r.Paths, Mine: r.Mine, AllPanes: r.AllPanes,
		OpenTurns: r.OpenTurns, Named: s.NamedAll, All: l.all,
	}
}

// note tells the person what was left alone.
func (res *RestoreResult) note(o *company.Company) {
	if len(o.Shared()) > 0 {
		res.Notes = append(res.Notes, "left alone, nobody can tell whose they are: "+o.Describe(o.Shared()))
	}
}

// checkFlags refuses requests that contradict themselves.
func checkFlags(r RestoreRequest) error {
	switch {
	case r.Mine && r.AllPanes:
		return &Error{Code: InvalidParams, Message: "--mine and --all-panes exclude each other"}
	case r.KeepEdits && r.DiscardEdits:
		return &Error{Code: InvalidParams, Message: "--keep-edits and --discard-edits exclude each other"}
	}
	return nil
}

func (s *Store) targetOf(ctx context.Context, c Checkpoint) (plan.Target, error) {
	kept, err := s.readBeside(ctx, c.N, c.Beside, c.Looked)
	to := plan.Target{Tree: c.Tree, Bytes: plan.BytesOf(c.Disk), Name: fmt.Sprintf("checkpoint %d", c.N), N: c.N, Head: c.Head, LeftOut: leftOutOf(kept), Disk: kept.Disk, Overwritten: kept.Overwritten, Made: kept.Made, Taken: kept.Taken}
	if c.Beside == "" {
		to.LeftOut = c.LeftOut
	}
	return to, err
}

// lookAndPlan looks at the work tree and plans the way to the target that choose
// then gives; a second time when files of any size have to be in the safety
// checkpoint.
func (s *Store) lookAndPlan(ctx context.Context, l *looked, paths []string, choose func() (plan.Target, error)) (*plan.Plan, error) {
	var include []string
	for {
		if err := s.see(ctx, l, include, nil); err != nil {
			return nil, err
		}
		to, err := choose()
		if err != nil {
			return nil, err
		}
		p, err := s.planner.Make(ctx, s.from(l), to, paths)
		if err != nil {
			return nil, err
		}
		if due, err := s.readSwapped(ctx, p); err != nil {
			return nil, err
		} else if due {
			continue
		}
		if len(p.Include) == 0 || len(include) > 0 && !hasNew(p.Include, include) {
			return p, nil
		}
		include = append(include, p.Include...)
	}
}

// from is the work tree in l as a plan begins with it.
func (s *Store) from(l *looked) plan.From {
	return plan.From{Run: l.run, Tree: l.made.Tree, Bytes: l.made.Bytes, Converts: l.made.Converts, LeftOut: l.made.LeftOut, Head: l.head, Disk: besideOf(l).Disk}
}

// readSwapped reads the files that p swaps out, unless that was done before: the
// safety checkpoint has to have their bytes. It tells whether another look at the
// work tree is due.
func (s *Store) readSwapped(ctx context.Context, p *plan.Plan) (due bool, err error) {
	paths := make([]string, 0, len(p.Ops))
	for _, op := range p.Ops {
		if !op.Old.Absent() {
			paths = append(paths, op.Path)
		}
	}
	return s.table.ReadPaths(ctx, paths)
}

func hasNew(list, known []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return !slices.Contains(known, p) })
}

// job is what a plan is carried out for.
type job struct {
	action  string
	to      plan.Target
	request RestoreRequest
	label   string          // of the safety checkpoint
	shared  []string        // files that nobody can tell whose they are; they stay
	undone  []record.Undone // undo, redo: what the pane's ref says afterwards; Left is filled in
}

// leaves is the checkpoint whose files the work tree has afterwards; 0: it is
// another's.
func (j *job) leaves() int {
	if j.action == actionRevert {
		return 0
	}
	return j.to.N
}

// after is what is noted once the files are in place.
type after struct {
	Undone  []record.Undone `json:"undone"`
	N       int             `json:"n"`
	Partial bool            `json:"partial"`
	Back    bool            `json:"back,omitempty"` // the restore was taken back: what was undone stays so
}

// carryOut saves the safety checkpoint and changes the files.
func (s *Store) carryOut(ctx context.Context, res *RestoreResult, l *looked, p *plan.Plan, j job) error {
	res.Overwritten = p.Overwritten
	res.Kept, res.Skipped = p.Kept, append(p.Skipped, j.shared...)
	for _, op := range p.Ops {
		res.count(op)
	}
	done, err := s.content.For(ctx, p.Run, l.made.Tree, p.Ops, false)
	if err != nil {
		return err
	}
	defer done()
	if j.request.DryRun {
		return nil
	}
	if j.request.Check != nil {
		if err := j.request.Check(ctx); err != nil {
			return err
		}
	}
	if err := s.keepOverwritten(ctx, l, p); err != nil {
		return err
	}
	l.files, l.taken = p.Made(), p.Taken()
	safety := &Checkpoint{Kind: KindSafety, Pane: j.request.Pane, Turn: j.request.Turn, State: j.request.State, Label: j.label}
	safety.Of(j.request.Talk)
	if err := s.record(ctx, l, safety, []int{j.to.N}); err != nil {
		return err
	}
	res.Safety = safety
	note, err := json.Marshal(after{Undone: j.undone, N: j.leaves(), Partial: len(j.request.Paths) > 0})
	if err != nil {
		return err
	}
	journal := restore.Journal{
		RunID: runID(safety), Action: j.action, Pane: safety.Pane.ID, Window: safety.Pane.Window, Session: safety.Pane.Session,
		Turn: safety.Turn, N: j.to.N, Safety: safety.N, Started: s.now().UTC(), Ops: p.Ops, After: note,
		Folders: p.FolderOps(s.repo.Worktree), Again: j.to.Overwritten != "" || len(p.Overwritten) > 0 || p.Again, Half: j.request.Half.Name(),
	}
	if len(p.Ops)+len(p.Folders) > 0 {
		if err := restore.WriteJournal(s.journalPath(), journal); err != nil {
			return err
		}
		if err := s.applyOrTakeBack(ctx, p.Run, journal, j.request); err != nil {
			return err
		}
	} else if err := j.request.Half.Put(); err != nil {
		return err
	}
	// Nothing is left to change: an interrupt now comes too late.
	return s.settle(context.WithoutCancel(ctx), res, l, journal, p.Run)
}

// keepOverwritten puts what p writes over and git ignores beside the safety
// checkpoint that is to be saved of l.
func (s *Store) keepOverwritten(ctx context.Context, l *looked, p *plan.Plan) (err error) {
	disk := besideOf(l).Disk
	l.overwritten, err = s.planner.Keep(ctx, p, &disk)
	s.planner.KeepFolders(p, &disk)
	l.made.Folders, l.made.Modes = disk.Folders, disk.Modes
	return err
}

// count counts op among what was written or removed.
func (res *RestoreResult) count(op restore.Op) {
	if op.New.Absent() {
		res.Removed = append(res.Removed, op.Path)
		return
	}
	res.Written = append(res.Written, op.Path)
}

// runID makes temporary names that no other file has: only the journal tells them
// from files of the person's.
func runID(safety *Checkpoint) string {
	return safety.Pane.ID + strconv.Itoa(safety.N) + strings.ToLower(rand.Text())
}

func (s *Store) journalPath() string { return filepath.Join(s.dir, trees.JournalName) }

// applyOrTakeBack carries the ops of j out. When it has to stop, what was done
// is taken back, so that nothing has changed; when even that cannot be done, the
// journal stays, and the error says so.
func (s *Store) applyOrTakeBack(ctx context.Context, looking *restore.Run, j restore.Journal, r RestoreRequest) error {
	run, closeRun, err := s.writingRun(ctx, looking, j.RunID, r.Progress)
	if err != nil {
		return err
	}
	defer closeRun()
	run.Step = r.Step
	done, err := run.Apply(ctx, j.Ops, nil)
	if err == nil {
		run.Folders(j.Folders)
		if err = r.Half.Put(); err == nil {
			return nil
		}
	}
	if r.Step != nil && errors.Is(err, ErrStopped) {
		return err
	}
	back := context.WithoutCancel(ctx)
	run.Step, run.Progress = nil, nil
	edited, backErr := run.TakeBack(back, j.Ops, done)
	if backErr != nil {
		return s.interrupted(&j, errors.Join(err, backErr))
	}
	run.Folders(restore.ReverseFolders(j.Folders))
	if rmErr := restore.RemoveJournal(s.journalPath()); rmErr != nil {
		return errors.Join(err, rmErr)
	}
	return fail.Stopped(err, edited)
}

// ErrStopped is what a Step returns to end a restore as a kill would.
var ErrStopped = errors.New("stopped")

// writingRun makes a run that can change the work tree, of one that can look.
func (s *Store) writingRun(ctx context.Context, looking *restore.Run, id string, progress func(done, total int64)) (*restore.Run, func(), error) {
	objects, err := s.repo.ReadObjects(context.WithoutCancel(ctx))
	if err != nil {
		return nil, nil, err
	}
	run := *looking
	run.ID, run.Objects, run.Progress = id, objects, progress
	return &run, func() { _ = objects.Close() }, nil
}

// settle checks the files against what was wanted, notes what the restore left
// of the tree that it found in l, and ends the journal.
func (s *Store) settle(ctx context.Context, res *RestoreResult, l *looked, j restore.Journal, run *restore.Run) error {
	differ, err := run.Differing(ctx, j.Ops)
	if err != nil {
		return err
	}
	state, err := s.leftState(ctx, l.made, j, j.Again || !run.FileMode)
	if err != nil {
		return err
	}
	for _, p := range differ {
		res.Notes = append(res.Notes, fmt.Sprintf("%q was changed again right after it was restored", p))
	}
	var note after
	if err := json.Unmarshal(j.After, &note); err != nil {
		return fmt.Errorf("%w: %w", restore.ErrJournal, err)
	}
	if err = s.noteLeft(ctx, l.Held, j, note, state); errors.Is(err, git.ErrRefMoved) {
		if l.Held, err = record.Read(ctx, s.repo, j.Pane); err == nil {
			err = s.noteLeft(ctx, l.Held, j, note, state)
		}
	}
	if err != nil {
		return err
	}
	left := record.Newest{Tree: state.Tree, Disk: state.Disk, Pane: j.Pane}
	if c := l.HolderOfBytes(state); c != nil {
		left.Ref, left.Commit = c.Ref, c.Commit
	}
	left.Write(s.newestPath())
	return restore.RemoveJournal(s.journalPath())
}

// noteLeft notes in the pane's ref what a restore left.
func (s *Store) noteLeft(ctx context.Context, h *record.Held, j restore.Journal, note after, state record.State) error {
	pane := h.Pane
	pane.Restored, pane.RestoredN = state.Tree, note.N
	if !note.Back {
		pane.Undone = note.Undone
	}
	for i := range pane.Undone {
		if pane.Undone[i].Left == "" {
			pane.Undone[i].Left = state.String()
		}
	}
	if pane.Worktree == "" {
		pane.Pane = Pane{ID: j.Pane, Window: j.Window, Session: j.Session}
		pane.Worktree = s.repo.Worktree
	}
	return s.writePane(ctx, &h.Pane, pane, nil)
}

// leftState is the work tree after the ops of j, where it was found before them.
// That is known without another look, unless what belongs to the tree depends on
// what the ops changed, git may make other blobs of the files now than were
// restored, or again says that it does.
func (s *Store) leftState(ctx context.Context, found snapshot.Result, j restore.Journal, again bool) (record.State, error) {
	edits := make([]git.TreeEdit, 0, len(j.Ops))
	again = again || found.Converts || found.Bytes != ""
	for _, op := range j.Ops {
		again = again || strings.HasPrefix(path.Base(op.Path), ".git") || op.New.CRLF || op.New.Raw != ""
		edits = append(edits, git.TreeEdit{Path: op.Path, Mode: op.New.Mode, ID: op.New.ID})
	}
	if !again || len(edits) == 0 {
		tree, err := s.repo.EditTree(ctx, found.Tree, edits)
		return record.StateOf(tree, found.Bytes), err
	}
	l, err := s.look(ctx, j.Pane, nil, nil)
	if err != nil {
		return record.State{}, err
	}
	return record.StateOf(l.made.Tree, l.made.Bytes), nil
}

// InterruptedRestore describes a restore that was killed in a work tree.
type InterruptedRestore struct {
	Pane   Pane
	Name   string // "a restore of checkpoint 2", "an undo"
	N      int    // 0: a turn's base
	Safety int    // the safety checkpoint
	Half   string // tag of what belongs to it beside the files; empty: nothing
}

// Interrupted tells whether a restore was killed in this work tree; nil: none.
func (s *Store) Interrupted() (*InterruptedRestore, error) {
	j, err := restore.ReadJournal(s.journalPath())
	if err != nil || j == nil {
		return nil, err
	}
	return &InterruptedRestore{Pane: Pane{ID: j.Pane, Window: j.Window, Session: j.Session}, Name: j.Name(), N: j.N, Safety: j.Safety, Half: j.Half}, nil
}

func (s *Store) notInterrupted() error {
	j, err := restore.ReadJournal(s.journalPath())
	if err != nil {
		return &Error{Code: Interrupted, Message: err.Error(), Detail: "the file names the safety checkpoint; restore that one by hand once the file is moved away", Err: err}
	}
	if j == nil {
		return nil
	}
	return s.interrupted(j, nil)
}

func (s *Store) interrupted(j *restore.Journal, cause error) error {
	msg := j.Name() + " was interrupted in this work tree"
	if cause != nil {
		msg = fmt.Sprintf("%s: %v", msg, cause)
	}
	return &Error{
		Code: Interrupted, Message: msg, Command: "checkpoint restore --continue", Numbers: []int{j.Safety}, Err: cause,
		Detail: "--continue finishes it, --abort goes back to the files as they were before",
	}
}
