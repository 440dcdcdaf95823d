package scan

import (
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// storeAsIs stores files that git cannot convert, an encoding in which they are
// not, say: the tree has their very bytes. Those that cannot be had are left out.
// It returns those that changed while they were read.
func (p *pass) storeAsIs(list []work, began int64) ([]work, error) {
	paths := make([]string, len(list))
	for i, w := range list {
		paths[i] = w.path
	}
	ids, err := p.s.storeRaw(p.ctx, paths)
	if err != nil {
		return nil, err
	}
	var again []work
	for i, w := range list {
		if ids[i] == "" {
			p.leaveFile(w, snapshot.NotStorable)
			continue
		}
		stored := map[string]git.IndexEntry{w.path: {Entry: p.gate().EntryOf(p.guarded(w), ids[i])}}
		if p.note(&w, stored, began, onDisk{form: formSame}) {
			again = append(again, w)
		}
	}
	return again, nil
}
