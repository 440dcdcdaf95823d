package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git/quarantine"
)

// AllObjects lists every object of the store, reachable or not, with its type;
// those of alternates too.
func (r *Repo) AllObjects(ctx context.Context) (map[string]string, error) {
	out, err := r.output(ctx, call{dir: r.Worktree, args: []string{"cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objecttype)"}})
	if err != nil {
		return nil, fmt.Errorf("list objects: %w", err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, kind, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all[id] = kind
	}
	return all, nil
}

// ReachableFrom calls each for every object that can be reached from roots: refs,
// HEAD, reflogs and indexes as rev-list names them; of none from all of them.
func (r *Repo) ReachableFrom(ctx context.Context, roots []string, each func(id string)) error {
	if len(roots) == 0 {
		roots = []string{"--all", "--reflog", "--indexed-objects"}
	}
	args := append([]string{"rev-list", "--objects", "--no-object-names", "--missing=allow-promisor"}, roots...)
	out, err := r.output(ctx, call{dir: r.Worktree, args: args})
	if err != nil {
		return fmt.Errorf("walk the objects: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		each(lines.Text())
	}
	return lines.Err()
}

// ForgetObjects removes objects from the store for good: loose ones by their
// files, packed ones by writing their packs anew with all else that is in them.
// The caller knows that nothing refers to them. A loose one that was written again
// since then stays; so does one in an alternate. left names those that are still
// there.
func (r *Repo) ForgetObjects(ctx context.Context, ids map[string]bool, since time.Time) (left []string, err error) {
	store, err := r.line(ctx, call{dir: r.Worktree, args: []string{"rev-parse", "--path-format=absolute", "--git-path", "objects"}})
	if err != nil {
		return nil, fmt.Errorf("find the object store: %w", err)
	}
	for id := range ids {
		if err := quarantine.RemoveOlder(filepath.Join(store, id[:2], id[2:]), since); err != nil {
			return nil, fmt.Errorf("remove an object: %w", err)
		}
	}
	packs, err := filepath.Glob(filepath.Join(quarantine.GlobLiteral(store), "pack", "*.idx"))
	if err != nil {
		return nil, err
	}
	for _, idx := range packs {
		if err := r.packWithout(ctx, store, strings.TrimSuffix(idx, ".idx"), ids); err != nil {
			return nil, fmt.Errorf("write %s anew: %w", filepath.Base(idx), err)
		}
	}
	if err := r.renewGraph(ctx, filepath.Join(store, "info")); err != nil {
		return nil, err
	}
	list := make([]string, 0, len(ids))
	for id := range ids {
		list = append(list, id)
	}
	missing, err := r.Missing(ctx, list)
	if err != nil {
		return nil, err
	}
	gone := make(map[string]bool, len(missing))
	for _, id := range missing {
		gone[id] = true
	}
	return slices.DeleteFunc(list, func(id string) bool { return gone[id] }), nil
}

// renewGraph has git make its graph of the commits anew where there is one: it may
// name commits that are gone.
func (r *Repo) renewGraph(ctx context.Context, info string) error {
	had := false
	for _, name := range []string{"commit-graph", "commit-graphs"} {
		if _, err := os.Lstat(filepath.Join(info, name)); err != nil {
			continue
		}
		had = true
		if err := os.RemoveAll(filepath.Join(info, name)); err != nil {
			return fmt.Errorf("remove the graph of the commits: %w", err)
		}
	}
	if !had {
		return nil
	}
	if err := r.git.stream(ctx, call{dir: r.Worktree, args: []string{"commit-graph", "write", "--reachable", "--no-progress"}}, nil); err != nil {
		return fmt.Errorf("write the graph of the commits: %w", err)
	}
	return nil
}

// packWithout writes the pack anew without ids, if it has any of them. base is its
// path without the ending.
func (r *Repo) packWithout(ctx context.Context, store, base string, ids map[string]bool) error {
	idx, err := os.Open(base + ".idx")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // repacked meanwhile
	}
	if err != nil {
		return err
	}
	out, err := r.output(ctx, call{dir: r.Worktree, stdin: idx, args: []string{"show-index", "--object-format=" + map[int]string{20: "sha1", 32: "sha256"}[r.IDLen]}})
	if err := errors.Join(err, idx.Close()); err != nil {
		return err
	}
	var keep strings.Builder
	had := false
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			return fmt.Errorf("unexpected line %.80q", line)
		}
		if ids[f[1]] {
			had = true
			continue
		}
		keep.WriteString(f[1] + "\n")
	}
	if !had {
		return nil
	}
	if keep.Len() > 0 {
		if err := r.packAnew(ctx, store, base, keep.String()); err != nil {
			return err
		}
	}
	return quarantine.RemovePack(store, base)
}

// packAnew makes a pack of the listed objects, with what marks the old one.
func (r *Repo) packAnew(ctx context.Context, store, base, list string) error {
	dir, err := os.MkdirTemp(filepath.Join(store, "pack"), "tmp_turnback_")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	sum, err := r.line(ctx, call{dir: r.Worktree, stdin: strings.NewReader(list), args: []string{"pack-objects", "-q", "--delta-base-offset", filepath.Join(dir, "pack")}})
	if err != nil {
		return err
	}
	from, to := filepath.Join(dir, "pack-"+sum), filepath.Join(store, "pack", "pack-"+sum)
	for _, mark := range []string{".keep", ".promisor"} {
		data, err := os.ReadFile(base + mark)
		if err == nil {
			err = os.WriteFile(to+mark, data, 0o444)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(os.Rename(from+".pack", to+".pack"), os.Rename(from+".idx", to+".idx"))
}
