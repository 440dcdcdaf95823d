//go:build unix

package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// rot13 is a filter program that says when it ran.
const rot13 = "tr a-zA-Z n-za-mN-ZA-M"

// filtered is a repository whose *.sec files name the filter "sec"; the first
// commit was made with it in force.
func filtered(t testing.TB) (b *bench, canary string) {
	t.Helper()
	r := gittest.New(t)
	canary = filepath.Join(t.TempDir(), "ran")
	b = newBench(t, r)
	b.Git("config", "--global", "filter.sec.clean", rot13)
	b.Git("config", "--global", "filter.sec.smudge", rot13)
	b.WriteAll(map[string]string{".gitattributes": "*.sec filter=sec\n", "a.sec": "secret\n", "b": "plain\n"})
	b.Commit("first")
	return b, canary
}

// ownProgram moves the filter into the repository's own configuration, with a
// program that leaves a trace.
func (b *bench) ownProgram(canary string) git.Driver {
	b.Git("config", "--global", "--remove-section", "filter.sec")
	program := "touch '" + canary + "'; " + rot13
	b.Git("config", "filter.sec.clean", program)
	b.Git("config", "filter.sec.smudge", program)
	return git.Driver{Name: "sec", Clean: program, Smudge: program}
}

func (b *bench) content(t testing.TB, tree, path string) string {
	t.Helper()
	return b.Git("cat-file", "blob", tree+":"+path)
}

func wantNotRun(t testing.TB, canary string) {
	t.Helper()
	if _, err := os.Lstat(canary); err == nil {
		t.Error("the filter program ran")
	}
}

// TestFilterOfTheUsersRuns has what a filter gives stored, never the clear text.
func TestFilterOfTheUsersRuns(t *testing.T) {
	b, _ := filtered(t)
	b.Write("a.sec", "changed\n")
	b.Write("new.sec", "fresh\n")
	res := b.compare(t.Context(), t)
	wantOut(t, res)
	if a, n := b.content(t, res.Tree, "a.sec"), b.content(t, res.Tree, "new.sec"); a != "punatrq" || n != "serfu" {
		t.Errorf("stored are %q and %q, not what the filter gives", a, n)
	}
}

// TestB85FilterOfTheRepositoryDoesNotRun keeps the entries of unchanged files and
// leaves changed and new ones out by name.
func TestB85FilterOfTheRepositoryDoesNotRun(t *testing.T) {
	for _, scope := range []string{"local", "include", "worktree"} {
		t.Run(scope, func(t *testing.T) {
			b, canary := filtered(t)
			b.age("a.sec")
			d := b.ownProgram(canary)
			switch scope {
			case "include":
				b.Write(".git/more", "[filter \"sec\"]\n\tclean = \""+d.Clean+"\"\n\tsmudge = \""+d.Smudge+"\"\n")
				b.Git("config", "--remove-section", "filter.sec")
				b.Git("config", "include.path", "more")
			case "worktree":
				b.Git("config", "--remove-section", "filter.sec")
				b.Git("config", "extensions.worktreeConfig", "true")
				b.Git("config", "--worktree", "filter.sec.clean", d.Clean)
				b.Git("config", "--worktree", "filter.sec.smudge", d.Smudge)
			}
			was := b.Git("rev-parse", "HEAD:a.sec")
			b.Write("b", "plain too\n")
			res := b.compare(t.Context(), t)
			wantOut(t, res)
			if got := b.Git("rev-parse", res.Tree+":a.sec"); got != was {
				t.Errorf("the entry of the unchanged file is %s, not the index's %s", got, was)
			}

			b.Write("a.sec", "other secret\n")
			b.Write("new.sec", "fresh\n")
			res = b.compare(t.Context(), t)
			wantOut(t, res, "a.sec: filter", "new.sec: filter")
			if got := b.Git("rev-parse", res.Tree+":a.sec"); got != was {
				t.Errorf("the entry of the changed file is %s, not the index's %s", got, was)
			}
			wantNotRun(t, canary)

			b.trust = map[git.Driver]bool{d: true}
			res = b.compare(t.Context(), t)
			wantOut(t, res)
			if got := b.content(t, res.Tree, "a.sec"); got != "bgure frperg" {
				t.Errorf("with trust %q is stored", got)
			}

			b.trust = nil
			b.compare(t.Context(), t)
		})
	}
}

// TestB85ManyFilesOfTheRepositorysFilter goes the way by which git is asked what
// is unchanged.
func TestB85ManyFilesOfTheRepositorysFilter(t *testing.T) {
	b, canary := filtered(t)
	for i := range 300 {
		b.Write(fmt.Sprintf("d/%d.sec", i), fmt.Sprintf("file %d\n", i))
	}
	b.Commit("many")
	b.age("d", "a.sec")
	b.ownProgram(canary)
	b.Write("d/7.sec", "file seven\n")
	wantOut(t, b.compare(t.Context(), t), "d/7.sec: filter")
	wantNotRun(t, canary)
}

// TestB56ClearTextIsNotStored has a filter that no configuration defines: what is
// on disk is taken only where it is what the store has anyway.
func TestB56ClearTextIsNotStored(t *testing.T) {
	b, _ := filtered(t)
	b.Git("config", "--global", "--remove-section", "filter.sec")
	cipher := b.Git("cat-file", "blob", "HEAD:a.sec") + "\n"
	b.Write("a.sec", cipher)
	b.Chmod("a.sec", 0o755)
	b.Write("new.sec", "clear text\n")
	res := b.compare(t.Context(), t)
	wantOut(t, res, "new.sec: filter")
	if got := b.Git("ls-tree", res.Tree, "a.sec"); !strings.HasPrefix(got, "100755 blob "+b.Git("rev-parse", "HEAD:a.sec")) {
		t.Errorf("the cipher text is stored as %s", got)
	}
	b.Write("a.sec", "clear text\n")
	wantOut(t, b.compare(t.Context(), t), "a.sec: filter", "new.sec: filter")
	b.Git("update-index", "--assume-unchanged", "a.sec")
	wantOut(t, b.compare(t.Context(), t), "a.sec: filter", "new.sec: filter")
}

// TestFailingFilterStoresNoClearText holds also where git was told that the
// filter need not succeed.
func TestFailingFilterStoresNoClearText(t *testing.T) {
	for _, required := range []string{"true", "false"} {
		b, _ := filtered(t)
		b.Git("config", "--global", "filter.sec.clean", "false")
		b.Git("config", "--global", "filter.sec.required", required)
		b.Write("a.sec", "clear text\n")
		b.Write("b", "plain too\n")
		res := b.compare(t.Context(), t)
		wantOut(t, res, "a.sec: filter")
		if got := b.content(t, res.Tree, "b"); got != "plain too" {
			t.Errorf("required %s: the file beside is %q", required, got)
		}
	}
}

// TestHangingFilterCostsItsFilesAlone leaves out what a filter does not give in time.
func TestHangingFilterCostsItsFilesAlone(t *testing.T) {
	b, _ := filtered(t)
	b.Git("config", "--global", "filter.sec.clean", "sleep 60")
	b.Write("a.sec", "clear text\n")
	b.Write("b", "plain too\n")
	b.repo = b.repo.With(b.repo.Git().WithStall(2 * time.Second))
	res, err := b.newScan().Make(t.Context(), b.request(t.Context(), t))
	if err != nil {
		t.Fatal(err)
	}
	wantOut(t, res, "a.sec: filter")
	want := b.Git("hash-object", "b")
	if !slices.ContainsFunc(b.list(t.Context(), t, res.Tree), func(e git.Entry) bool { return e.Path == "b" && e.ID == want }) {
		t.Error("the file beside is not stored as it is")
	}
}

// TestFilteredFilesAreTold tells behind which files a program is needed, and
// behind which the stored form lies on disk as it is.
func TestFilteredFilesAreTold(t *testing.T) {
	b, _ := filtered(t)
	b.Write("new.sec", "fresh\n")
	b.Write("same.sec", "123\n") // the filter gives it back as it is
	res := b.compare(t.Context(), t)
	told := func() string { return b.Git("ls-tree", "-r", "--name-only", res.Bytes+":filtered") }
	if got := told(); got != "a.sec\nnew.sec" {
		t.Errorf("behind a filter are %q", got)
	}
	b.Git("config", "--global", "--remove-section", "filter.sec")
	b.Write("a.sec", b.Git("cat-file", "blob", "HEAD:a.sec")+"\n")
	b.Remove("new.sec")
	b.Remove("same.sec")
	if res = b.compare(t.Context(), t); res.Bytes != "" {
		t.Errorf("behind a filter are %q, where the stored form is on disk", told())
	}
}

// TestOddFilterNames holds for drivers whose names have signs that mean something
// elsewhere.
func TestOddFilterNames(t *testing.T) {
	for _, name := range []string{"a=b", "a.b", "Case", "a'b", "é"} {
		b, canary := filtered(t)
		b.Write(".git/more", "[filter \""+name+"\"]\n\tclean = touch '"+canary+"'; cat\n")
		b.Git("config", "include.path", "more")
		b.Write(".gitattributes", "*.sec filter="+name+"\n")
		b.Write("a.sec", "other\n")
		wantOut(t, b.compare(t.Context(), t), "a.sec: filter")
		wantNotRun(t, canary)
	}
}

// age sets files, and those in folders, back by an hour, and has git know it.
func (b *bench) age(paths ...string) {
	old := time.Now().Add(-time.Hour)
	for _, path := range paths {
		_ = filepath.Walk(b.Path(path), func(p string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				err = os.Chtimes(p, old, old)
			}
			return err
		})
	}
	b.Git("update-index", "--refresh")
}

// TestAFolderWhoseFilesLeaveTheTreeIsTold has files that were in the tree of the
// look before go from it without a change in their folder.
func TestAFolderWhoseFilesLeaveTheTreeIsTold(t *testing.T) {
	b, canary := filtered(t)
	b.ownProgram(canary)
	b.WriteAll(map[string]string{"new/in/one": "1\n", "new/in/two": "2\n", "new/.keep": "k\n"})
	b.settled()
	b.compare(t.Context(), t)
	b.Write(".gitattributes", "new/in/* filter=sec\n")
	res := b.compare(t.Context(), t)
	wantOut(t, res, "new/in/one: filter", "new/in/two: filter")
	if diff := cmp.Diff([]string{"new/in"}, res.Folders); diff != "" {
		t.Errorf("folders without files (- want, + told):\n%s", diff)
	}
}
