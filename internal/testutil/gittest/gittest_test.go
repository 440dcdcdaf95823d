package gittest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/testutil/gittest"
)

func TestHashesAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n"}
	one, other := gittest.NewCommitted(t, files), gittest.NewCommitted(t, files)
	if a, b := one.Git("rev-parse", "HEAD"), other.Git("rev-parse", "HEAD"); a != b {
		t.Errorf("two repositories with the same history have heads %s and %s", a, b)
	}
	if got, want := one.Git("log", "-1", "--format=%an %ae %aI"), "Test Author author@example.com 2026-01-02T03:04:05+00:00"; got != want {
		t.Errorf("author is %q, want %q", got, want)
	}
	one.SetDate(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))
	one.Commit("second")
	if got := one.Git("log", "-1", "--format=%cI"); got != "2026-02-03T04:05:06+00:00" {
		t.Errorf("date after SetDate is %q", got)
	}
}

func TestNothingOfTheCallersIsRead(t *testing.T) {
	t.Setenv("HOME", "/nonexistent")
	t.Setenv("GIT_DIR", "/nonexistent")
	t.Setenv("GIT_AUTHOR_NAME", "Somebody")
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "a\n"})
	if got := repo.Git("log", "-1", "--format=%an"); got != gittest.Name {
		t.Errorf("author is %q", got)
	}
	if got := repo.Git("config", "--list", "--show-origin"); strings.Contains(got, "/etc/") {
		t.Errorf("system configuration was read:\n%s", got)
	}
}

// Each row changes one thing of the user's; the fingerprint has to name it.
func TestFingerprintNamesWhatChanged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*gittest.Repo)
		want   string
	}{
		{"index", func(r *gittest.Repo) { r.Write("new.txt", "new"); r.Git("add", "new.txt") }, "file index"},
		{"index stat data", func(r *gittest.Repo) { r.Git("update-index", "--assume-unchanged", "a.txt") }, "file index"},
		{"branch", func(r *gittest.Repo) { r.Git("branch", "other") }, "ref refs/heads/other"},
		{"stash", func(r *gittest.Repo) { r.Write("a.txt", "changed"); r.Git("stash") }, "ref refs/stash"},
		{"head", func(r *gittest.Repo) { r.Git("checkout", "--quiet", "--detach") }, "file HEAD"},
		{"config", func(r *gittest.Repo) { r.Git("config", "x.y", "z") }, "file config"},
		{"hook", func(r *gittest.Repo) { r.Write(".git/hooks/pre-commit", "exit 1") }, "file hooks/pre-commit"},
		{"exclude", func(r *gittest.Repo) { r.Write(".git/info/exclude", "*.o") }, "file info/exclude"},
		{"reflog", func(r *gittest.Repo) { r.Git("reflog", "expire", "--expire=all", "--all") }, "file logs/HEAD"},
		{"lock left behind", func(r *gittest.Repo) { r.Write(".git/index.lock", "") }, "file index.lock"},
		{"linked work tree", func(r *gittest.Repo) { r.AddWorktree("side") }, "file worktrees/side/HEAD"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			repo := gittest.NewCommitted(t, map[string]string{"a.txt": "a\n"})
			before := repo.Fingerprint()
			test.change(repo)
			after := repo.Fingerprint()
			if before[test.want] == after[test.want] {
				t.Errorf("%s is the same before and after; the change was seen as:\n%s", test.want, cmp.Diff(before, after))
			}
		})
	}
}

func TestFingerprintLeavesOutWhatIsOurs(t *testing.T) {
	t.Parallel()
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "a\n"})
	linked := repo.AddWorktree("side")
	before := repo.Fingerprint()
	repo.Git("update-ref", "--create-reflog", "refs/turnback/p1/1", "HEAD")
	repo.Write(".git/turnback/journal", "x")
	repo.Write(".git/worktrees/side/turnback/index", "x")
	repo.GitInput("loose object", "hash-object", "-w", "--stdin")
	repo.Git("pack-refs", "--all")
	linked.Write("untracked.txt", "work tree files are for Tree")
	if diff := cmp.Diff(before, repo.Fingerprint()); diff != "" {
		t.Errorf("fingerprint changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, linked.Fingerprint()); diff != "" {
		t.Errorf("fingerprint taken in the linked work tree differs:\n%s", diff)
	}
}

func TestFingerprintWithout(t *testing.T) {
	t.Parallel()
	all := gittest.Fingerprint{"file index": "1", "file HEAD": "2", "ref refs/heads/main": "3"}
	want := gittest.Fingerprint{"file HEAD": "2"}
	if diff := cmp.Diff(want, all.Without("file index", "ref ")); diff != "" {
		t.Error(diff)
	}
	if len(all) != 3 {
		t.Error("Without changed its receiver")
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", "gone/c.txt": "c\n"})
	repo.Chmod("a.txt", 0o751)
	repo.Symlink("nowhere", "dir/link")
	repo.Mkdir("empty")
	repo.Mkdir("nested/.git")
	const (
		sumA = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"
		sumB = "0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f"
	)
	want := map[string]gittest.Entry{
		"a.txt":       {Kind: gittest.File, Mode: 0o751, Sum: sumA},
		"dir":         {Kind: gittest.Dir, Mode: 0o755},
		"dir/b.txt":   {Kind: gittest.File, Mode: 0o644, Sum: sumB},
		"dir/link":    {Kind: gittest.Link, Sum: "nowhere"},
		"empty":       {Kind: gittest.Dir, Mode: 0o755},
		"nested":      {Kind: gittest.Dir, Mode: 0o755},
		"nested/.git": {Kind: gittest.Dir, Mode: 0o755},
	}
	if diff := cmp.Diff(want, repo.Tree("gone")); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestTimesShowARewrite(t *testing.T) {
	t.Parallel()
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	before := gittest.Times(t, repo.Root)
	// Written through a second file, so that no clock resolution hides it.
	repo.Write("tmp", "a\n")
	for gittest.Times(t, repo.Root)["tmp"].Equal(before["a.txt"]) {
		repo.Write("tmp", "a\n")
	}
	repo.Rename("tmp", "a.txt")
	after := gittest.Times(t, repo.Root)
	if after["a.txt"].Equal(before["a.txt"]) {
		t.Error("a rewrite with the same bytes is not seen")
	}
	if !after["b.txt"].Equal(before["b.txt"]) {
		t.Error("an untouched file has another time")
	}
}

func TestExists(t *testing.T) {
	t.Parallel()
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "a\n"})
	repo.Symlink("nowhere", "link")
	want := map[string]bool{"a.txt": true, "link": true, ".": true, "b.txt": false, "a.txt/below": false, "no/where": false}
	for path, exists := range want {
		if repo.Exists(path) != exists {
			t.Errorf("Exists(%q) is %v", path, !exists)
		}
	}
	repo.Remove("link")
	if repo.Exists("link") {
		t.Error("the link is still there")
	}
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "a\n"})
	sub := repo.AddSubmodule("lib", map[string]string{"lib.txt": "lib\n"})
	repo.Commit("with a submodule")
	if got := sub.Read("lib.txt"); got != "lib\n" {
		t.Errorf("submodule holds %q", got)
	}
	if got := repo.Git("ls-files", "--stage", "lib"); !strings.HasPrefix(got, "160000 ") {
		t.Errorf("entry of the submodule is %q", got)
	}
}

func TestTryGitSaysWhatGitSaid(t *testing.T) {
	t.Parallel()
	_, err := gittest.New(t).TryGit("rev-parse", "--verify", "nothing")
	if err == nil || !strings.Contains(err.Error(), "Needed a single revision") {
		t.Errorf("error is %v", err)
	}
}
