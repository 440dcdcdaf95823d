// Package usage measures what checkpoints cost on the disk.
package usage

import (
	"context"
	"io/fs"
	"path/filepath"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// Stats tell how many bytes are held on the disk by what this program keeps in a
// repository, and by nothing of the person's: no branch, tag, reflog or index.
type Stats struct {
	Total   int64       // of all of it together, the files apart
	Panes   []PaneStats // by pane id
	Trash   int64       // of what is in the trash, also where a pane holds it too
	Trashed int         // checkpoints in the trash
	Files   int64       // files of our own in the git directory
}

// PaneStats are the Stats of one pane. What several panes hold counts for each of
// them, so that the sum may be more than the total.
type PaneStats struct {
	record.Pane
	Checkpoints int
	Bytes       int64
}

// Measure measures what panes and the trash hold. It asks git once for each pane.
func Measure(ctx context.Context, repo *git.Repo, panes []record.PaneInfo) (Stats, error) {
	var st Stats
	var err error
	measure := func(prefixes ...string) (n int64) {
		if err == nil {
			n, err = repo.DiskUsage(ctx, prefixes, record.Root)
		}
		return n
	}
	for _, p := range panes {
		st.Panes = append(st.Panes, PaneStats{
			Pane: p.Pane, Checkpoints: len(p.Checkpoints), Bytes: measure(record.CheckpointsRoot+p.ID+"/", record.PanesRoot+p.ID),
		})
	}
	trash, trashErr := record.ReadTrash(ctx, repo, "")
	if trashErr != nil {
		return st, trashErr
	}
	st.Trashed = len(trash)
	st.Total = measure(record.Root)
	if st.Trashed > 0 {
		st.Trash = measure(record.TrashRoot)
	}
	st.Files = bytesBelow(filepath.Join(repo.CommonDir, "turnback"))
	return st, err
}

// bytesBelow sums up the sizes of the files in a folder; what cannot be read
// counts for nothing.
func bytesBelow(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
