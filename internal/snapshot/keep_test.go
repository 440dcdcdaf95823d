package snapshot_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// checkKept fails unless what the tree of res cannot hold is told as the disk
// and git have it.
func (b *bench) checkKept(ctx context.Context, t fatal, res snapshot.Result) {
	t.Helper()
	tree := b.list(ctx, t, res.Tree)
	b.checkModes(t, res, tree)
	b.checkFolders(ctx, t, res, tree)
	b.checkIndex(ctx, t, res)
}

func (b *bench) checkModes(t fatal, res snapshot.Result, tree []git.Entry) {
	t.Helper()
	if meant, _ := b.TryGit("config", "core.fileMode"); meant == "false\n" {
		if res.Modes != nil {
			t.Fatalf("modes are told though core.fileMode is off")
		}
		return
	}
	perm := func(path string) (fs.FileInfo, uint32) {
		st, err := os.Lstat(b.Path(path))
		if err != nil {
			return nil, 0
		}
		return st, uint32(st.Mode().Perm())
	}
	left := snapshot.ByPath(res.LeftOut)
	for _, e := range tree {
		if left.At(e.Path) != "" {
			continue
		}
		if st, want := perm(e.Path); st != nil && st.Mode().IsRegular() && res.Modes.OfFile(e.Path, e.Mode) != want {
			t.Fatalf("%q is told to have mode %o, it has %o: %+v", e.Path, res.Modes.OfFile(e.Path, e.Mode), want, res.Modes)
		}
		for i, c := range e.Path {
			if st, want := perm(e.Path[:i]); c == '/' && st != nil && st.IsDir() && res.Modes.OfFolder(e.Path[:i]) != want {
				t.Fatalf("folder %q is told to have mode %o, it has %o: %+v", e.Path[:i], res.Modes.OfFolder(e.Path[:i]), want, res.Modes)
			}
		}
	}
}

func (b *bench) checkFolders(ctx context.Context, t fatal, res snapshot.Result, tree []git.Entry) {
	t.Helper()
	full := map[string]bool{}
	for _, e := range tree {
		for i, c := range e.Path {
			if c == '/' {
				full[e.Path[:i]] = true
			}
		}
	}
	covered := map[string]bool{}
	for _, dir := range res.Folders {
		if st, err := os.Lstat(b.Path(dir)); err != nil || !st.IsDir() || full[dir] || covered[dir] {
			t.Fatalf("%q is told to be a folder without files: %v", dir, res.Folders)
		}
		covered[dir] = true
		for i, c := range dir {
			if c == '/' {
				covered[dir[:i]] = true
			}
		}
	}
	left := snapshot.ByPath(res.LeftOut)
	var open []string
	_ = filepath.WalkDir(b.Root, func(p string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(p, b.Root+"/")
		if err != nil || p == b.Root || !d.IsDir() {
			return err
		}
		if d.Name() == ".git" || left.At(rel) != "" {
			return fs.SkipDir
		}
		if !full[rel] && !covered[rel] {
			open = append(open, rel)
		}
		return nil
	})
	ignored, err := b.repo.Ignored(ctx, "", open)
	if err != nil {
		t.Fatalf("ask for ignored folders: %v", err)
	}
	for _, dir := range open {
		if !slices.ContainsFunc(open, func(up string) bool { return ignored[up] && (up == dir || strings.HasPrefix(dir, up+"/")) }) {
			t.Fatalf("%q is a folder without files and not told: %v", dir, res.Folders)
		}
	}
}

// checkIndex puts the entries together with HEAD's: that has to be the index.
func (b *bench) checkIndex(ctx context.Context, t fatal, res snapshot.Result) {
	t.Helper()
	if _, err := os.Lstat(b.Root + "/.git/index"); err != nil {
		if _, unborn := b.TryGit("rev-parse", "--verify", "-q", "HEAD"); unborn == nil && res.Index != nil {
			t.Fatalf("entries of an index that is not there")
		}
		return
	}
	var want, got []string
	entries, err := b.repo.IndexEntries(ctx, "")
	if err != nil {
		t.Fatalf("read index: %v", err)
	}
	line := func(e git.Entry, stage int) string { return fmt.Sprintf("%q %d %o %s", e.Path, stage, e.Mode, e.ID) }
	for _, e := range entries {
		if git.CheckPath(e.Path) == nil { // git takes others into no index
			want = append(want, line(e.Entry, e.Stage))
		}
	}
	other := map[string]bool{}
	for _, e := range res.Index.Entries {
		other[e.Path] = true
		if e.Mode != 0 {
			got = append(got, line(e.Entry, e.Stage))
		}
	}
	head, err := b.repo.Head(ctx)
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	if head.Tree != "" {
		for _, e := range b.list(ctx, t, head.Tree) {
			if !other[e.Path] && git.CheckPath(e.Path) == nil {
				got = append(got, line(e, 0))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("HEAD and the kept entries do not make the index (- index, + made):\n%s", diff)
	}
}

func TestB41IntentToAddIsTold(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n", "empty": ""}))
	b.Write("new", "n\n")
	b.Write("staged-empty", "")
	b.Git("add", "-N", "new")
	b.Git("add", "staged-empty")
	res := b.compare(t.Context(), t)
	var got []string
	for _, e := range res.Index.Entries {
		got = append(got, fmt.Sprintf("%s %t", e.Path, e.IntentToAdd))
	}
	if diff := cmp.Diff([]string{"new true", "staged-empty false"}, got); diff != "" {
		t.Errorf("other entries (-want +got):\n%s", diff)
	}
}

func TestModesThatMostHaveAreNotListed(t *testing.T) {
	b := newBench(t, gittest.New(t))
	for i := range 20 {
		b.Write(fmt.Sprintf("d%d/f", i), "x\n")
		b.Chmod(fmt.Sprintf("d%d/f", i), 0o664)
		b.Chmod(fmt.Sprintf("d%d", i), 0o775)
	}
	b.Write("secret", "x\n")
	b.Chmod("secret", 0o600)
	res := b.compare(t.Context(), t)
	want := &snapshot.Modes{File: 0o664, Exec: 0o755, Folder: 0o775, Odd: []snapshot.Mode{{Path: "secret", Perm: 0o600}}}
	for range 2 { // the second time knows what is usual
		if diff := cmp.Diff(want, res.Modes); diff != "" {
			t.Fatalf("other modes (-want +got):\n%s", diff)
		}
		res = b.compare(t.Context(), t)
	}
}

func TestB59RulesOutsideTheTreeAreTold(t *testing.T) {
	b := newBench(t, gittest.NewCommitted(t, map[string]string{"a": "1\n"}))
	b.Git("config", "core.excludesFile", b.Home+"/ex")
	b.Git("config", "core.ignoreCase", "true")
	for file, rules := range map[string]string{b.Home + "/ex": "*.log\n", b.Root + "/.git/info/exclude": "/private\n"} {
		if err := os.WriteFile(file, []byte(rules), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res := b.compare(t.Context(), t)
	want := snapshot.Rules{Exclude: []byte("/private\n"), Global: []byte("*.log\n"), IgnoreCase: true}
	if diff := cmp.Diff(want, res.Rules); diff != "" {
		t.Errorf("other rules (-want +got):\n%s", diff)
	}
}
