package merge_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/turnback/turnback/checkpoint/merge"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/testutil/gittest"
	"github.com/turnback/turnback/internal/testutil/seed"
)

func TestMain(m *testing.M) { os.Exit(seed.Main(m)) }

type room struct {
	*gittest.Repo
	t     testing.TB
	repo  *git.Repo
	blobs map[string]string // ids by content
}

func newRoom(t testing.TB) *room {
	t.Helper()
	r := gittest.NewCommitted(t, map[string]string{"x": "x\n"})
	g, err := git.Find(t.Context(), git.FindOptions{Env: r.Env()})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := g.Open(t.Context(), r.Root)
	if err != nil {
		t.Fatal(err)
	}
	return &room{Repo: r, t: t, repo: repo, blobs: map[string]string{}}
}

// tree stores a tree of files: content by path. A content that begins with "->"
// is a link, with "+" an executable.
func (r *room) tree(files map[string]string) string {
	r.t.Helper()
	var edits []git.TreeEdit
	for path, text := range files {
		mode := uint32(git.ModeFile)
		switch {
		case strings.HasPrefix(text, "->"):
			mode, text = git.ModeLink, text[2:]
		case strings.HasPrefix(text, "+"):
			mode, text = git.ModeExec, text[1:]
		}
		id := r.blobs[text]
		if id == "" {
			var err error
			if id, err = r.repo.WriteBlob(r.t.Context(), []byte(text)); err != nil {
				r.t.Fatal(err)
			}
			r.blobs[text] = id
		}
		edits = append(edits, git.TreeEdit{Path: path, Mode: mode, ID: id})
	}
	if len(edits) == 0 {
		return r.GitInput("", "hash-object", "-t", "tree", "-w", "--stdin")
	}
	id, err := r.repo.EditTree(r.t.Context(), "", edits)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// files is the inverse of tree.
func (r *room) files(tree string) map[string]string {
	r.t.Helper()
	entries, err := r.repo.TreeEntries(r.t.Context(), tree)
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		text, err := r.TryGit("cat-file", "blob", e.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		switch e.Mode {
		case git.ModeLink:
			text = "->" + text
		case git.ModeExec:
			text = "+" + text
		}
		out[e.Path] = text
	}
	return out
}

func (r *room) merge(base, ours, theirs map[string]string) (merge.Result, map[string]string) {
	r.t.Helper()
	res, err := merge.Merger{Repo: r.repo, Scratch: r.t.TempDir()}.Merge(r.t.Context(), merge.Trees{Base: r.tree(base), Ours: r.tree(ours), Theirs: r.tree(theirs)})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(res.Conflicts) > 0 {
		return res, nil
	}
	return res, r.files(res.Tree)
}

const lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"

func edit(text, old, with string) string { return strings.Replace(text, old, with, 1) }

func TestWhatATurnChangedIsTakenOut(t *testing.T) {
	r := newRoom(t)
	// The way from theirs to base is what the turn did.
	base := map[string]string{"edited": edit(lines, "2", "two"), "new": "n\n", "exec": "+e\n", "kept": "k\n", "link": "->a", "was/dir": "f\n", "later": lines}
	theirs := map[string]string{"edited": lines, "exec": "e\n", "kept": "k\n", "link": "->b", "was": "a file\n", "later": lines, "gone": "g\n"}
	ours := map[string]string{"edited": edit(base["edited"], "8", "eight"), "new": "n\n", "exec": "+e, later\n", "kept": "k, later\n", "link": "->a", "was/dir": "f\n", "later": edit(lines, "5", "five"), "mine": "m\n"}
	res, got := r.merge(base, ours, theirs)
	want := map[string]string{"edited": edit(lines, "8", "eight"), "exec": "e, later\n", "kept": "k, later\n", "link": "->b", "was": "a file\n", "later": edit(lines, "5", "five"), "gone": "g\n", "mine": "m\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged (- want, + got):\n%s\n%+v", diff, res)
	}
	if diff := cmp.Diff([]string{"edited", "exec"}, res.Merged); diff != "" {
		t.Errorf("merged paths:\n%s", diff)
	}
}

func TestConflictsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		base, ours, theirs map[string]string
		want               []string
	}{
		"same lines":              {map[string]string{"a": "2\n"}, map[string]string{"a": "3\n"}, map[string]string{"a": "1\n"}, []string{"a"}},
		"no text":                 {map[string]string{"a": "2\x00" + lines + "2"}, map[string]string{"a": "3\x00" + lines + "2"}, map[string]string{"a": "2\x00" + lines + "1"}, []string{"a"}},
		"a new file edited later": {map[string]string{"a": "2\n"}, map[string]string{"a": "2\n3\n"}, nil, []string{"a"}},
		"edited, then removed":    {map[string]string{"a": "2\n"}, nil, map[string]string{"a": "1\n"}, []string{"a"}},
		"removed, then made anew": {nil, map[string]string{"a": "3\n"}, map[string]string{"a": "1\n"}, []string{"a"}},
		"link edited":             {map[string]string{"a": "->2"}, map[string]string{"a": "->3"}, map[string]string{"a": "->1"}, []string{"a"}},
		"kinds":                   {map[string]string{"a": "2\n"}, map[string]string{"a": "->3"}, map[string]string{"a": "1\n"}, []string{"a"}},
		"a folder stands there":   {nil, map[string]string{"a/later": "3\n"}, map[string]string{"a": "1\n"}, []string{"a"}},
		"a file stands above":     {nil, map[string]string{"d": "3\n"}, map[string]string{"d/a": "1\n", "d/b": "1\n"}, []string{"d/a", "d/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			res, _ := r.merge(c.base, c.ours, c.theirs)
			if diff := cmp.Diff(c.want, res.Conflicts); diff != "" || res.Tree != "" {
				t.Errorf("conflicts (- want, + got):\n%s\ntree %q", diff, res.Tree)
			}
		})
	}
}

// TestNoMergeProgramRuns has drivers in the repository's config, and a file that
// went through a filter: lines of its stored form mean nothing.
func TestNoMergeProgramRuns(t *testing.T) {
	for name, attribute := range map[string]string{"driver": "a merge=evil", "binary": "a -merge", "union": "a merge=union", "filter": "a filter=lfs", "macro": "a binary"} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.Write(".gitattributes", attribute+"\n")
			r.Git("config", "merge.evil.driver", "touch "+r.Path("ran"))
			r.Git("config", "merge.default", "evil")
			base := map[string]string{"a": edit(lines, "2", "two")}
			res, _ := r.merge(base, map[string]string{"a": edit(base["a"], "8", "eight")}, map[string]string{"a": lines})
			if !cmp.Equal(res.Conflicts, []string{"a"}) {
				t.Errorf("conflicts %q, want a", res.Conflicts)
			}
			if r.Exists("ran") {
				t.Error("a merge driver of the repository ran")
			}
		})
	}
}

// TestMergesAsGitDoes compares with git's own three-way merge of trees. Where both
// sides made a file that the base has not, git puts lines of both together; here
// that is a conflict.
func TestMergesAsGitDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("long; it runs without -short")
	}
	r := newRoom(t)
	if _, err := r.TryGit("merge-tree", "--write-tree", "HEAD", "HEAD"); err != nil {
		t.Skipf("this git has no merge-tree --write-tree: %v", err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		files := func(name string) map[string]string {
			drawn := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "d/a", "c"}), rapid.StringMatching(`(1\n)?(2\n)?3\n4\n5\n(6\n)?(7\n)?`), 0, 4).Draw(rt, name)
			for path, text := range drawn {
				drawn[path] = strings.Repeat("a line of "+path+"\n", 20) + text // no two files look like a rename
			}
			return drawn
		}
		base, ours, theirs := files("base"), files("ours"), files("theirs")
		res, got := r.merge(base, ours, theirs)
		commit := func(files map[string]string, parent ...string) string {
			return r.Git(append([]string{"commit-tree", r.tree(files), "-m", "m"}, parent...)...)
		}
		ancestor := commit(base)
		out, err := r.TryGit("-c", "merge.renames=false", "merge-tree", "--write-tree", "--name-only", "-z", commit(ours, "-p", ancestor), commit(theirs, "-p", ancestor))
		records := strings.Split(out, "\x00")
		twice := slices.ContainsFunc(res.Conflicts, func(path string) bool { return base[path] == "" })
		if err == nil && twice {
			return
		}
		if err == nil {
			if diff := cmp.Diff(r.files(strings.TrimSpace(records[0])), got); diff != "" || len(res.Conflicts) > 0 {
				rt.Fatalf("git merges cleanly (- git, + ours), conflicts %q:\n%s", res.Conflicts, diff)
			}
			return
		}
		named := records[1:max(1, slices.Index(records, ""))]
		slices.Sort(named)
		if diff := cmp.Diff(slices.Compact(named), res.Conflicts); !twice && diff != "" {
			rt.Fatalf("conflicts (- git, + ours):\n%s", diff)
		}
	})
}
