package purge

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/trees"
)

// Request says what is to leave all checkpoints.
type Request struct {
	Path   string // literal, relative to the root: a file, or a folder with all in it
	Now    bool   // remove the objects too, as far as nothing can reach them
	DryRun bool   // change nothing
	// Check is called while all work trees are locked, before anything is changed:
	// an error of it ends the purge. Nothing may be mid-turn. It may be nil.
	Check func(ctx context.Context) error
}

// Outcome tells what was purged, and where it is still.
type Outcome struct {
	Rewritten []record.Checkpoint // without the path now; number, label and time are the same
	Dropped   []record.Checkpoint // damaged, and with the path in their tree
	Unknown   []record.Checkpoint // damaged, so that nobody can tell; they stay
	Files     int                 // different contents that were at the path
	Still     map[string]int      // how many of these can still be reached, by InBranches and the like
	OnDisk    bool                // something is at the path in this work tree: the next checkpoint has it again, unless git ignores it
	Removed   int                 // objects removed; with Now
	HeldBy    []string            // unreachable commits of the person's that hold some of it; with Now
	Left      int                 // objects that could not be removed: wanted again meanwhile, or in an alternate; with Now
}

// Run takes r.Path out of all that the refs of ours hold. All work trees are
// locked.
func (p *Purger) Run(ctx context.Context, r Request) (Outcome, error) {
	p.Path = r.Path
	if err := p.nothingInterrupted(); err != nil {
		return Outcome{}, err
	}
	if r.Check != nil {
		if err := r.Check(ctx); err != nil {
			return Outcome{}, err
		}
	}
	since, err := p.timeOfDisk()
	if err != nil {
		return Outcome{}, err
	}
	plan, err := p.readAndPlan(ctx)
	if err != nil {
		return Outcome{}, err
	}
	res := Outcome{Rewritten: plan.Rewritten, Dropped: plan.Dropped, Unknown: plan.Unknown, Files: len(plan.Gone)}
	if _, err := os.Lstat(filepath.Join(p.Repo.Worktree, p.Path)); err == nil {
		res.OnDisk = true
	}
	if !r.DryRun {
		if err := errors.Join(p.Update(ctx, plan.Changes), p.forgetCaches()); err != nil {
			return res, err
		}
	}
	if r.Now && !r.DryRun {
		erased, err := p.Erase(ctx, plan.Gone, since)
		if err != nil {
			return res, err
		}
		res.Removed, res.HeldBy, res.Left = erased.Removed, erased.Held, len(erased.Left)
	}
	res.Still, err = p.Still(ctx, plan.Gone)
	return res, err
}

func (p *Purger) readAndPlan(ctx context.Context) (Result, error) {
	held, err := record.Read(ctx, p.Repo, "")
	if err != nil {
		return Result{}, err
	}
	trash, err := record.ReadTrash(ctx, p.Repo, "")
	if err != nil {
		return Result{}, err
	}
	var ids []string
	for _, t := range trash {
		if t.Kept != "" {
			ids = append(ids, t.Kept)
		}
	}
	kept, err := p.Repo.Commits(ctx, ids)
	if err != nil {
		return Result{}, err
	}
	return p.Plan(ctx, held, trash, kept)
}

// nothingInterrupted refuses while a restore of any work tree waits to be finished:
// its journal names contents.
func (p *Purger) nothingInterrupted() error {
	folders, err := trees.Folders(filepath.Dir(p.Dir))
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if _, err := os.Lstat(filepath.Join(dir, trees.JournalName)); err == nil {
			return &fail.Error{
				Code: fail.Interrupted, Message: "a restore was interrupted in a work tree of this repository", Paths: []string{dir},
				Command: "checkpoint restore --continue", Detail: "finish it in its work tree first, with --continue or --abort",
			}
		}
	}
	return nil
}

// timeOfDisk is the time by which the file system with the objects stamps files.
func (p *Purger) timeOfDisk() (time.Time, error) {
	f, err := os.CreateTemp(p.Dir, "purge-")
	if err != nil {
		return time.Time{}, err
	}
	st, err := f.Stat()
	if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return time.Time{}, err
	}
	return st.ModTime(), nil
}

// forgetCaches removes what is remembered of the files of all work trees. It is
// made again.
func (p *Purger) forgetCaches() error {
	folders, err := trees.Folders(filepath.Dir(p.Dir))
	if err != nil {
		return err
	}
	for _, dir := range folders {
		for _, name := range []string{"newest.json", "table"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
