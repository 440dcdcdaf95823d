package purge

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// removeBytes takes path out of trees of bytes on disk, as beside.Content.Bytes. A
// tree of which nothing is left is empty.
func removeBytes(ctx context.Context, repo *git.Repo, trees []string, path string) (map[string]without, error) {
	out := make(map[string]without, len(trees))
	if len(trees) == 0 {
		return out, nil
	}
	empty, err := repo.EmptyTree(ctx)
	if err != nil {
		return nil, err
	}
	for _, tree := range trees {
		out[tree] = without{tree: tree}
	}
	for _, mirror := range []string{snapshot.BytesRaw, snapshot.BytesCRLF} {
		var now []string
		for _, w := range out {
			if w.tree != "" {
				now = append(now, w.tree)
			}
		}
		less, err := removePath(ctx, repo, now, mirror+"/"+path)
		if err != nil {
			return nil, err
		}
		for tree, w := range out {
			l, ok := less[w.tree]
			if !ok {
				continue
			}
			if w.tree = l.tree; w.tree == empty {
				w.tree = ""
			}
			w.gone = append(slices.Clone(w.gone), l.gone...)
			out[tree] = w
		}
	}
	return out, nil
}

// lookAtBytes takes the path out of every tree of bytes that digests name.
func (p *Purger) lookAtBytes(ctx context.Context, disks []string) error {
	all := map[string]bool{}
	for _, disk := range disks {
		if bytes, _ := record.BytesOf(disk); bytes != "" {
			all[bytes] = true
		}
	}
	var err error
	p.bytes, err = removeBytes(ctx, p.Repo, slices.Sorted(maps.Keys(all)), p.Path)
	return err
}

// disk is a digest, as that of a checkpoint, without the path.
func (p *Purger) disk(digest string) string {
	bytes, _ := record.BytesOf(digest)
	w, ok := p.bytes[bytes]
	if !ok {
		return digest
	}
	for _, id := range w.gone {
		p.gone[id] = true
	}
	modes, _, _ := strings.Cut(digest, "+")
	return record.JoinDisk(modes, w.tree)
}

// state is a record.State, as an Undone has it, without the path.
func (p *Purger) state(text string) string {
	s := record.ParseState(text)
	return record.State{Tree: p.without(s.Tree), Disk: p.disk(s.Disk)}.String()
}
