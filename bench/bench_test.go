package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/files"
)

func TestFilePaths(t *testing.T) {
	const files = 50_000
	seen, dirs := map[string]bool{}, map[string]int{}
	for i := range files {
		p := filePath(i)
		if seen[p] {
			t.Fatalf("file %d has the path of another: %s", i, p)
		}
		seen[p] = true
		dirs[path.Dir(p)]++
		if depth := strings.Count(p, "/"); depth < 4 || depth > 6 {
			t.Fatalf("%s is %d folders deep", p, depth)
		}
	}
	if len(dirs) != (files+filesPerDir-1)/filesPerDir {
		t.Errorf("%d folders hold files, want about %d files in each", len(dirs), filesPerDir)
	}
}

func TestTextIsTheSameAtEveryRun(t *testing.T) {
	one, same, other := newText(7), newText(7), newText(8)
	size := one.size()
	if size < 1000 || size > 8000 || same.size() != size || other.size() == size {
		t.Fatalf("a file of %d bytes, like another or unlike itself", size)
	}
	a := one.bytes(size)
	if len(a) != size || a[size-1] != '\n' || bytes.IndexByte(a, 0) >= 0 {
		t.Errorf("not %d bytes of lines: %q", size, a)
	}
	if !bytes.Equal(a, same.bytes(size)) || bytes.Equal(a, other.bytes(size)) {
		t.Error("the content does not depend on the file's number alone")
	}
}

func TestFigures(t *testing.T) {
	f := newFigures()
	for _, ms := range []time.Duration{9, 1, 4} {
		f.add("odd", ms*time.Millisecond)
	}
	for _, ms := range []time.Duration{8, 1, 100, 4} {
		f.add("even", ms*time.Millisecond)
	}
	got := []any{f.median("odd"), f.median("even"), f.least("odd"), f.median("none"), f.least("none"), f.ratio("even", "odd"), f.ratio("odd", "none")}
	want := []any{4 * time.Millisecond, 6 * time.Millisecond, time.Millisecond, time.Duration(0), time.Duration(0), 1.5, 0.0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTimeKeepsNoSampleOfAFailure(t *testing.T) {
	f, broken := newFigures(), errors.New("broken")
	if err := f.time("x", func() error { return broken }); !errors.Is(err, broken) || len(f.samples) != 0 {
		t.Errorf("error %v, samples %v", err, f.samples)
	}
	var none *figures
	if err := none.time("x", func() error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestTakeTurns(t *testing.T) {
	var order []string
	as := func(name string) rival {
		return func(_ context.Context, f *figures) error {
			order = append(order, name)
			f.add(name, time.Millisecond)
			return nil
		}
	}
	rivals := []rival{as("a"), as("b"), as("c"), as("d")}
	f, err := takeTurns(t.Context(), rivals, 6, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.samples["a"]); n != 6 || len(order) != 4*7 {
		t.Errorf("%d samples in %d turns: the first round must not count", n, len(order))
	}
	rounds := map[string]bool{}
	for i := 0; i < len(order); i += 4 {
		rounds[strings.Join(order[i:i+4], "")] = true
	}
	if len(rounds) < 4 {
		t.Errorf("the order hardly changes: %v", order)
	}
	broken := errors.New("broken")
	rivals = append(rivals, func(context.Context, *figures) error { return broken })
	if _, err := takeTurns(t.Context(), rivals, 1, rand.New(rand.NewPCG(1, 2))); !errors.Is(err, broken) {
		t.Errorf("error %v of a rival that fails", err)
	}
}

func TestJudge(t *testing.T) {
	f := newFigures()
	for key, ms := range map[string]time.Duration{keyA: 100, keyDone: 80, keyRefs: 2, keyList: 7, keyHook: 15} {
		f.add(key, ms*time.Millisecond)
	}
	plain := report{spec: repoSpec{files: goalSize}, figures: f}
	laden := report{spec: repoSpec{files: goalSize, untracked: true}, figures: f}
	small := report{spec: repoSpec{files: 5000}, figures: f}
	got := []verdict{plain.judge(keyDone), laden.judge(keyDone), small.judge(keyDone), small.judge(keyList), small.judge(keyHook), plain.judge(keyA)}
	want := []verdict{
		{"at most 0.8 of A", "0.80", "yes"},
		{"at most 0.25 of A", "0.80", "no"},
		{},
		{"at most 3 of for-each-ref", "3.50", "no"},
		{"at most 15 ms", "15.00", "yes"},
		{},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(verdict{})); diff != "" {
		t.Error(diff)
	}
}

func TestReportTellsOfSamplesThatAreTooShort(t *testing.T) {
	f := newFigures()
	f.add(keyDone, 2*time.Second)
	r := report{spec: repoSpec{files: 5000}, figures: f}
	const told = "1 of its saves took longer than it waits"
	if strings.Contains(r.String(), "longer") {
		t.Errorf("it tells of some where there are none:\n%s", r)
	}
	f.letGo(keyDone)
	if !strings.Contains(r.String(), told) {
		t.Errorf("it does not tell %q:\n%s", told, r)
	}
	var none *figures
	none.letGo(keyDone) // a round that does not count
}

func TestSameTrees(t *testing.T) {
	if err := sameTrees("1a", []saved{{"x", "1a"}, {"y", "1a"}}); err != nil {
		t.Error(err)
	}
	err := sameTrees("1a", []saved{{"x", "1a"}, {"y", "2b"}})
	if err == nil || err.Error() != "y saved the tree 2b, git makes 1a of the same files" {
		t.Errorf("error %v", err)
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"--sizes", "50000, 40", "--rounds", "7", "--dir", "here"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if here, err := filepath.Abs("here"); err != nil || o.dir != here {
		t.Errorf("--dir here is %s, want %s: a hook's folder has to be absolute", o.dir, here)
	}
	var names []string
	for _, s := range specs(o.sizes) {
		names = append(names, s.name()+": "+s.String())
	}
	want := []string{"50000: 50,000 files", "50000u: 50,000 files and 2,000 untracked of 100 KB", "40: 40 files"}
	if diff := cmp.Diff(want, names); diff != "" || o.rounds != 7 {
		t.Errorf("%d rounds, %s", o.rounds, diff)
	}
	for _, args := range [][]string{{"--sizes", "3"}, {"--sizes", "many"}, {"--rounds", "0"}, {"more"}} {
		if _, err := parse(args, os.Stderr); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

// The whole bench on a small repository: it comes to a table, and nothing is
// left but the repository as it was made.
func TestRun(t *testing.T) {
	cache := t.TempDir()
	scratch, err := os.MkdirTemp("/tmp", "tb") // a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(scratch); err != nil {
			t.Errorf("left behind: %v", err)
		}
	})
	t.Setenv("TMPDIR", scratch)
	var stdout, stderr bytes.Buffer
	args := []string{"--sizes", "60", "--rounds", "1", "--dir", cache}
	if err := run(t.Context(), args, os.Environ(), &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for _, row := range rows() {
		if !strings.Contains(stdout.String(), "\n"+row.label+"  ") {
			t.Errorf("the table has no row %q", row.label)
		}
	}
	if strings.Contains(stdout.String(), " - ") {
		t.Errorf("a row without samples:\n%s", &stdout)
	}
	leftNoProcess(t, scratch)
	isAsMade(t, filepath.Join(cache, "r60"))
}

// A run that was killed tidies nothing up; the next one has to.
func TestOpenRepoAfterAKill(t *testing.T) {
	dir, spec := t.TempDir(), repoSpec{files: 60}
	p, err := programs(t.Context(), options{program: "turnback"}, os.Environ(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	open := func() *repo {
		r, err := openRepo(t.Context(), p, dir, spec, func(format string, _ ...any) { told = append(told, format) })
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open()
	s := newSite(r, &world{dir: t.TempDir()})
	err = errors.Join(
		s.edit(t.Context()), s.a(t.Context()), os.Remove(r.path(r.edit[0])),
		os.MkdirAll(filepath.Join(r.root, ".git", "turnback", "trees"), 0o700),
		r.lock.Unlock(), // as the system does
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := open().close(); err != nil {
		t.Fatal(err)
	}
	isAsMade(t, r.root)
	if len(told) != 1 {
		t.Errorf("it was made anew: %q", told)
	}
}

// isAsMade looks for anything in a repository that a run has left there.
func isAsMade(t *testing.T, root string) {
	t.Helper()
	for _, c := range []struct{ args, want string }{
		{"status --porcelain --ignored", ""},
		{"for-each-ref --format=%(refname)", "refs/heads/main"},
		{"count-objects", "0 objects, 0 kilobytes"},
		{"rev-list --count --all", "1"},
	} {
		out, err := exec.Command("git", append([]string{"-C", root}, strings.Fields(c.args)...)...).Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("git %s: %q, %v; want %q", c.args, got, err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(root, ".git", "turnback")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("turnback's folder is left in the repository: %v", err)
	}
}

// leftNoProcess looks for a process whose environment names the folder.
func leftNoProcess(t *testing.T, dir string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range environs {
		env, err := os.ReadFile(name)
		if err == nil && bytes.Contains(env, []byte("TURNBACK_SOCKET="+dir)) {
			t.Errorf("process %s is left", path.Base(path.Dir(name)))
		}
	}
}

func TestRunInARepositoryInUse(t *testing.T) {
	dir := t.TempDir()
	p := tools{git: "/bin/false"}
	spec := repoSpec{files: 60}
	tell := func(string, ...any) {}
	if _, err := openRepo(t.Context(), p, dir, spec, tell); err == nil {
		t.Fatal("a git that fails made a repository")
	}
	held, err := files.TryLock(filepath.Join(dir, "r60.lock"))
	if err != nil || held == nil {
		t.Fatalf("the lock is not let go after a failure: %v", err)
	}
	_, err = openRepo(t.Context(), p, dir, spec, tell)
	if err == nil || !strings.HasPrefix(err.Error(), "another bench uses ") {
		t.Errorf("error %v, want that another bench uses it", err)
	}
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
}
