package fresh

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// bytes makes snapshot.Result.Bytes for tree: it reads every file again and
// every blob.
func (k *making) bytes(tree string) (string, error) {
	entries, err := k.repo.TreeEntries(k.ctx, tree)
	if err != nil {
		return "", err
	}
	left := snapshot.ByPath(k.left)
	var crlf, raw []git.Entry
	objects, err := k.repo.ReadObjects(k.ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = objects.Close() }()
	for _, e := range entries {
		if left.At(e.Path) != "" || e.Mode != git.ModeFile && e.Mode != git.ModeExec || k.beyondLink(e.Path) {
			continue
		}
		full := filepath.Join(k.repo.Worktree, e.Path)
		if st, err := os.Lstat(full); err != nil || !st.Mode().IsRegular() {
			continue
		}
		disk, err := os.ReadFile(full)
		if err != nil {
			return "", err
		}
		var blob bytes.Buffer
		if _, _, err := objects.Copy(e.ID, &blob); err != nil {
			return "", err
		}
		lines := blob.String()
		switch {
		case lines == string(disk):
		case !strings.Contains(lines, "\r") && strings.ReplaceAll(lines, "\n", "\r\n") == string(disk):
			crlf = append(crlf, e)
		default:
			raw = append(raw, e)
		}
	}
	crlf, hidden, err := k.unfiltered(crlf)
	if err != nil {
		return "", err
	}
	raw, more, err := k.unfiltered(raw)
	if err != nil {
		return "", err
	}
	return k.bytesTree(crlf, raw, append(hidden, more...))
}

// unfiltered parts list into what is not behind a filter, and what is.
func (k *making) unfiltered(list []git.Entry) (open, hidden []git.Entry, err error) {
	paths := make([]string, 0, len(list))
	for _, e := range list {
		paths = append(paths, e.Path)
	}
	named, err := k.repo.FiltersOf(k.ctx, "", paths)
	for _, e := range list {
		if named[e.Path] != "" {
			hidden = append(hidden, e)
			continue
		}
		open = append(open, e)
	}
	return open, hidden, err
}

// bytesTree stores the bytes of raw and makes the tree of both.
func (k *making) bytesTree(crlf, raw, hidden []git.Entry) (string, error) {
	if len(crlf)+len(raw)+len(hidden) == 0 {
		return "", nil
	}
	var all []git.Entry
	for _, e := range hidden {
		all = append(all, git.Entry{Path: snapshot.BytesFiltered + "/" + e.Path, Mode: e.Mode, ID: e.ID})
	}
	for _, e := range crlf {
		all = append(all, git.Entry{Path: snapshot.BytesCRLF + "/" + e.Path, Mode: e.Mode, ID: e.ID})
	}
	for _, e := range raw {
		disk, err := os.ReadFile(filepath.Join(k.repo.Worktree, e.Path))
		if err != nil {
			return "", err
		}
		id, err := k.repo.WriteBlob(k.ctx, disk)
		if err != nil {
			return "", err
		}
		all = append(all, git.Entry{Path: snapshot.BytesRaw + "/" + e.Path, Mode: git.ModeFile, ID: id})
	}
	index := k.index + "-bytes"
	if err := k.fill(index, all); err != nil {
		return "", err
	}
	return k.repo.WriteIndexTree(k.ctx, index)
}
