package verify

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git"
)

// objects looks for what the refs need: in one git process where all is there.
func (l *look) objects(ctx context.Context) error {
	if err := l.besideAndBase(ctx); err != nil {
		return err
	}
	if err := l.history(ctx); err != nil {
		return err
	}
	bad := map[string]error{}
	l.bad = bad
	found, err := l.Repo.Reach(ctx, commitsOf(l.units))
	if err == nil {
		l.report.Objects = len(found.Objects)
		for _, id := range found.Missing {
			bad[id] = git.ErrMissingObject
		}
		if l.request.Full {
			if err := l.readAll(ctx, found.Objects, bad); err != nil {
				return err
			}
		}
		if len(bad) == 0 {
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.blame(ctx, l.units, bad)
}

func commitsOf(units []unit) []string {
	var ids []string
	for _, u := range units {
		ids = append(ids, u.commits...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// besideAndBase takes the commits out of the units that are missing, and adds
// what commits of ours have for parents.
func (l *look) besideAndBase(ctx context.Context) error {
	missing, err := l.Repo.Missing(ctx, commitsOf(l.units))
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, id := range missing {
		gone[id] = true
	}
	var bases []string
	for i := range l.units {
		u := &l.units[i]
		for _, id := range u.commits {
			if gone[id] {
				l.brokenUnit(u, fmt.Sprintf("its parent %s is missing", id))
				break
			}
		}
		u.commits = slices.DeleteFunc(u.commits, func(id string) bool { return gone[id] })
		if u.n == 0 && len(u.commits) > 1 {
			bases = append(bases, u.commits[1])
		}
	}
	parents := map[string][]string{}
	_, err = l.Repo.Unsound(ctx, bases, "commit", func(id, _ string, content []byte) { parents[id] = field(content, "parent") })
	for i := range l.units {
		if u := &l.units[i]; u.n == 0 && len(u.commits) > 1 {
			u.commits = append(u.commits, parents[u.commits[1]]...)
		}
	}
	return err
}

// field gives the values of a commit's header.
func field(commit []byte, name string) []string {
	head, _, _ := bytes.Cut(commit, []byte("\n\n"))
	var values []string
	for line := range strings.Lines(string(head) + "\n") {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			values = append(values, strings.TrimSuffix(value, "\n"))
		}
	}
	return values
}

// history looks for the commits that HEAD stood for. In a shallow repository git
// itself may have let them go.
func (l *look) history(ctx context.Context) error {
	heads := map[string]bool{}
	for _, u := range l.units {
		if u.c != nil && u.c.Damaged == "" && u.c.Head != "" {
			heads[u.c.Head] = true
		}
	}
	missing, err := l.Repo.Missing(ctx, slices.Sorted(maps.Keys(heads)))
	if err != nil || len(missing) == 0 {
		return err
	}
	_, statErr := os.Stat(filepath.Join(l.Repo.CommonDir, "shallow"))
	for i := range l.units {
		u := &l.units[i]
		if u.c == nil || !slices.Contains(missing, u.c.Head) {
			continue
		}
		if statErr == nil {
			l.add(about(Note, u.ref, "the commit %s that HEAD stood for is missing: the history is shallow", u.c.Head))
			continue
		}
		l.brokenUnit(u, fmt.Sprintf("the commit %s that HEAD stood for is missing", u.c.Head))
	}
	return nil
}

// readAll reads every object, and checks the names in every tree.
func (l *look) readAll(ctx context.Context, ids []string, bad map[string]error) error {
	unsound, err := l.Repo.Unsound(ctx, ids, "", func(id, kind string, content []byte) {
		if kind != "tree" {
			return
		}
		entries, err := git.ParseTree(content, l.Repo.IDLen)
		if err == nil {
			err = git.CheckTree(entries)
		}
		if err != nil {
			bad[id] = err
		}
	})
	maps.Copy(bad, unsound)
	return err
}

// blame finds the units of a group that need an object which cannot be had, by
// halving the group.
func (l *look) blame(ctx context.Context, group []unit, bad map[string]error) error {
	if len(group) == 0 {
		return nil
	}
	found, err := l.Repo.Reach(ctx, commitsOf(group))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	id := ""
	if err == nil {
		if id = firstBad(found, bad); id == "" {
			return nil
		}
	}
	if len(group) > 1 {
		half := len(group) / 2
		if err := l.blame(ctx, group[:half], bad); err != nil {
			return err
		}
		return l.blame(ctx, group[half:], bad)
	}
	u := &group[0]
	switch why := bad[id]; {
	case err != nil:
		l.brokenUnit(u, fmt.Sprintf("a tree of it cannot be read: %v", err))
	case why == nil || isUnavailable(why):
		l.brokenUnit(u, fmt.Sprintf("object %s of it is missing or corrupt", id))
	default:
		f := about(Damaged, u.ref, "tree %s of it is one that git would not have made: %v", id, why)
		if u.c != nil {
			f.Command = dropCommand(u.c)
		}
		l.add(f)
	}
	return nil
}

func firstBad(found git.Reached, bad map[string]error) string {
	if len(found.Missing) > 0 {
		return slices.Min(found.Missing)
	}
	worst := ""
	for _, id := range found.Objects {
		if why := bad[id]; why != nil && (worst == "" || isUnavailable(why) && !isUnavailable(bad[worst]) || id < worst) {
			worst = id
		}
	}
	return worst
}

// brokenUnit notes that what a ref needs is not there. In a partial clone that may be
// as it should.
func (l *look) brokenUnit(u *unit, what string) {
	if l.found(u.ref) {
		return
	}
	f := about(Broken, u.ref, "%s", what)
	if f.Mend = mendDrop; u.c != nil && u.c.Damaged == "" {
		f.Mend = mendKeep
	}
	if l.isPartial() {
		f.Severity, f.Mend = Note, ""
		f.What += ": this is a partial clone, its remote may have it"
	}
	l.add(f)
}
