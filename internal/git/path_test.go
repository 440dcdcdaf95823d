package git_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// judge asks git itself whether a path may be in an index.
type judge struct {
	repo *gittest.Repo
	blob string
}

func newJudge(t testing.TB) *judge {
	r := gittest.New(t)
	r.Git("config", "core.protectHFS", "true")
	r.Git("config", "core.protectNTFS", "true")
	return &judge{repo: r, blob: strings.TrimSpace(r.GitInput("x", "hash-object", "-w", "--stdin"))}
}

func (j *judge) allows(path string, mode uint32) bool {
	out, err := j.repo.TryGit("update-index", "--add", "--replace", "--cacheinfo", fmt.Sprintf("%06o,%s,%s", mode, j.blob, path))
	if err != nil && !strings.Contains(err.Error(), "nvalid path") && !strings.Contains(err.Error(), "--cacheinfo cannot add") {
		panic(fmt.Sprintf("path %q: %v: %s", path, err, out))
	}
	return err == nil
}

// oddPaths are paths at the edge of what git takes.
func oddPaths() []string {
	return []string{
		"a", "a/b", ".", "..", "a/./b", "a/../b", "a//b", "/a", "a/", ".git", ".git/x", "a/.git", ".GIT", ".gIt/config", ".gita", ".gi", "git",
		"git~1", "GIT~1", "git~2", "git~1 .", "git~10", ".git ", ".git.", ".git . .", ".git .a", ".git:", ".git::$INDEX_ALLOCATION", ".git:x/y", `.git\x`, `a\.git`, `a\git~1`,
		`a\b\.GIT . `, `\.git`, `.git\\`, `\\.git`, `a\\.git`, `\\.gitmodules`, `a\.gitx`, `a/b\.git/c`, ".g\u200cit", "\u200c.git", ".git\u200d", ".\u206agit\ufeff", ".g\u200bit", ".git\xff", ".git\xc0\x80",
		".git\uffff", ".git\ufffe", ".git\ufffd", ".git\xff/x", ".g\xffit", "\xff.git", ".git\u200c ", ".git\u200c:", "..git", ".git~1", "...", ".. ", "..\u200c", "a\\..\\b",
		".gitmodules", ".GITMODULES", ".gitmodules ", ".gitmodules.", ".gitmodules:x", ".gitmodulesx", "gitmod~1", "GITMOD~4 .", "gitmod~5", "gitmod~", "gi7eba~1", "gi7eba~9", "gi7eba~0",
		"GI7EB~01", "gi7eb~10", "gi7e~123", "gi~12345", "gi~1234", "gi~123456", "gi7eba~1:", "gi7eba~1x", "~1000000", "~100000", `a\.gitmodules`, `a\gitmod~1`, ".gitmod\u200cules", ".gitmodules\xff", "d/.gitmodules",
		`.gitmodules\x`, `gitmod~1\x`, ".gitmodules ..:", ".gitignore", ".gitattributes", "gi7eba~", "gi7ebax~", "gi7~1a00",
	}
}

// TestPathChecksAreGitsOwn has git say of odd paths what it takes.
func TestPathChecksAreGitsOwn(t *testing.T) {
	j := newJudge(t)
	for _, path := range oddPaths() {
		for _, mode := range []uint32{git.ModeFile, git.ModeLink} {
			j.compare(t, path, mode)
		}
	}
}

type failing interface {
	Helper()
	Errorf(string, ...any)
}

func (j *judge) compare(t failing, path string, mode uint32) {
	t.Helper()
	err := git.CheckEntry(path, mode)
	if allowed := j.allows(path, mode); allowed != (err == nil) {
		t.Errorf("path %q, mode %o: git takes it: %v; here: %v", path, mode, allowed, err)
	}
}

// TestRandomPathChecksAreGitsOwn is TestPathChecksAreGitsOwn for paths that are
// put together of the pieces that matter.
func TestRandomPathChecksAreGitsOwn(t *testing.T) {
	j := newJudge(t)
	pieces := []string{
		".git", ".GIT", "git~1", "GIT~1", "gitmod~", "gi7eba~", "gi7", "~", "1", "4", "0", "modules", "Modules", ".", "..", "/", `\`, ":", " ", "a", "g", "i", "t",
		"\u200c", "\u202e", "\u206f", "\ufeff", "\u200b", "\xff", "\xe2\x80", "\uffff", "\U0010ffff", "\xed\xa0\x80", "\x7f", "\x01", "K",
	}
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 7).Draw(t, "pieces"), "")
		j.compare(t, path, rapid.SampledFrom([]uint32{git.ModeFile, git.ModeLink}).Draw(t, "mode"))
	})
}

// FuzzPathChecks looks for a path that is let through although git does not take it.
func FuzzPathChecks(f *testing.F) {
	for _, path := range oddPaths() {
		f.Add(path, false)
		f.Add(path, true)
	}
	j := newJudge(f)
	f.Fuzz(func(t *testing.T, path string, link bool) {
		if strings.ContainsRune(path, 0) || path == "" || len(path) > 2000 {
			if path == "" && git.CheckPath(path) == nil {
				t.Error("an empty path is let through")
			}
			return
		}
		mode := uint32(git.ModeFile)
		if link {
			mode = git.ModeLink
		}
		j.compare(t, path, mode)
	})
}
