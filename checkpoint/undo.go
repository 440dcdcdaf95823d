package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/company"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/merge"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/record"
)

// Undo takes back the newest turn of a pane that changed files and is not yet
// taken back: the work tree becomes what it was at the turn's start. Files that
// changed after the turn's end stop it, and those that other panes' turns changed
// while it was open; see RestoreRequest. N and Paths of the request are not used.
func (s *Store) Undo(ctx context.Context, r RestoreRequest) (RestoreResult, error) {
	return s.turnStep(ctx, r, (*Store).undoStep)
}

// Redo puts the turn forward again that was taken back last, as long as nothing
// has changed since.
func (s *Store) Redo(ctx context.Context, r RestoreRequest) (RestoreResult, error) {
	return s.turnStep(ctx, r, (*Store).redoStep)
}

// step is one way along the turns of a pane.
type step struct {
	job
	from   record.State // the other side of the turn than that of the target
	expect record.State // what the work tree must be: nothing was edited since
	since  string       // since what, for people
	turn   Checkpoint
	more   bool
}

func (s *Store) turnStep(ctx context.Context, r RestoreRequest, choose func(*Store, context.Context, *looked) (step, error)) (RestoreResult, error) {
	var res RestoreResult
	if err := errors.Join(checkPane(r.Pane.ID), checkFlags(r)); err != nil {
		return res, err
	}
	if r.DryRun && !s.rehearses {
		return s.rehearse(func(d *Store) (RestoreResult, error) { return d.turnStep(ctx, r, choose) })
	}
	err := s.locked(ctx, func() error {
		if err := s.notInterrupted(); err != nil {
			return err
		}
		l, err := s.stand(ctx, r.Pane.ID, true)
		if err != nil {
			return err
		}
		var st step
		var o *company.Company
		p, err := s.lookAndPlan(ctx, l, nil, func() (plan.Target, error) {
			var err error
			if st, err = choose(s, ctx, l); err != nil {
				return plan.Target{}, err
			}
			st.to.Overwrite = r.Overwrite
			to, err := s.wayOf(ctx, l, st, r)
			if err != nil {
				return to, err
			}
			o = s.others(r, l).In(company.During(st.turn), fmt.Sprintf("turn %d began", st.turn.Turn))
			return o.Own(ctx, l.made.Tree, to)
		})
		if err == nil && st.action == actionUndo {
			err = o.Check(ctx, p)
		}
		if err == nil {
			res.Uncertain, err = s.UncertainAll(ctx, st.turn)
		}
		if err != nil {
			return err
		}
		st.request, st.shared = r, o.Shared()
		st.request.Paths = nil
		res.Turn, res.More, res.N = st.turn.Turn, st.more, st.to.N
		if st.action == actionUndo {
			res.HeadHolds = plan.HeadHolds(st.turn, l.head)
		}
		res.note(o)
		return s.carryOut(ctx, &res, l, p, st.job)
	})
	return res, err
}

const actionUndo = "undo"

// wayOf is where a step leads from the work tree in l. It refuses when the place
// is another, and when files changed since unless the request says what to do
// with them.
func (s *Store) wayOf(ctx context.Context, l *looked, st step, r RestoreRequest) (plan.Target, error) {
	if err := plan.CheckPlace(st.turn, s.repo.Worktree, l.head, r.Here); err != nil {
		return st.to, err
	}
	edits, err := s.editsSince(ctx, l, st.expect)
	switch {
	case err != nil:
		return st.to, err
	case len(edits) > 0 && !r.KeepEdits && !r.DiscardEdits:
		return st.to, s.editedSince(ctx, l, st, r, edits)
	case len(edits) > 0 && r.DiscardEdits, len(edits) == 0 && st.action == actionUndo:
		return st.to, nil
	}
	if len(edits) == 0 { // a turn that was taken back beside edits is not put forward over them
		if edits, err = s.editsSince(ctx, l, st.from); err != nil || len(edits) == 0 {
			return st.to, err
		}
	}
	merged, err := merge.Merger{Repo: s.repo, Scratch: s.dir}.Merge(ctx, merge.Trees{Base: st.from.Tree, Ours: l.made.Tree, Theirs: st.to.Tree})
	if err != nil {
		return st.to, plan.AsDamaged(st.to, err)
	}
	if len(merged.Conflicts) > 0 {
		return st.to, &Error{
			Code: Conflicts, Paths: merged.Conflicts,
			Message: fmt.Sprintf("the edits since %s are in the same places as the turn's changes: %s", st.since, fail.Quoted(merged.Conflicts)),
			Detail:  "add --discard-edits instead to go back all the same; the safety checkpoint keeps the edits", Command: "checkpoint list",
		}
	}
	return company.Part(st.to, merged), nil
}

// editsSince are the files that are not as they were in a state.
func (s *Store) editsSince(ctx context.Context, l *looked, then record.State) ([]string, error) {
	if l.state().Same(then) {
		return nil, nil
	}
	return s.planner.Edited(ctx, s.from(l), plan.Target{Tree: then.Tree, Bytes: plan.BytesOf(then.Disk), Name: "what it left"})
}

// editedSince says which files were changed since the step before, and by whose
// turns where that can be told.
func (s *Store) editedSince(ctx context.Context, l *looked, st step, r RestoreRequest, paths []string) error {
	names := fail.Quoted(paths)
	var err error
	if others := s.others(r, l); st.action == actionUndo {
		if names, err = others.In(others.Since(st.turn, l.made.Tree), "").Tell(ctx, paths); err != nil {
			return err
		}
	}
	return &Error{
		Code: EditedSince, Message: fmt.Sprintf("files were changed since %s: %s", st.since, names), Paths: paths,
		Detail: "add --keep-edits to keep these edits, or --discard-edits to go back all the same",
		Flags:  []string{"--keep-edits", "--discard-edits"},
	}
}

// undoStep finds the turn to take back.
func (s *Store) undoStep(ctx context.Context, h *looked) (step, error) {
	isUndone := func(turn int) bool {
		return slices.ContainsFunc(h.Pane.Undone, func(u record.Undone) bool { return u.Turn == turn })
	}
	turns := h.ChangedTurns()
	// A turn that was saved at a pause and ended where it began left nothing.
	leftNothing := func(c Checkpoint) bool {
		return c.State == "needs_input" && h.state().Same(record.State{Tree: c.Base.Tree, Disk: c.Base.Disk})
	}
	at := slices.IndexFunc(turns, func(c Checkpoint) bool { return !isUndone(c.Turn) && !leftNothing(c) })
	if at < 0 {
		return step{}, nothingToUndo(h, turns, "every turn that changed files is taken back already")
	}
	c := turns[at]
	if c.Damaged != "" {
		return step{}, fail.Broken(c.N, c.Damaged)
	}
	baseBytes := plan.BytesOf(c.Base.Disk)
	missing, err := s.repo.Missing(ctx, strings.Fields(c.Base.Tree+" "+baseBytes.Tree))
	if err != nil {
		return step{}, err
	}
	if slices.Contains(missing, c.Base.Tree) {
		return step{}, nothingToUndo(h, nil, fmt.Sprintf("base of turn %d was pruned", c.Turn))
	}
	if len(missing) > 0 {
		baseBytes = plan.Bytes{}
	}
	left, err := s.leftOutAround(ctx, h.Held, c)
	if err != nil {
		return step{}, err
	}
	disk, err := s.baseDisk(ctx, h.Held, c)
	if err != nil {
		return step{}, err
	}
	st := step{turn: c, from: record.State{Tree: c.Tree}, expect: record.State{Tree: c.Tree, Disk: c.Disk}, since: fmt.Sprintf("turn %d ended", c.Turn), more: at+1 < len(turns)}
	st.job = job{
		action: actionUndo, label: record.UndoLabel(c.Turn),
		to:     plan.Target{Tree: c.Base.Tree, Bytes: baseBytes, Name: fmt.Sprintf("the base of turn %d", c.Turn), Head: c.Base.Head, LeftOut: left, Disk: disk},
		undone: append(slices.Clone(h.Pane.Undone), record.Undone{Turn: c.Turn, N: c.N}),
	}
	return st, nil
}

// baseDisk is what the base of c's turn was and no tree can hold; rules that are not
// known are those of its end.
func (s *Store) baseDisk(ctx context.Context, h *record.Held, c Checkpoint) (beside.Disk, error) {
	if c.Base.Disk == "" {
		return beside.Disk{}, nil
	}
	end, err := s.readBeside(ctx, c.N, c.Beside, c.Looked)
	if err != nil {
		return beside.Disk{}, err
	}
	base := beside.Content{}
	commit, looked := "", slices.DeleteFunc(slices.Clone(c.Looked), func(name string) bool { return name == beside.LookedRules || name == beside.LookedIndex })
	switch holder := h.HolderOf(c.Base.Tree, c.Base.Disk); {
	case c.BaseCommit != "":
		parents, err := s.repo.Parents(ctx, c.BaseCommit)
		if err != nil {
			return beside.Disk{}, err
		}
		commit = strings.Join(parents, " ") // one, or none
	case holder != nil:
		commit, looked = holder.Beside, holder.Looked
	case c.Base.Disk != beside.PlainDigest:
		return beside.Disk{Rules: end.Rules}, nil
	}
	if base, err = s.readBeside(ctx, c.N, commit, looked); err != nil {
		return beside.Disk{}, err
	}
	if base.Rules == nil {
		base.Rules = end.Rules
	}
	return base.Disk, nil
}

// leftOutAround lists what was left out at the start or at the end of c's turn.
func (s *Store) leftOutAround(ctx context.Context, h *record.Held, c Checkpoint) ([]LeftOut, error) {
	left, err := s.LeftOutAll(ctx, c)
	if err != nil {
		return nil, err
	}
	if base := h.Holder(c.Base.Tree); base != nil {
		more, err := s.LeftOutAll(ctx, *base)
		if err != nil {
			return nil, err
		}
		left = append(left, more...)
	}
	if c.BaseCommit == "" {
		return left, nil
	}
	parents, err := s.repo.Parents(ctx, c.BaseCommit)
	if err != nil || len(parents) == 0 {
		return left, err
	}
	more, err := s.leftOutIn(ctx, c.N, parents[0])
	return append(left, more...), err
}

// redoStep finds the turn to put forward again.
func (s *Store) redoStep(ctx context.Context, h *looked) (step, error) {
	if n := len(h.Pane.Undone); n == 0 || h.Pane.Undone[n-1].Left == record.LeftClosed {
		return step{}, &Error{Code: NothingToUndo, Message: "there is nothing to redo: no turn is taken back, or a new turn began since", Command: "checkpoint list"}
	}
	last := h.Pane.Undone[len(h.Pane.Undone)-1]
	c, err := h.Sound(last.N)
	if err != nil {
		return step{}, err
	}
	to, err := s.targetOf(ctx, *c)
	if safety := h.UndoSafety(*c); err == nil && safety != nil { // what the undo took besides comes back, too
		kept, readErr := s.readBeside(ctx, safety.N, safety.Beside, safety.Looked)
		to, err = s.planner.WithTaken(ctx, to, kept)
		err = errors.Join(readErr, err)
	}
	if err != nil {
		return step{}, err
	}
	st := step{turn: *c, from: record.State{Tree: c.Base.Tree}, expect: record.ParseState(last.Left), since: fmt.Sprintf("turn %d was taken back", last.Turn), more: len(h.Pane.Undone) > 1 && h.Pane.Undone[len(h.Pane.Undone)-2].Left != record.LeftClosed}
	st.job = job{
		action: "redo", to: to, label: fmt.Sprintf("before redoing turn %d", last.Turn),
		undone: slices.Clone(h.Pane.Undone[:len(h.Pane.Undone)-1]),
	}
	return st, nil
}

func nothingToUndo(h *looked, turns []Checkpoint, why string) error {
	e := &Error{Code: NothingToUndo, Message: "there is nothing to undo: " + why, Command: "checkpoint list"}
	if len(turns) == 0 && len(h.Checkpoints) == 0 {
		e.Message = "there is nothing to undo: the pane has no checkpoints"
	} else if len(turns) == 0 && why[0] == 'e' {
		e.Message = "there is nothing to undo: no turn that is kept changed files"
	}
	for _, c := range turns {
		e.Numbers = append(e.Numbers, c.N)
	}
	return e
}
