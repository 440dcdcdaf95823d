package checkpoint

import (
	"context"
	"fmt"
	"slices"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/restore"
)

// FinishRequest finishes a restore that was killed.
type FinishRequest struct {
	Abort    bool // back to the files as they were before; otherwise go on
	Progress func(done, total int64)
	Check    func(ctx context.Context) error // as in RestoreRequest
	// Half puts back what belongs to the restore beside the files, by its tag, or with
	// Abort takes it back; it may be done already. On an error of it the restore stays
	// interrupted. nil: the files alone are finished.
	Half func(tag string) error
}

// Finish goes on with a restore that was killed in this work tree, or takes back
// what it did. It saves a safety checkpoint of its own first, and refuses where
// a path holds neither what was there before the restore nor what it wanted.
func (s *Store) Finish(ctx context.Context, r FinishRequest) (RestoreResult, error) {
	var res RestoreResult
	err := s.locked(ctx, func() error {
		j, err := restore.ReadJournal(s.journalPath())
		if err != nil {
			return s.notInterrupted()
		}
		if j == nil {
			return &Error{Code: InvalidParams, Message: "no restore was interrupted in this work tree", Command: "checkpoint list"}
		}
		if r.Check != nil {
			if err := r.Check(ctx); err != nil {
				return err
			}
		}
		res, err = s.finish(ctx, *j, r)
		return err
	})
	return res, err
}

func (s *Store) finish(ctx context.Context, j restore.Journal, r FinishRequest) (RestoreResult, error) {
	res := RestoreResult{N: j.N, Turn: j.Turn}
	looking, err := plan.LookingRun(ctx, s.repo, s.trusted)
	if err != nil {
		return res, err
	}
	run, done, err := s.writingRun(ctx, looking, j.RunID, r.Progress)
	if err != nil {
		return res, err
	}
	defer done()
	made, err := s.madeAgain(ctx, run, j)
	if err != nil {
		return res, err
	}
	defer made()
	looking.Filtered = run.Filtered
	strange, err := run.CleanUp(ctx, j.Ops)
	if err != nil {
		return res, err
	}
	todo, others, err := run.Remaining(ctx, j, r.Abort)
	if err != nil {
		return res, err
	}
	if strange = append(strange, others...); len(strange) > 0 {
		return res, &Error{
			Code: ChangedMeanwhile, Paths: strange, Message: fmt.Sprintf("%d files hold neither what was there before the restore nor what it wanted: %s", len(strange), fail.Quoted(strange)),
			Detail: "copy these files away and remove them, then run the command again",
		}
	}
	verb := "continuing"
	if r.Abort {
		verb = "aborting"
	}
	l, err := s.look(ctx, j.Pane, nil, nil)
	if err != nil {
		return res, err
	}
	safety := &Checkpoint{
		Kind: KindSafety, Pane: Pane{ID: j.Pane, Window: j.Window, Session: j.Session}, Turn: j.Turn,
		Label: fmt.Sprintf("before %s %s", verb, j.Name()),
	}
	if err := s.record(ctx, l, safety, []int{j.N, j.Safety}); err != nil {
		return res, err
	}
	res.Safety = safety
	if r.Abort {
		j.After, j.Ops, j.Folders = []byte(`{"back":true}`), restore.Reverse(j.Ops), restore.ReverseFolders(j.Folders)
	}
	if _, err := run.Apply(ctx, j.Ops, todo); err != nil {
		return res, s.interrupted(&j, err)
	}
	run.Folders(j.Folders)
	if r.Half != nil && j.Half != "" {
		if err := r.Half(j.Half); err != nil {
			return res, s.interrupted(&j, err)
		}
	}
	for _, i := range todo {
		res.count(j.Ops[i])
	}
	err = s.settle(context.WithoutCancel(ctx), &res, l, j, looking)
	return res, err
}

// madeAgain makes the content behind filters that the run of j needs, whichever
// way it goes.
func (s *Store) madeAgain(ctx context.Context, run *restore.Run, j restore.Journal) (func(), error) {
	if !slices.ContainsFunc(j.Ops, func(op restore.Op) bool { return op.Old.Filtered || op.New.Filtered }) {
		return func() {}, nil
	}
	h, err := record.Read(ctx, s.repo, j.Pane)
	if err != nil {
		return nil, err
	}
	safety, err := h.Sound(j.Safety)
	if err != nil {
		return nil, err
	}
	return s.content.For(ctx, run, safety.Tree, j.Ops, true)
}
