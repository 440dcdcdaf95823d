package git_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/locate"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

func open(t *testing.T, r *gittest.Repo) *git.Repo {
	t.Helper()
	g, err := git.Find(t.Context(), git.FindOptions{Env: r.Env()})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := g.Open(t.Context(), r.Root)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

type fullDisk struct{ room int }

var errFull = errors.New("full")

func (w *fullDisk) Write(p []byte) (int, error) {
	n := min(w.room, len(p))
	w.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestAReaderGoesOnBehindAFailedWrite has content that looks like the header of
// an object, and a writer that fails in the middle of it.
func TestAReaderGoesOnBehindAFailedWrite(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	liar := strings.TrimSpace(r.GitInput(strings.Repeat("aaaa blob 200\n", 100_000), "hash-object", "-w", "--stdin"))
	small := strings.TrimSpace(r.GitInput("small\n", "hash-object", "-w", "--stdin"))
	objects, err := repo.ReadObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = objects.Close() }()
	for _, room := range []int{0, 5, 70_000} {
		if _, _, err := objects.Copy(liar, &fullDisk{room}); !errors.Is(err, errFull) {
			t.Errorf("room %d: error %v", room, err)
		}
		var b bytes.Buffer
		if _, _, err := objects.Copy(small, &b); err != nil || b.String() != "small\n" {
			t.Errorf("room %d: read %q, %v", room, b.String(), err)
		}
	}
	if _, _, err := objects.Copy(strings.Repeat("1", 40), &bytes.Buffer{}); !errors.Is(err, git.ErrMissingObject) {
		t.Errorf("a missing object gives %v", err)
	}
}

func TestABranchOrTagCalledHEADIsNoHindrance(t *testing.T) {
	r := gittest.NewCommitted(t, map[string]string{"a": "1\n"})
	repo := open(t, r)
	want, err := repo.Head(t.Context())
	if err != nil || want.Branch != "refs/heads/main" {
		t.Fatalf("%+v, %v", want, err)
	}
	r.Git("update-ref", "refs/heads/HEAD", "HEAD")
	r.Git("tag", "HEAD")
	if got, err := repo.Head(t.Context()); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	r.Git("checkout", "-q", "--detach")
	want.Branch = ""
	if got, err := repo.Head(t.Context()); err != nil || got != want {
		t.Errorf("detached: %+v, %v", got, err)
	}
}

func TestAnUnbornBranchHasNoCommit(t *testing.T) {
	got, err := open(t, gittest.New(t)).Head(t.Context())
	if want := (git.Head{Branch: "refs/heads/main"}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCheckName(t *testing.T) {
	for _, bad := range []string{"", ".", "..", ".git", ".GIT", ".Git", "git~1", "GIT~1", ".git ", ".git.", ".git . ", ".git::$INDEX_ALLOCATION", ".g\u200cit", "\ufeff.git", "a/b", "a\x00b"} {
		if err := git.CheckName(bad); !errors.Is(err, git.ErrBadPath) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"a", ".gitignore", ".gitattributes", ".github", "git", "git~2", ".git2", "...", ".gi", "-x", ":(x)", "\xff", "a\nb"} {
		if err := git.CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// TestFindPassesOverAGitThatCouldBeAnybodys has candidates that a repository or
// another user could have put into PATH.
func TestFindPassesOverAGitThatCouldBeAnybodys(t *testing.T) {
	real, err := git.Find(t.Context(), git.FindOptions{Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	fake := func(dir string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho git version 99.0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	base := t.TempDir()
	inTree, open := filepath.Join(base, "repo", "bin"), filepath.Join(base, "open")
	fake(inTree)
	fake(open)
	if err := os.MkdirAll(filepath.Join(base, "repo", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{"bin", inTree, open, filepath.Dir(real.Path())}, string(os.PathListSeparator))
	got, err := git.Find(t.Context(), git.FindOptions{Env: []string{"PATH=" + path}})
	if err != nil || got.Path() != real.Path() {
		t.Errorf("found %v, %v; want %s", got, err, real.Path())
	}
	if _, err := git.Find(t.Context(), git.FindOptions{Env: []string{"PATH=" + inTree}}); !errors.Is(err, locate.ErrMissing) {
		t.Errorf("with nothing else: %v", err)
	}
	old := filepath.Join(base, "old")
	fake(old)
	if err := os.WriteFile(filepath.Join(old, "git"), []byte("#!/bin/sh\necho git version 2.20.1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Find(t.Context(), git.FindOptions{Configured: filepath.Join(old, "git")}); !errors.Is(err, git.ErrTooOld) {
		t.Errorf("an old git: %v", err)
	}
}

// TestEditTreeIsWhatAnIndexWouldMake edits random trees, and has git make the
// same of an index.
func TestEditTreeIsWhatAnIndexWouldMake(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	blob := strings.TrimSpace(r.GitInput("x\n", "hash-object", "-w", "--stdin"))
	paths := []string{"a", "b", "d/a", "d/b", "d/e/a", "f/g/h"}
	rapid.Check(t, func(rt *rapid.T) {
		have := rapid.SliceOfDistinct(rapid.SampledFrom(paths), rapid.ID).Draw(rt, "have")
		base := write(rt, t, repo, blob, have)
		var edits []git.TreeEdit
		for _, p := range rapid.SliceOfDistinct(rapid.SampledFrom(paths), rapid.ID).Draw(rt, "edit") {
			if slices.Contains(have, p) {
				edits = append(edits, git.TreeEdit{Path: p})
				have = slices.DeleteFunc(have, func(q string) bool { return q == p })
				continue
			}
			edits = append(edits, git.TreeEdit{Path: p, Mode: git.ModeFile, ID: blob})
			have = append(have, p)
		}
		got, err := repo.EditTree(t.Context(), base, edits)
		if want := write(rt, t, repo, blob, have); err != nil || got != want {
			rt.Fatalf("got %s, %v; want %s", got, err, want)
		}
	})
}

func write(rt *rapid.T, t *testing.T, repo *git.Repo, blob string, paths []string) string {
	index := filepath.Join(t.TempDir(), "index")
	var entries []git.Entry
	for _, p := range paths {
		entries = append(entries, git.Entry{Path: p, Mode: git.ModeFile, ID: blob})
	}
	if len(entries) > 0 {
		if err := repo.SetIndexEntries(t.Context(), index, entries); err != nil {
			rt.Fatalf("index: %v", err)
		}
	}
	tree, err := repo.WriteIndexTree(t.Context(), index)
	if err != nil {
		rt.Fatalf("write: %v", err)
	}
	return tree
}
