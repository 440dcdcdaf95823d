package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// IgnoredByTree judges paths by the ignore files of a tree, and by the rules
// outside of any tree as they are now. The ignore files are laid out in a folder
// below scratch, which is removed again.
func (r *Repo) IgnoredByTree(ctx context.Context, scratch, tree string, paths []string) (map[string]bool, error) {
	root, err := os.MkdirTemp(scratch, "rules-")
	if err != nil {
		return nil, fmt.Errorf("lay out ignore files: %w", err)
	}
	defer func() { _ = os.RemoveAll(root) }()
	entries, err := r.TreeEntries(ctx, tree)
	if err != nil {
		return nil, err
	}
	objects, err := r.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if path.Base(e.Path) == ".gitignore" && (e.Mode == ModeFile || e.Mode == ModeExec) && CheckPath(e.Path) == nil {
			err = errors.Join(err, layOut(objects, e.ID, filepath.Join(root, e.Path)))
		}
	}
	if err := errors.Join(err, objects.Close()); err != nil {
		return nil, fmt.Errorf("lay out ignore files: %w", err)
	}
	return r.Ignored(ctx, root, paths)
}

func layOut(objects *Objects, id, file string) error {
	var b bytes.Buffer
	if _, _, err := objects.Copy(id, &b); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}
