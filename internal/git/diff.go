package git

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/turnback/turnback/internal/git/rawdiff"
)

// Change is one difference between two trees.
type Change = rawdiff.Change

// noIndex keeps git from reading the user's index where it is not needed.
func (r *Repo) noIndex() string { return filepath.Join(r.CommonDir, "turnback", "no-index") }

// ChangedEntries compares two trees entry by entry, without renames. Of empty
// ids none: an absent tree is the empty tree, which the caller names.
func (r *Repo) ChangedEntries(ctx context.Context, from, to string) ([]Change, error) {
	if from == to {
		return nil, nil
	}
	out, err := r.output(ctx, call{dir: r.Worktree, index: r.noIndex(), args: []string{
		"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", from, to,
	}})
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return rawdiff.Parse(splitNUL(out))
}

// ChangedPaths compares the trees of each pair, by one git for all: which paths
// differ, pair by pair.
func (r *Repo) ChangedPaths(ctx context.Context, pairs [][2]string) ([][]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	var list strings.Builder
	for _, p := range pairs {
		fmt.Fprintln(&list, p[0], p[1])
	}
	out, err := r.output(ctx, call{dir: r.Worktree, index: r.noIndex(), stdin: strings.NewReader(list.String()), args: []string{
		"diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none",
	}})
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return rawdiff.ParsePairs(splitNUL(out), pairs)
}

// Stat compares two trees with renames detected and lines counted.
func (r *Repo) Stat(ctx context.Context, from, to string, paths []string) ([]Change, error) {
	if from == to {
		return nil, nil
	}
	args := []string{"diff-tree", "-r", "-z", "--raw", "--numstat", "-M", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", from, to, "--"}
	out, err := r.output(ctx, call{dir: r.Worktree, index: r.noIndex(), args: append(args, paths...)})
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return rawdiff.Parse(splitNUL(out))
}

// Patch writes the unified diff of two trees to w. It stops without an error
// when w returns io.ErrShortWrite.
func (r *Repo) Patch(ctx context.Context, from, to string, lines int, binary bool, paths []string, w io.Writer) error {
	if from == to {
		return nil
	}
	args := []string{
		"diff-tree", "-r", "-p", "-M", "-U" + strconv.Itoa(lines), "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none",
		"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--diff-algorithm=myers", "--inter-hunk-context=0", "--no-indent-heuristic",
	}
	if binary {
		args = append(args, "--binary")
	}
	args = append(append(args, from, to, "--"), paths...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lw := &limitedWriter{w: w, stop: cancel}
	err := r.stream(ctx, call{dir: r.Worktree, index: r.noIndex(), args: args}, lw)
	if lw.stopped {
		return nil
	}
	if err != nil {
		return fmt.Errorf("compare trees: %w", err)
	}
	return nil
}

// limitedWriter ends the program that writes to it once w has had enough.
type limitedWriter struct {
	w       io.Writer
	stop    context.CancelFunc
	stopped bool
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.stopped {
		return len(p), nil
	}
	n, err := l.w.Write(p)
	if err == io.ErrShortWrite {
		l.stopped = true
		l.stop()
		return len(p), nil
	}
	return n, err
}

// Ignored tells which of paths git ignores, judged by the rules alone: a path
// that is tracked counts like any other. Below root the rules are those of the
// .gitignore files there; an empty root is the work tree.
func (r *Repo) Ignored(ctx context.Context, root string, paths []string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	// check-ignore knows no literal paths; "./" in front keeps a name from being magic.
	list := "./" + strings.Join(paths, "\x00./") + "\x00"
	c := call{
		apart: true,
		dir:   r.Worktree, stdin: strings.NewReader(list), env: []string{"GIT_LITERAL_PATHSPECS=0"},
		args: []string{"check-ignore", "--no-index", "-z", "-v", "-n", "--stdin"},
	}
	r.at(&c, root)
	return r.ignored(ctx, c, paths)
}

// IgnoredInSparse is Ignored for the work tree where ignore files count, too,
// that only the user's index has, because git was told to do without them on disk.
// None of paths may be tracked. It takes longer: git compares each with the index.
func (r *Repo) IgnoredInSparse(ctx context.Context, paths []string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	list := "./" + strings.Join(paths, "\x00./") + "\x00"
	return r.ignored(ctx, call{
		dir: r.Worktree, stdin: strings.NewReader(list), env: []string{"GIT_LITERAL_PATHSPECS=0"},
		args: []string{"check-ignore", "-z", "-v", "-n", "--stdin"},
	}, paths)
}

func (r *Repo) ignored(ctx context.Context, c call, paths []string) (map[string]bool, error) {
	out, err := r.output(ctx, c)
	if err != nil && !exitedWith(err, 1) {
		return nil, fmt.Errorf("ask for ignored files: %w", err)
	}
	f := splitNULKeepEmpty(out)
	if len(f) != 4*len(paths) {
		return nil, fmt.Errorf("ask for ignored files: %d answers to %d paths", len(f)/4, len(paths))
	}
	ignored := map[string]bool{}
	for i := 0; i < len(f); i += 4 {
		pattern, path := f[i+2], strings.TrimPrefix(f[i+3], "./")
		ignored[path] = pattern != "" && !strings.HasPrefix(pattern, "!")
	}
	return ignored, nil
}

func splitNULKeepEmpty(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// IsNestedRepo tells whether dir, a folder below the work tree, is the root of a
// repository of its own.
func (r *Repo) IsNestedRepo(ctx context.Context, dir string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return false, nil
	}
	top, err := r.line(ctx, call{dir: dir, apart: true, args: []string{"rev-parse", "--path-format=absolute", "--resolve-git-dir", filepath.Join(dir, ".git")}})
	if err != nil {
		if exitedWith(err, 128) {
			return false, nil
		}
		return false, err
	}
	return top != "", nil
}
