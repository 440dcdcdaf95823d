package snapshot_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
	"github.com/turnback/turnback/internal/snapshot/fresh"
	"github.com/turnback/turnback/internal/snapshot/scan"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// bench is a repository with the makers under comparison.
type bench struct {
	*gittest.Repo
	repo   *git.Repo
	scan   *scan.Scanner
	dir    string
	limits snapshot.Limits
	many   int // tracked files on which git's index is asked
	clock  func() time.Time
	trust  map[git.Driver]bool

	passing map[string]bool // as snapshot.Request
}

func (b *bench) trusted(d git.Driver) bool { return b.trust[d] }

func newBench(t testing.TB, r *gittest.Repo) *bench {
	t.Helper()
	g, err := git.Find(t.Context(), git.FindOptions{Env: r.Env()})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := g.Open(t.Context(), r.Root)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Repo: r, repo: repo, dir: filepath.Join(repo.CommonDir, "turnback"), limits: snapshot.Limits{MaxUntracked: 2000, MaxNewUntracked: -1}, clock: time.Now}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.scan = b.newScan()
	return b
}

// settled makes the scanner take all files on disk for old enough that equal
// stat data prove them unchanged.
func (b *bench) settled() {
	b.clock = func() time.Time { return time.Now().Add(time.Minute) }
	b.scan = b.newScan()
}

// make is one Make of the scanner alone.
func (b *bench) make(t *testing.T) snapshot.Result {
	t.Helper()
	res, err := b.scan.Make(t.Context(), b.request(t.Context(), t))
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return res
}

// wantOut fails unless res left out just these paths, each "path: reason".
func wantOut(t *testing.T, res snapshot.Result, want ...string) {
	t.Helper()
	got := []string{}
	for _, l := range res.LeftOut {
		got = append(got, l.Path+": "+l.Reason)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("left out (- want, + got):\n%s", diff)
	}
}

// wantPaths fails unless the tree of res holds just these paths.
func (b *bench) wantPaths(t *testing.T, res snapshot.Result, want ...string) {
	t.Helper()
	got := []string{}
	for _, e := range b.list(t.Context(), t, res.Tree) {
		got = append(got, e.Path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths in the tree (- want, + got):\n%s", diff)
	}
}

func (b *bench) newScan() *scan.Scanner {
	env := func(name string) string {
		for _, kv := range b.Env() {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}
	return scan.New(scan.Options{Repo: b.repo, Dir: b.dir, Now: b.clock, Env: env, Trusted: b.trusted, ManyTracked: b.many})
}

func (b *bench) request(ctx context.Context, t fatal) snapshot.Request {
	head, err := b.repo.Head(ctx)
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	return snapshot.Request{Head: head, Limits: b.limits, Passing: b.passing, Reachable: func(_, _ string) bool { return true }}
}

type fatal interface {
	Fatalf(format string, args ...any)
	Helper()
}

// compare fails unless the scanner's tree is the oracle's.
func (b *bench) compare(ctx context.Context, t fatal) snapshot.Result {
	t.Helper()
	req := b.request(ctx, t)
	want, err := fresh.New(b.repo, b.dir, b.trusted).Make(ctx, req)
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	got, err := b.scan.Make(ctx, req)
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	if diff := cmp.Diff(b.list(ctx, t, want.Tree), b.list(ctx, t, got.Tree)); diff != "" {
		t.Fatalf("the scan's tree differs from the oracle's (- oracle, + scan):\n%s", diff)
	}
	if got.Tree != want.Tree {
		t.Fatalf("same entries, other tree: %s and %s", want.Tree, got.Tree)
	}
	if diff := cmp.Diff(b.list(ctx, t, want.Bytes), b.list(ctx, t, got.Bytes)); diff != "" {
		t.Fatalf("other bytes beside (- oracle, + scan):\n%s", diff)
	}
	if got.Bytes != want.Bytes {
		t.Fatalf("same bytes beside, other tree: %s and %s", want.Bytes, got.Bytes)
	}
	if diff := cmp.Diff(want.LeftOut, got.LeftOut); diff != "" {
		t.Fatalf("other paths left out (- oracle, + scan):\n%s", diff)
	}
	b.checkKept(ctx, t, got)
	return got
}

func (b *bench) list(ctx context.Context, t fatal, tree string) []git.Entry {
	if tree == "" {
		return nil
	}
	entries, err := b.repo.TreeEntries(ctx, tree)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return entries
}

// clockTick is more than how coarse the times of files are.
const clockTick = 12 * time.Millisecond

// TestScanMakesTheOraclesTree drives a work tree through random edits, staging,
// commits, branch switches, ignore rules and odd places, and compares the
// scanner with the oracle after every few of them.
func TestScanMakesTheOraclesTree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, gittest.NewCommitted(t, map[string]string{
			"a": "1\n", "d/a": "2\n", "d/e/b": "3\n", ".gitignore": "*.o\n/ig/\n",
		}))
		before := b.Fingerprint()
		_ = before
		b.many = rapid.SampledFrom([]int{1, 200}).Draw(rt, "many")
		// Half of the time files count as old at once, so that the next look goes by
		// what the scanner remembers of them.
		old := rapid.Bool().Draw(rt, "old")
		if old {
			b.clock = func() time.Time { return time.Now().Add(time.Minute) }
		}
		b.scan = b.newScan()
		m := &mutator{bench: b, rt: rt}
		ops := m.operations()
		for i := range rapid.IntRange(3, 25).Draw(rt, "steps") {
			op := rapid.SampledFrom(ops).Draw(rt, fmt.Sprintf("op%d", i))
			op.run()
			m.log = append(m.log, op.name)
			if rapid.IntRange(0, 2).Draw(rt, "look") == 0 {
				b.compare(t.Context(), rt)
				if old {
					time.Sleep(clockTick)
				}
			}
			if rapid.IntRange(0, 9).Draw(rt, "restart") == 0 {
				if err := b.scan.Persist(); err != nil {
					rt.Fatalf("persist: %v", err)
				}
				b.scan = b.newScan()
			}
		}
		b.compare(t.Context(), rt)
	})
}

type operation struct {
	name string
	run  func()
}

// String names an operation in a failure's log.
func (o operation) String() string { return o.name }

type mutator struct {
	*bench
	rt  *rapid.T
	log []string
}

func (m *mutator) path() string {
	names := []string{"a", "b", "c.o", "d", "e", "ig", "x y", "ü", "q\"\\", "n\nl"}
	depth := rapid.IntRange(1, 3).Draw(m.rt, "depth")
	parts := make([]string, depth)
	for i := range parts {
		parts[i] = rapid.SampledFrom(names).Draw(m.rt, "name")
	}
	return strings.Join(parts, "/")
}

// existing draws a path that is on disk.
func (m *mutator) existing() string {
	var list []string
	_ = filepath.WalkDir(m.Root, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == m.Root {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		list = append(list, strings.TrimPrefix(p, m.Root+"/"))
		return nil
	})
	if len(list) == 0 {
		return "none"
	}
	return rapid.SampledFrom(list).Draw(m.rt, "existing")
}

// clear makes room for path: whatever stands at it or above it as no folder goes.
func (m *mutator) clear(path string) string {
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		up := filepath.Join(m.Root, strings.Join(parts[:i], "/"))
		if st, err := os.Lstat(up); err == nil && !st.IsDir() {
			_ = os.Remove(up)
		}
	}
	full := filepath.Join(m.Root, path)
	_ = os.RemoveAll(full)
	_ = os.MkdirAll(filepath.Dir(full), 0o755)
	return full
}

func (m *mutator) write(path, content string) {
	_ = os.WriteFile(m.clear(path), []byte(content), 0o644)
}

func (m *mutator) try(args ...string) { _, _ = m.TryGit(args...) }

func (m *mutator) operations() []operation {
	text := func() string { return rapid.StringMatching(`[ab]{0,4}(\r\n|\n)?`).Draw(m.rt, "text") }
	ends := func() string {
		return rapid.SampledFrom([]string{"x\r\ny\r\n", "x\ny\n", "x\r\ny\n", "x\ry\r\n", "\x00\r\n", "$Id: 12 $\r\n", "\xff\xfea\x00\n\x00", "\xef\xbb\xbfa\r\n"}).Draw(m.rt, "ends")
	}
	attributes := func() {
		m.write(rapid.SampledFrom([]string{".gitattributes", "d/.gitattributes"}).Draw(m.rt, "where"), rapid.SampledFrom([]string{
			"", "* text=auto\n", "* text eol=crlf\n", "* text eol=lf\n", "* ident\n", "a working-tree-encoding=UTF-16LE\n", "* text working-tree-encoding=UTF-16\n",
			"b working-tree-encoding=IBM037\n", "a filter=up\n", "* filter=none text\n",
		}).Draw(m.rt, "rules"))
	}
	return []operation{
		{"write", func() { m.write(m.path(), text()) }},
		{"write", func() { m.write(m.path(), text()) }},
		{"rewrite", func() { m.write(m.existing(), text()) }},
		{"same size", func() { m.write("a", "1\n"); m.write("a", "2\n") }},
		{"big", func() { m.write(m.path(), strings.Repeat("b", 3000)) }},
		{"remove", func() { _ = os.RemoveAll(filepath.Join(m.Root, m.existing())) }},
		{"move", func() { from, to := m.existing(), m.path(); _ = os.Rename(filepath.Join(m.Root, from), m.clear(to)) }},
		{"link", func() {
			_ = os.Symlink(rapid.SampledFrom([]string{"a", "d", "/etc", "nowhere"}).Draw(m.rt, "to"), m.clear(m.path()))
		}},
		{"chmod", func() {
			p := filepath.Join(m.Root, m.existing())
			if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() {
				_ = os.Chmod(p, st.Mode()^0o111)
			}
		}},
		{"other mode", func() {
			p := filepath.Join(m.Root, m.existing())
			if st, err := os.Lstat(p); err == nil && (st.Mode().IsRegular() || st.IsDir()) {
				bits := os.FileMode(rapid.SampledFrom([]int{0o600, 0o640, 0o664, 0o775, 0o711, 0o777}).Draw(m.rt, "bits"))
				if st.IsDir() {
					bits |= 0o700
				}
				_ = os.Chmod(p, bits)
			}
		}},
		{"empty folder", func() { _ = os.MkdirAll(m.clear(m.path()), 0o755) }},
		{"ignore", func() {
			m.write(rapid.SampledFrom([]string{".gitignore", "d/.gitignore", "ig/.gitignore", "d/e/.gitignore"}).Draw(m.rt, "where"), rapid.SampledFrom([]string{"", "*.o\n", "b\n", "d/\n", "*\n!a\n", "e\n!e/b\n", ".gitignore\n"}).Draw(m.rt, "rules"))
		}},
		{"exclude", func() {
			_ = os.MkdirAll(m.Root+"/.git/info", 0o755)
			_ = os.WriteFile(m.Root+"/.git/info/exclude", []byte(rapid.SampledFrom([]string{"", "b\n", "e/\n"}).Draw(m.rt, "rules")), 0o644)
		}},
		{"excludes file", func() {
			m.try("config", "core.excludesFile", m.Home+"/ex")
			_ = os.WriteFile(m.Home+"/ex", []byte(rapid.SampledFrom([]string{"", "a\n", "x y\n"}).Draw(m.rt, "rules")), 0o644)
		}},
		{"attributes", attributes},
		{"attributes", attributes},
		{"line ends", func() { m.write(m.existing(), ends()) }},
		{"autocrlf", func() {
			m.try("config", "core.autocrlf", rapid.SampledFrom([]string{"true", "false", "input"}).Draw(m.rt, "value"))
		}},
		{"line ends", func() { m.write(m.existing(), ends()) }},
		{"filter", func() { m.try("config", "filter.up.clean", "tr a-z A-Z") }},
		{"stage", func() { m.try("add", "--", m.existing()) }},
		{"stage all", func() { m.try("add", "-A") }},
		{"force stage", func() { m.try("add", "-f", "--", m.existing()) }},
		{"intend", func() { m.try("add", "-N", "--", m.existing()) }},
		{"unstage", func() { m.try("rm", "-r", "-q", "--cached", "--", m.existing()) }},
		{"commit", func() { m.try("commit", "-q", "-m", "c") }},
		{"commit all", func() { m.try("commit", "-q", "-a", "-m", "c") }},
		{"branch", func() { m.try("checkout", "-q", "-B", rapid.SampledFrom([]string{"main", "two"}).Draw(m.rt, "branch")) }},
		{"switch", func() { m.try("checkout", "-q", "-f", rapid.SampledFrom([]string{"main", "two"}).Draw(m.rt, "branch")) }},
		{"back", func() { m.try("reset", "-q", "--hard", "HEAD~1") }},
		{"merge", func() { m.try("merge", "-q", "two") }},
		{"assume", func() { m.try("update-index", "--assume-unchanged", "--", m.existing()) }},
		{"skip", func() { m.try("update-index", "--skip-worktree", "--", m.existing()) }},
		{"no skip", func() { m.try("update-index", "--no-skip-worktree", "--", m.existing()) }},
		{"file mode", func() {
			m.try("config", "core.fileMode", rapid.SampledFrom([]string{"true", "false"}).Draw(m.rt, "value"))
		}},
		{"nested", func() {
			p := m.path()
			m.clear(p)
			_ = os.MkdirAll(filepath.Join(m.Root, p), 0o755)
			_, _ = m.TryGit("init", "-q", filepath.Join(m.Root, p))
			m.writeIn(p, "u")
		}},
		{"nested commit", func() {
			p := m.existing()
			_, _ = m.TryGit("-C", filepath.Join(m.Root, p), "commit", "-q", "--allow-empty", "-m", "n")
		}},
		{"no nested", func() { _ = os.RemoveAll(filepath.Join(m.Root, m.existing(), ".git")) }},
		{"index gone", func() { _ = os.Remove(m.Root + "/.git/index") }},
		{"reset index", func() { m.try("reset", "-q") }},
	}
}

func (m *mutator) writeIn(dir, name string) {
	_ = os.WriteFile(filepath.Join(m.Root, dir, name), []byte("n\n"), 0o644)
}
