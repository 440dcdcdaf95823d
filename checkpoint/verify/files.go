package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/restore"
)

// oldEnough is the age from which a temporary file or a lock of ours belongs to
// no process that still runs.
const oldEnough = time.Hour

const (
	mendRemove = "remove the file"
	mendAside  = "move the file aside, to turnback/broken-refs in the git directory"
)

// files looks at our own files in the git directory, and at the files of our refs
// that git does not list.
func (l *look) files(context.Context) error {
	if err := l.alternates(); err != nil {
		return err
	}
	if err := l.refFiles(); err != nil {
		return err
	}
	own := filepath.Join(l.Repo.CommonDir, "turnback")
	for _, dir := range []string{own, filepath.Join(own, "panes")} {
		l.leftovers(dir)
	}
	l.panes(filepath.Join(own, "panes"))
	trees, err := os.ReadDir(filepath.Join(own, "trees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at our files: %w", err)
	}
	for _, t := range trees {
		dir := filepath.Join(own, "trees", t.Name())
		l.leftovers(dir)
		l.journal(filepath.Join(dir, "restore.json"))
	}
	return nil
}

// leftovers finds the temporary files and folders of killed processes.
func (l *look) leftovers(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return // there is no such folder, or it is told of elsewhere
	}
	for _, e := range list {
		if full := filepath.Join(dir, e.Name()); isTemporary(e.Name()) && l.isOld(full) {
			l.add(Finding{Severity: Leftover, File: full, What: "a killed process left this temporary file", Mend: mendRemove})
		}
	}
}

// isTemporary tells whether a name is one of those in docs/format.md that are of
// no use once their process is gone.
func isTemporary(name string) bool {
	for _, prefix := range []string{"index-", "rules-", "table-", "journal-", "newest.json-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	inner, hidden := strings.CutPrefix(name, ".")
	return hidden && (strings.Contains(inner, ".json.") || strings.HasPrefix(inner, "table."))
}

func (l *look) isOld(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && l.Now().Sub(st.ModTime()) > oldEnough
}

// journal tells of a restore that was killed.
func (l *look) journal(path string) {
	j, err := restore.ReadJournal(path)
	switch {
	case err != nil:
		l.add(Finding{Severity: Damaged, File: path, What: err.Error()})
	case j != nil:
		l.add(Finding{
			Severity: Damaged, File: path, Pane: j.Pane, N: j.N, Command: "checkpoint restore --continue",
			What: fmt.Sprintf("a restore was killed in the work tree %s; checkpoint %d holds the files as they were before", filepath.Base(filepath.Dir(path)), j.Safety),
		})
	}
}

// panes looks at the records of windows that other processes read.
func (l *look) panes(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		full := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		data, err := os.ReadFile(full)
		var record map[string]any
		if err == nil {
			err = json.Unmarshal(data, &record)
		}
		if err != nil {
			l.add(Finding{Severity: Note, File: full, What: fmt.Sprintf("the record of a window cannot be read: %v; it is made again with the window's next report", err)})
		}
	}
}

// refFiles looks for files below refs/turnback that git does not list: locks that
// a killed git left, and refs that cannot be read, at which git fsck stumbles.
func (l *look) refFiles() error {
	root := filepath.Join(l.Repo.CommonDir, filepath.FromSlash(strings.TrimSuffix(record.Root, "/")))
	err := filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreAbsent(err)
		}
		rel, err := filepath.Rel(l.Repo.CommonDir, full)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		_, listed := l.names[name]
		switch {
		case listed:
		case strings.HasSuffix(name, ".lock"):
			if l.isOld(full) {
				l.add(Finding{Severity: Leftover, File: full, What: "a killed git left this lock of a ref of ours", Mend: mendRemove})
			}
		default:
			f := about(Broken, name, "git cannot read this ref")
			f.File, f.Mend = full, mendAside
			l.add(f)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look at the files of refs: %w", err)
	}
	return nil
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// unlistedStill tells whether a ref that could not be read was not made, or mended, meanwhile.
func (l *look) unlistedStill(ctx context.Context, name string) bool {
	now, err := l.Repo.RefNames(ctx, record.Root)
	_, listed := now[name]
	return err == nil && !listed && !slices.Contains([]string{"", record.Root}, name)
}
