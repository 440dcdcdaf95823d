// Package company is what a restore has to know of the other panes of its work
// tree: whose the files are that it would put back. It looks at the refs of all
// panes, at the turns that go on, and at what changed in between.
package company

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/merge"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/whose"
	"github.com/turnback/turnback/internal/git"
)

// OpenTurn is a turn that goes on in the work tree, or that is over and not saved
// yet.
type OpenTurn struct {
	Pane  record.Pane
	Turn  int
	Base  *record.Base // nil: not noted
	With  []record.TurnID
	Named []string // files that its tools named, relative to the root
}

// Request says what is to be put back, and of whose files.
type Request struct {
	Repo    *git.Repo
	Scratch string // an existing folder for temporary files
	Pane    string // the id of the pane whose restore it is
	Paths   []string
	// Mine and AllPanes say what becomes of other panes' files, as in
	// checkpoint.RestoreRequest.
	Mine, AllPanes bool
	OpenTurns      func(ctx context.Context) ([]OpenTurn, error) // nil: there are none
	All            *record.Held                                  // the refs of all panes; nil: they are read when needed
	Named          func(ctx context.Context, c record.Checkpoint) ([]string, error)
}

// Company is what is known of the other panes in a period.
type Company struct {
	request Request
	since   string // what the period began with, for people
	period  Period
	judged  bool
	verdicts
	shared []string
}

// In is the company in a period, which began with since.
func (r Request) In(p Period, since string) *Company {
	return &Company{request: r, period: p, since: since}
}

// Shared are the files that stay because nobody can tell whose they are.
func (o *Company) Shared() []string { return o.shared }

func (o *Company) know(ctx context.Context) (err error) {
	if !o.judged {
		o.verdicts, err = o.request.judge(ctx, o.period)
		o.judged = err == nil
	}
	return err
}

// Tell is Describe of any paths; it finds out about them first.
func (o *Company) Tell(ctx context.Context, paths []string) (string, error) {
	err := o.know(ctx)
	return o.Describe(paths), err
}

// Own is to, if the request does not ask for this pane's files alone. Else it is
// the work tree, whose tree is now, with what this pane changed in the period, and
// nothing else, as to has it; files of which nobody can tell are Shared. It
// refuses where this pane and another changed a path.
func (o *Company) Own(ctx context.Context, now string, to plan.Target) (plan.Target, error) {
	if !o.request.Mine {
		return to, nil
	}
	changes, err := o.request.Repo.ChangedEntries(ctx, now, to.Tree)
	if err != nil {
		return to, plan.AsDamaged(to, err)
	}
	wanted, err := o.Wanted(ctx, changes)
	if err != nil {
		return to, err
	}
	merged, err := merge.Merger{Repo: o.request.Repo, Scratch: o.request.Scratch}.Merge(ctx, merge.Trees{
		Base: now, Ours: now, Theirs: to.Tree, Wanted: wanted,
	})
	if err != nil {
		return to, plan.AsDamaged(to, err)
	}
	if len(merged.Conflicts) > 0 { // a file of this pane's where another has a folder, or the other way round
		return to, o.bothChanged(merged.Conflicts)
	}
	return Part(to, merged), nil
}

// Wanted tells which of changes the request asks for. If it asks for this pane's
// alone, those of which nobody can tell are Shared from then on, and it refuses
// where this pane and another changed a path.
func (o *Company) Wanted(ctx context.Context, changes []git.Change) (func(path string) bool, error) {
	asked := func(path string) bool { return plan.Wanted(path, o.request.Paths) }
	if !o.request.Mine {
		return asked, nil
	}
	if err := o.know(ctx); err != nil {
		return nil, err
	}
	var changed []string
	for _, c := range changes {
		if asked(c.Path) {
			changed = append(changed, c.Path)
		}
	}
	if both := o.having(changed, whose.Both); len(both) > 0 {
		return nil, o.bothChanged(both)
	}
	o.shared = o.having(changed, whose.Shared)
	return func(path string) bool { return asked(path) && o.of[path].Owner == whose.Mine }, nil
}

// Part is to at those of its files that a merge took or merged; the others stay as
// they are.
func Part(to plan.Target, merged merge.Result) plan.Target {
	to.Rules, to.Tree = cmp.Or(to.Rules, to.Tree), merged.Tree
	to.Own, to.Merged = map[string]bool{}, map[string]bool{}
	for _, path := range merged.Taken {
		to.Own[path] = true
	}
	for _, path := range merged.Merged {
		to.Own[path], to.Merged[path] = true, true
	}
	return to
}

// refuseTheirs refuses to change paths that other panes' turns changed in the
// period, or may have.
func (o *Company) refuseTheirs(paths []string) error {
	theirs := o.theirs(paths)
	if len(theirs) == 0 {
		return nil
	}
	return &fail.Error{
		Code: fail.OthersChanged, Paths: theirs, Message: fmt.Sprintf("turns of other panes changed files since %s that this would put back: %s", o.since, o.Describe(theirs)),
		Detail: "add --mine to put back this pane's files alone, or --all-panes to put back all of them", Flags: []string{"--mine", "--all-panes"},
	}
}

// Check refuses a plan that would put back what other panes' turns changed
// in the period, or may have, unless the request says that it may.
func (o *Company) Check(ctx context.Context, p *plan.Plan) error {
	return o.CheckPaths(ctx, changedPaths(p))
}

// CheckPaths is Check of a plan that would change paths.
func (o *Company) CheckPaths(ctx context.Context, paths []string) error {
	if o.request.Mine || o.request.AllPanes || len(paths) == 0 {
		return nil
	}
	if err := o.know(ctx); err != nil {
		return err
	}
	return o.refuseTheirs(paths)
}

func (o *Company) bothChanged(paths []string) error {
	return &fail.Error{
		Code: fail.OthersChanged, Paths: paths, Message: fmt.Sprintf("this pane and others changed the same files since %s: %s", o.since, o.Describe(paths)),
		Detail: "name the other files with --path, or add --all-panes to put back all of them", Flags: []string{"--all-panes"},
	}
}

// Since is the time from c to now, when the work tree has the tree now.
func (r Request) Since(c record.Checkpoint, now string) Period {
	p := Period{root: r.Repo.Worktree, from: whose.Look{At: c.At, Tree: c.Tree}, to: whose.Look{At: forever(), Tree: now}}
	if c.Worktree != r.Repo.Worktree {
		p.from.Tree = "" // it says nothing of this one
	}
	return p
}

// During is the time that c's turn took. Where it is not known when the turn
// began, it is empty.
func During(c record.Checkpoint) Period {
	p := Period{root: c.Worktree, from: whose.Look{At: c.At, Tree: c.Tree}, to: whose.Look{At: c.At, Tree: c.Tree}}
	if c.Base != nil && !c.Base.At.IsZero() {
		p.from = whose.Look{At: c.Base.At, Tree: c.Base.Tree}
	}
	return p
}

// Until is the time from a look at the tree from, the zero time where it is not
// known when that was, to c, which is of no turn.
func Until(c record.Checkpoint, from string, at time.Time) Period {
	return Period{root: c.Worktree, from: whose.Look{At: at, Tree: from}, to: whose.Look{At: c.At, Tree: c.Tree}}
}

// changedPaths are the paths that a plan changes.
func changedPaths(p *plan.Plan) []string {
	out := make([]string, 0, len(p.Ops))
	for _, op := range p.Ops {
		out = append(out, op.Path)
	}
	return out
}
