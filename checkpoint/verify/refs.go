package verify

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/record"
)

// refs looks at the refs and at what their commits say.
func (l *look) refs(ctx context.Context) error {
	var err error
	if l.names, err = l.Repo.RefNames(ctx, record.Root); err != nil {
		return err
	}
	held, err := record.Read(ctx, l.Repo, "")
	if err != nil {
		return err
	}
	if err := l.missingCommits(ctx); err != nil {
		return err
	}
	l.report.Checkpoints, l.report.Panes = len(held.Checkpoints), len(held.Panes)
	highest := map[string]int{}
	for i := range held.Checkpoints {
		l.checkpoint(&held.Checkpoints[i])
		highest[held.Checkpoints[i].Pane.ID] = held.Checkpoints[i].N
	}
	for i := range held.Panes {
		l.pane(&held.Panes[i], highest)
	}
	l.others(held)
	return nil
}

// missingCommits finds the refs that hold nothing.
func (l *look) missingCommits(ctx context.Context) error {
	ids := slices.Sorted(maps.Values(l.names))
	missing, err := l.Repo.Missing(ctx, slices.Compact(ids))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.names)) {
		if slices.Contains(missing, l.names[name]) {
			f := about(Broken, name, "its commit %s is missing", l.names[name])
			f.Mend = mendDrop
			l.add(f)
		}
	}
	return nil
}

// checkpoint notes what a checkpoint needs, or that it is damaged.
func (l *look) checkpoint(c *record.Checkpoint) {
	u := unit{ref: c.Ref, pane: c.Pane.ID, n: c.N, c: c}
	switch {
	case l.found(c.Ref):
		return
	case c.Damaged != "":
		f := about(Damaged, c.Ref, "%s", c.Damaged)
		f.Command = dropCommand(c)
		l.add(f)
	}
	if c.Tree != "" {
		u.commits = append(u.commits, c.Commit)
	}
	if c.Damaged == "" {
		for _, commit := range []string{c.BaseCommit, c.Beside} {
			if commit != "" {
				u.commits = append(u.commits, commit)
			}
		}
	}
	l.units = append(l.units, u)
}

func (l *look) found(ref string) bool {
	return slices.ContainsFunc(l.report.Findings, func(f Finding) bool { return f.Ref == ref })
}

func (l *look) pane(p *record.PaneState, highest map[string]int) {
	ref := record.PanesRoot + p.ID
	if l.found(ref) {
		return
	}
	if p.Damaged != "" {
		l.add(about(Note, ref, "%s; its numbers are counted again from the checkpoints", p.Damaged))
		return
	}
	if n := highest[p.ID]; n > p.HighestN {
		l.add(about(Note, ref, "it says that checkpoint %d is the newest, there is a checkpoint %d; the higher one counts", p.HighestN, n))
	}
	u := unit{ref: ref, pane: p.ID, commits: []string{p.Commit}}
	if p.BaseCommit != "" {
		u.commits = append(u.commits, p.BaseCommit)
	}
	l.units = append(l.units, u)
}

// others notes the refs that are neither: those of later versions, and what came
// from somewhere else.
func (l *look) others(held *record.Held) {
	known := map[string]bool{}
	for i := range held.Checkpoints {
		known[held.Checkpoints[i].Ref] = true
	}
	for i := range held.Panes {
		known[record.PanesRoot+held.Panes[i].ID] = true
	}
	for _, name := range slices.Sorted(maps.Keys(l.names)) {
		if known[name] || l.found(name) {
			continue
		}
		l.units = append(l.units, unit{ref: name, commits: []string{l.names[name]}})
		if strings.HasPrefix(name, record.CheckpointsRoot) {
			l.add(about(Note, name, "this is no name of a checkpoint"))
		}
	}
}
