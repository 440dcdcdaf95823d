package purge

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint/record"
)

// Erased tells what became of objects that nothing refers to any more.
type Erased struct {
	Removed int      // objects
	Held    []string // unreachable commits of the person's that still hold files that were at the path
	Left    []string // ids that could not be removed: written again meanwhile, or in an alternate
}

// Erase removes from the object store what was at the path, gone by id, and what
// held it: trees, and commits of ours, as far as nothing can reach them. Of what
// is unreachable nothing else goes, and nothing that a commit of the person's
// still holds, one that a reset or a dropped stash left behind, say.
//
// since is the time of the file system from before the refs were looked at.
func (p *Purger) Erase(ctx context.Context, gone []string, since time.Time) (Erased, error) {
	u, err := p.unreachable(ctx)
	if err != nil {
		return Erased{}, err
	}
	bad := map[string]bool{}
	note := func(id string) {
		if u.kinds[id] != "" {
			bad[id] = true
		}
	}
	for _, id := range gone {
		note(id)
	}
	for _, root := range u.roots() {
		for _, path := range []string{p.Path, "raw/" + p.Path, "overwritten/" + p.Path} {
			for _, id := range u.filesAt(root, strings.Split(path, "/")) {
				note(id)
			}
		}
	}
	kept, holders := u.keptByOthers(bad)
	remove := u.upwards(bad, kept)
	res := Erased{Held: holders}
	if len(remove) == 0 {
		return res, nil
	}
	if res.Left, err = p.Repo.ForgetObjects(ctx, remove, since); err != nil {
		return res, err
	}
	res.Removed = len(remove) - len(res.Left)
	return res, nil
}

// graph is what is unreachable in an object store.
type graph struct {
	kinds    map[string]string // type by id
	children map[string][]string
	entries  map[string]map[string]string // of a tree: ids by name
	tree     map[string]string            // of a commit
	ours     map[string]bool              // commits
}

func (p *Purger) unreachable(ctx context.Context) (*graph, error) {
	all, err := p.Repo.AllObjects(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.Repo.ReachableFrom(ctx, nil, func(id string) { delete(all, id) }); err != nil {
		return nil, err
	}
	g := &graph{kinds: all, children: map[string][]string{}, entries: map[string]map[string]string{}, tree: map[string]string{}, ours: map[string]bool{}}
	objects, err := p.Repo.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	for id, kind := range all {
		if kind == "blob" {
			continue
		}
		var b bytes.Buffer
		if _, _, err := objects.Copy(id, &b); err != nil {
			return nil, errors.Join(err, objects.Close())
		}
		if kind == "tree" {
			err = g.addTree(id, b.Bytes(), p.Repo.IDLen)
		} else {
			g.addCommit(id, b.String())
		}
		if err != nil {
			return nil, errors.Join(err, objects.Close())
		}
	}
	return g, objects.Close()
}

func (g *graph) addTree(id string, data []byte, idLen int) error {
	entries, err := parseTree(id, data, idLen)
	g.entries[id] = map[string]string{}
	for name, child := range entries {
		g.entries[id][name] = child.ID
		g.children[id] = append(g.children[id], child.ID)
	}
	return err
}

// addCommit reads a commit or a tag.
func (g *graph) addCommit(id, text string) {
	head, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		switch name, value, _ := strings.Cut(line, " "); name {
		case "tree":
			g.tree[id] = value
			g.children[id] = append(g.children[id], value)
		case "parent", "object":
			g.children[id] = append(g.children[id], value)
		case "committer":
			g.ours[id] = strings.HasPrefix(value, record.IdentityName+" <"+record.IdentityEmail+"> ")
		}
	}
}

// roots are the trees of commits of ours, and trees that nothing holds.
func (g *graph) roots() []string {
	var out []string
	held := map[string]bool{}
	for id := range g.children {
		for _, child := range g.children[id] {
			held[child] = true
		}
		if g.ours[id] {
			out = append(out, g.tree[id])
		}
	}
	for id := range g.entries {
		if !held[id] {
			out = append(out, id)
		}
	}
	return out
}

// filesAt lists what is at a path of a tree and below it.
func (g *graph) filesAt(tree string, path []string) []string {
	for _, name := range path {
		tree = g.entries[tree][name]
	}
	var files []string
	var add func(id string)
	add = func(id string) {
		if g.kinds[id] == "blob" {
			files = append(files, id)
		}
		for _, child := range g.entries[id] {
			add(child)
		}
	}
	if tree != "" {
		add(tree)
	}
	return files
}

// keptByOthers gives what the person's own unreachable commits and tags hold, and
// those of them that hold something bad.
func (g *graph) keptByOthers(bad map[string]bool) (kept map[string]bool, holders []string) {
	kept = map[string]bool{}
	var walk func(id string) bool
	reaches := map[string]bool{}
	walk = func(id string) bool {
		if kept[id] || g.kinds[id] == "" {
			return reaches[id]
		}
		kept[id] = true
		reaches[id] = bad[id]
		for _, child := range g.children[id] {
			if walk(child) {
				reaches[id] = true
			}
		}
		return reaches[id]
	}
	for id, kind := range g.kinds {
		if (kind == "commit" || kind == "tag") && !g.ours[id] && walk(id) {
			holders = append(holders, id)
		}
	}
	return kept, holders
}

// upwards gives bad and all that holds some of it, without what is kept.
func (g *graph) upwards(bad, kept map[string]bool) map[string]bool {
	parents := map[string][]string{}
	for id, children := range g.children {
		for _, child := range children {
			parents[child] = append(parents[child], id)
		}
	}
	remove := map[string]bool{}
	var up func(id string)
	up = func(id string) {
		if remove[id] || kept[id] || g.kinds[id] == "" {
			return
		}
		remove[id] = true
		for _, parent := range parents[id] {
			up(parent)
		}
	}
	for id := range bad {
		up(id)
	}
	return remove
}

// Places of the repository that can hold what was purged.
const (
	InBranches    = "branches, tags, the stash and other refs"
	InReflogs     = "reflogs"
	InIndex       = "the index"
	InCheckpoints = "checkpoints, at other paths"
)

// Still tells where files that were at the path can still be reached, with how
// many of them.
func (p *Purger) Still(ctx context.Context, gone []string) (map[string]int, error) {
	found := map[string]int{}
	if len(gone) == 0 {
		return found, nil
	}
	want := map[string]bool{}
	for _, id := range gone {
		want[id] = true
	}
	for place, roots := range map[string][]string{
		InBranches: {"--exclude=" + record.Root + "*", "--all"}, InReflogs: {"--reflog"}, InIndex: {"--indexed-objects"},
		InCheckpoints: {"--glob=" + record.Root + "*", "--not", "--exclude=" + record.Root + "*", "--all"},
	} {
		err := p.Repo.ReachableFrom(ctx, roots, func(id string) {
			if want[id] {
				found[place]++
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
