package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/git/rules"
)

// IgnoredByTree judges paths by the ignore files of a tree, and by the rules
// outside of it (nil: as they are now). All of them are laid out in a folder
// below scratch, which is removed again.
func (r *Repo) IgnoredByTree(ctx context.Context, scratch, tree string, outside *rules.Rules, paths []string) (map[string]bool, error) {
	root, err := r.LayOut(ctx, scratch, tree, ".gitignore")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(root) }()
	if outside == nil || len(paths) == 0 {
		return r.Ignored(ctx, root, paths)
	}
	dir, err := os.MkdirTemp(scratch, LaidOut)
	if err != nil {
		return nil, fmt.Errorf("lay out ignore rules: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := errors.Join(outside.LayOut(dir), outside.LayOutFiles(root)); err != nil {
		return nil, fmt.Errorf("lay out ignore rules: %w", err)
	}
	return r.ignored(ctx, call{
		dir: root, stdin: strings.NewReader("./" + strings.Join(paths, "\x00./") + "\x00"),
		env:  []string{"GIT_LITERAL_PATHSPECS=0", "GIT_DIR=" + dir, "GIT_WORK_TREE=" + root},
		args: []string{"check-ignore", "--no-index", "-z", "-v", "-n", "--stdin"},
	}, paths)
}

// LaidOut begins the names of the folders that LayOut makes.
const LaidOut = "rules-"

// LayOut writes the files of a tree that are called name into a new folder below
// scratch, each at its path. The folder is the caller's to remove.
func (r *Repo) LayOut(ctx context.Context, scratch, tree, name string) (string, error) {
	root, err := os.MkdirTemp(scratch, LaidOut)
	if err != nil {
		return "", fmt.Errorf("lay out %s files: %w", name, err)
	}
	if err := r.layOutIn(ctx, root, tree, name); err != nil {
		_ = os.RemoveAll(root)
		return "", fmt.Errorf("lay out %s files: %w", name, err)
	}
	return root, nil
}

func (r *Repo) layOutIn(ctx context.Context, root, tree, name string) error {
	entries, err := r.TreeEntries(ctx, tree)
	if err != nil {
		return err
	}
	objects, err := r.ReadObjects(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if path.Base(e.Path) == name && (e.Mode == ModeFile || e.Mode == ModeExec) && CheckPath(e.Path) == nil {
			err = errors.Join(err, layOut(objects, e.ID, filepath.Join(root, e.Path)))
		}
	}
	return errors.Join(err, objects.Close())
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
