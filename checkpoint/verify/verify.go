// Package verify looks for checkpoints that cannot be had: before a person needs
// one, and before what is missing breaks git's own fetch and gc.
package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// Request says how much is looked at.
type Request struct {
	// Full reads every object whole, so that a corrupt one is found, and checks
	// every name in every tree. It takes as long as git fsck.
	Full bool
	// Mend carries out what a finding offers as its Mend.
	Mend bool
}

// Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Broken   Severity = "broken"   // git's own commands fail in this repository: gc, and with some fetch
	Damaged  Severity = "damaged"  // a checkpoint cannot be restored, or not in full
	Leftover Severity = "leftover" // a killed process left it; it costs room, or is in the way
	Note     Severity = "note"     // good to know; nothing is lost
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Severity Severity
	Ref      string // the ref that it is about; empty: none
	Pane     string // the pane's id, and the checkpoint's number, where there are such
	N        int
	File     string // the file that it is about, absolute; empty: none
	What     string // one clause, lower case
	Mend     string // what Mend does about it; empty: nothing
	Command  string // a command that helps, without the program's name; empty: none
	Mended   bool   // Mend was asked for and is done
	Failed   string // Mend was asked for and could not be done: why
}

// Report is what was looked at, and what was found, the worst first.
type Report struct {
	Checkpoints int
	Panes       int
	Objects     int
	Findings    []Finding
}

// OK tells whether nothing is wrong, or what was is mended.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Mended && (f.Severity == Broken || f.Severity == Damaged) })
}

// Checker looks at the checkpoints of one repository.
type Checker struct {
	Repo *git.Repo
	Now  func() time.Time
}

// Verify looks at everything that turnback has in the repository: refs, what they
// say, the objects that they need, and its files. Nothing is changed unless r
// says so; a ref that moved meanwhile is left alone.
func (c *Checker) Verify(ctx context.Context, r Request) (Report, error) {
	l := &look{Checker: c, request: r}
	for _, step := range []func(context.Context) error{l.refs, l.objects, l.contents, l.files, l.forget} {
		if err := step(ctx); err != nil {
			return Report{}, err
		}
	}
	if r.Mend {
		l.mend(ctx)
	}
	order := []Severity{Broken, Damaged, Leftover, Note}
	slices.SortStableFunc(l.report.Findings, func(a, b Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	return l.report, nil
}

// Drop finds the refs whose commit is missing and deletes them: they hold
// nothing any more, and git fetch and gc fail because of them. It needs two git
// processes where all is well.
func (c *Checker) Drop(ctx context.Context) ([]Finding, error) {
	l := &look{Checker: c}
	var err error
	if l.names, err = c.Repo.RefNames(ctx, record.Root); err != nil {
		return nil, err
	}
	if err := l.missingCommits(ctx); err != nil || len(l.report.Findings) == 0 {
		return nil, err
	}
	l.mend(ctx)
	return l.report.Findings, nil
}

// look is one run.
type look struct {
	*Checker
	request Request
	report  Report
	names   map[string]string // refs of ours with what they hold
	units   []unit
	bad     map[string]error // objects that are missing or corrupt, as far as they were seen
}

// unit is what one ref of ours needs.
type unit struct {
	ref     string
	pane    string
	n       int
	commits []string // of ours: their trees have to be there
	c       *record.Checkpoint
}

func (l *look) add(f Finding) { l.report.Findings = append(l.report.Findings, f) }

// about starts a finding about a ref.
func about(s Severity, ref, what string, args ...any) Finding {
	f := Finding{Severity: s, Ref: ref, What: fmt.Sprintf(what, args...)}
	if pane, n, ok := record.ParseRef(ref); ok {
		f.Pane, f.N = pane, n
	}
	return f
}

const (
	mendDrop = "delete the ref"
	mendKeep = "write it anew without what is lost"
)

// forget takes out what is about a ref that was moved or deleted meanwhile.
func (l *look) forget(ctx context.Context) error {
	if len(l.report.Findings) == 0 {
		return nil
	}
	now, err := l.Repo.RefNames(ctx, record.Root)
	if err != nil {
		return err
	}
	l.report.Findings = slices.DeleteFunc(l.report.Findings, func(f Finding) bool {
		then, listed := l.names[f.Ref]
		return listed && now[f.Ref] != then
	})
	return nil
}
