package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// MergeTexts merges three texts line by line, as git's own text merge does; no
// program that config or attributes name runs. It lays them out in scratch, a
// folder of the caller's. ok is false where the two sides changed the same lines,
// or a side is no text.
func (r *Repo) MergeTexts(ctx context.Context, scratch string, ours, base, theirs []byte) (merged []byte, ok bool, err error) {
	names := []string{"ours", "base", "theirs"}
	for i, data := range [][]byte{ours, base, theirs} {
		names[i] = filepath.Join(scratch, names[i])
		if err := os.WriteFile(names[i], data, 0o600); err != nil {
			return nil, false, fmt.Errorf("lay out a text to merge: %w", err)
		}
	}
	args := []string{"merge-file", "-p", "-q", "--marker-size=7"}
	merged, err = r.output(ctx, call{dir: r.Worktree, args: append(args, names...)})
	var e *Error
	switch {
	case err == nil:
		return merged, true, nil
	case errors.As(err, &e) && e.Code > 0: // the number of conflicts, or 255 for what is no text
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("merge texts: %w", err)
}

// Attributes reads git attributes of paths, by path and then by name. A value is
// as git says it: "set", "unset", "unspecified", or what a file gives it.
func (r *Repo) Attributes(ctx context.Context, names, paths []string) (map[string]map[string]string, error) {
	return r.attributesAt(ctx, "", names, paths)
}

// attributesAt goes by the attribute files of root; empty: the work tree's.
func (r *Repo) attributesAt(ctx context.Context, root string, names, paths []string) (map[string]map[string]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	args := append([]string{"check-attr", "-z", "--stdin"}, names...)
	c := call{dir: r.Worktree, apart: true, index: r.noIndex(), stdin: strings.NewReader(joinNUL(paths)), args: args}
	r.at(&c, root)
	out, err := r.output(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	f := splitNULKeepEmpty(out)
	if len(f) != 3*len(paths)*len(names) {
		return nil, fmt.Errorf("read attributes: %d answers to %d questions", len(f)/3, len(paths)*len(names))
	}
	found := make(map[string]map[string]string, len(paths))
	for i := 0; i < len(f); i += 3 {
		if found[f[i]] == nil {
			found[f[i]] = map[string]string{}
		}
		found[f[i]][f[i+1]] = f[i+2]
	}
	return found, nil
}
