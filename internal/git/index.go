package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Modes of tree and index entries.
const (
	ModeTree    = 0o040000
	ModeFile    = 0o100644
	ModeExec    = 0o100755
	ModeLink    = 0o120000
	ModeGitlink = 0o160000
)

// Entry is an entry of an index or a tree.
type Entry struct {
	Path string // relative to the root, raw bytes
	Mode uint32
	ID   string
}

// IndexEntry is an entry of the user's index with the flags that matter here.
type IndexEntry struct {
	Entry
	Stage        int  // 0, or 1 to 3 while in conflict
	SkipWorktree bool // git was told to do without the file, and it is absent
	Unskipped    bool // git was told so, and it is there: git takes it for any other
	AssumeSame   bool // git was told not to look at the file
	IntentToAdd  bool // only from Staged
}

// UserIndex is the path of the work tree's own index.
func (r *Repo) UserIndex() string { return r.GitDir + "/index" }

// IndexEntries reads the index at a path (empty: the user's), in its order.
func (r *Repo) IndexEntries(ctx context.Context, index string) ([]IndexEntry, error) {
	// Outside of sparse work trees git tells of the flag whether the file is there or not.
	out, err := r.output(ctx, call{dir: r.Worktree, index: index, apart: true, settings: []string{"-c", "core.sparseCheckout=false"}, args: []string{"ls-files", "-s", "-v", "-z"}})
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	records := splitNUL(out)
	entries := make([]IndexEntry, 0, len(records))
	gone := ""
	for _, rec := range records {
		e, err := parseIndexEntry(rec)
		if err != nil {
			return nil, fmt.Errorf("read index: %w", err)
		}
		if e.SkipWorktree && r.isThere(e.Path, &gone) {
			e.SkipWorktree, e.Unskipped = false, true
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// isThere tells whether something stands at path. gone keeps the last folder that was
// found not to be there.
func (r *Repo) isThere(file string, gone *string) bool {
	if *gone != "" && strings.HasPrefix(file, *gone) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(r.Worktree, file)); err == nil {
		return true
	}
	dir := path.Dir(file)
	if _, err := os.Lstat(filepath.Join(r.Worktree, dir)); err != nil {
		*gone = dir + "/"
	}
	return false
}

// parseIndexEntry reads "H 100644 <id> 0\tpath".
func parseIndexEntry(rec string) (IndexEntry, error) {
	head, path, ok := strings.Cut(rec, "\t")
	f := strings.Split(head, " ")
	if !ok || len(f) != 4 || len(f[0]) != 1 || len(f[3]) != 1 || f[3] < "0" || f[3] > "3" || path == "" {
		return IndexEntry{}, fmt.Errorf("unexpected record %.120q", rec)
	}
	mode, err := strconv.ParseUint(f[1], 8, 32)
	if err != nil {
		return IndexEntry{}, fmt.Errorf("unexpected mode in %.120q", rec)
	}
	e := IndexEntry{Entry: Entry{Path: path, Mode: uint32(mode), ID: f[2]}, Stage: int(f[3][0] - '0')}
	e.AssumeSame = f[0][0] >= 'a'
	e.SkipWorktree = f[0] == "S" || f[0] == "s"
	return e, nil
}

// ErrNoIndex says that the user's index is absent or cannot be read.
var ErrNoIndex = errors.New("no readable index")

// TrackedEntries reads what is tracked: the user's index, or HEAD's tree where
// the index is absent or broken; the second result then says why.
func (r *Repo) TrackedEntries(ctx context.Context, head Head) ([]IndexEntry, error, error) {
	var broken error
	if _, err := os.Stat(r.UserIndex()); err == nil {
		entries, err := r.IndexEntries(ctx, "")
		if err == nil {
			return entries, nil, nil
		}
		broken = fmt.Errorf("%w: %w", ErrNoIndex, err)
	} else {
		broken = fmt.Errorf("%w: %w", ErrNoIndex, err)
	}
	if head.Tree == "" {
		return nil, broken, nil
	}
	tree, err := r.TreeEntries(ctx, head.Tree)
	if err != nil {
		return nil, broken, err
	}
	entries := make([]IndexEntry, len(tree))
	for i, e := range tree {
		entries[i] = IndexEntry{Entry: e}
	}
	return entries, broken, nil
}

// TreeEntries reads a whole tree, recursively.
func (r *Repo) TreeEntries(ctx context.Context, tree string) ([]Entry, error) {
	return r.listTree(ctx, tree, "-r")
}

// TreeTop reads a tree alone, nothing below its entries.
func (r *Repo) TreeTop(ctx context.Context, tree string) ([]Entry, error) {
	return r.listTree(ctx, tree)
}

func (r *Repo) listTree(ctx context.Context, tree string, how ...string) ([]Entry, error) {
	out, err := r.output(ctx, call{dir: r.Worktree, args: append(append([]string{"ls-tree"}, how...), "-z", "--full-tree", tree)})
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", tree, err)
	}
	records := splitNUL(out)
	entries := make([]Entry, 0, len(records))
	for _, rec := range records {
		head, path, ok := strings.Cut(rec, "\t")
		f := strings.Split(head, " ")
		if !ok || len(f) != 3 {
			return nil, fmt.Errorf("read tree %s: unexpected record %.120q", tree, rec)
		}
		mode, err := strconv.ParseUint(f[0], 8, 32)
		if err != nil {
			return nil, fmt.Errorf("read tree %s: unexpected mode in %.120q", tree, rec)
		}
		entries = append(entries, Entry{Path: path, Mode: uint32(mode), ID: f[2]})
	}
	return entries, nil
}

// HasPath tells whether a tree has something at path.
func (r *Repo) HasPath(ctx context.Context, tree, path string) (bool, error) {
	out, err := r.output(ctx, call{dir: r.Worktree, args: []string{"ls-tree", "-z", "--full-tree", "--name-only", tree, "--", path}})
	if err != nil {
		return false, fmt.Errorf("look for %q in a tree: %w", path, err)
	}
	return len(out) > 0, nil
}

// PathsOf tells which of paths a tree has: a file, or a folder.
func (r *Repo) PathsOf(ctx context.Context, tree string, paths []string) (map[string]bool, error) {
	const atOnce = 500
	held := map[string]bool{}
	for some := range slices.Chunk(paths, atOnce) {
		args := append([]string{"ls-tree", "-z", "--full-tree", "--name-only", tree, "--"}, some...)
		out, err := r.output(ctx, call{dir: r.Worktree, args: args})
		if err != nil {
			return nil, fmt.Errorf("look for paths in a tree: %w", err)
		}
		for _, path := range splitNULKeepEmpty(out) {
			held[path] = true
		}
	}
	return held, nil
}

// StagedAgainst compares the user's index with a tree.
func (r *Repo) StagedAgainst(ctx context.Context, tree string) ([]Change, error) {
	return r.cachedAgainst(ctx, tree)
}

// Untracked names what is not in the index at path and not ignored; a nested
// repository is named with a slash at its end.
func (r *Repo) Untracked(ctx context.Context, path string) ([]string, error) {
	out, err := r.output(ctx, call{dir: r.Worktree, index: path, args: []string{"ls-files", "-o", "--exclude-standard", "-z"}})
	if err != nil {
		return nil, fmt.Errorf("list untracked files: %w", err)
	}
	return splitNUL(out), nil
}

// SetIndexEntries puts entries into the index at path, without stat data.
func (r *Repo) SetIndexEntries(ctx context.Context, path string, entries []Entry) error {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%o %s 0\t%s\x00", e.Mode, e.ID, e.Path)
	}
	err := r.stream(ctx, call{dir: r.Worktree, index: path, apart: true, stdin: strings.NewReader(b.String()), args: []string{"update-index", "-z", "--index-info"}}, nil)
	if err != nil {
		return fmt.Errorf("fill a private index: %w", err)
	}
	return nil
}

// SkipInIndex has git do without the files of paths on disk, in the index at path.
func (r *Repo) SkipInIndex(ctx context.Context, path string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	list := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	err := r.stream(ctx, call{dir: r.Worktree, index: path, stdin: list, args: []string{"update-index", "--skip-worktree", "-z", "--stdin"}}, nil)
	if err != nil {
		return fmt.Errorf("mark paths of a private index: %w", err)
	}
	return nil
}

// WriteIndexTree writes the index at path as a tree and returns its id.
func (r *Repo) WriteIndexTree(ctx context.Context, path string) (string, error) {
	// git asks for every object that the index names.
	if err := r.pen.Settle(); err != nil {
		return "", err
	}
	id, err := r.line(ctx, call{dir: r.Worktree, index: path, writes: true, args: []string{"write-tree"}})
	if err != nil {
		return "", fmt.Errorf("write tree: %w", err)
	}
	return id, nil
}
