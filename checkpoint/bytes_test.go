package checkpoint_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// oddFiles are files that git's conversions change, some of them for good.
func oddFiles() map[string]string {
	return map[string]string{
		"lf.txt": "a\nb\n", "crlf.txt": "a\r\nb\r\n", "mixed.txt": "a\r\nb\nc\r\n", "cr.txt": "a\rb\r\n", "no-end.txt": "a\r\nb",
		"binary.bin": "\x00\x01\r\n\x00\n", "bom.txt": "\xef\xbb\xbfa\r\nb\r\n", "d/ident.txt": "$Id: 0123 $\r\n$Id$\n", "d/empty.txt": "",
		"d/wide.u16": "\xff\xfea\x00\r\x00\n\x00\xe9\x00", "d/latin.l1": "caf\xe9\r\n", "d/ebcdic.ibm": "\x81\x82\x25", "d/x.sh": "#!/bin/sh\r\n",
	}
}

// conversions are ways to have git convert them.
func conversions() map[string]struct{ config, attributes string } {
	out := map[string]struct{ config, attributes string }{}
	for _, autocrlf := range []string{"true", "input", "false"} {
		for name, attributes := range map[string]string{
			"no attributes": "", "text auto": "* text=auto\n", "eol crlf": "* text eol=crlf\n", "auto eol crlf": "* text=auto eol=crlf\n", "eol lf": "* text eol=lf\n",
			"ident":    "* ident\n",
			"encoding": "*.u16 text working-tree-encoding=UTF-16\n*.l1 text working-tree-encoding=ISO-8859-1\n*.ibm working-tree-encoding=IBM037\n",
		} {
			out["autocrlf "+autocrlf+", "+name] = struct{ config, attributes string }{autocrlf, attributes}
		}
	}
	return out
}

func bytesOf(r *room) map[string]string {
	found := map[string]string{}
	for path := range oddFiles() {
		if data, err := os.ReadFile(r.Path(path)); err == nil {
			found[path] = string(data)
		}
	}
	return found
}

func wantBytes(t *testing.T, r *room, want map[string]string, when string) {
	t.Helper()
	if diff := cmp.Diff(want, bytesOf(r)); diff != "" {
		t.Errorf("%s: other bytes on disk (-want +got):\n%s", when, diff)
	}
}

// TestB53BytesComeBack deletes and changes files under every conversion that git
// has, changes the conversions too, and wants each file back as it was.
func TestB53BytesComeBack(t *testing.T) {
	for name, c := range conversions() {
		for _, tracked := range []bool{false, true} {
			t.Run(fmt.Sprintf("B53 %s, tracked %t", name, tracked), func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, map[string]string{"first": "1\n"})
				r.Git("config", "core.autocrlf", c.config)
				r.Git("config", "core.safecrlf", "false")
				if c.attributes != "" {
					r.Write(".gitattributes", c.attributes)
				}
				r.WriteAll(oddFiles())
				if tracked {
					r.Git("add", "-A")
					r.Git("commit", "-q", "-m", "odd")
				}
				saved := r.take("one", func() { r.Write("first", "2\n") })
				if left := saved.LeftOut; len(left) > 0 {
					t.Fatalf("left out: %v", left)
				}
				index := r.Read(".git/index")

				r.take("two", func() {
					for path := range oddFiles() {
						r.Remove(path)
					}
				})
				r.restore(saved.N)
				wantBytes(t, r, oddFiles(), "deleted, restored")

				flip := map[string]string{}
				for path, content := range oddFiles() {
					if lf := strings.ReplaceAll(content, "\r\n", "\n"); lf != content {
						content = lf
					} else {
						content = strings.ReplaceAll(content, "\n", "\r\n")
					}
					flip[path] = content
				}
				flip["d/wide.u16"] = "\xff\xfea\x00\n\x00" // what is no UTF-16 is left out where it should be
				r.WriteAll(flip)
				if res := r.restore(saved.N); len(res.Written) == 0 {
					t.Error("other line ends are no change to the restore")
				}
				wantBytes(t, r, oddFiles(), "line ends changed, restored")
				r.restore(r.list()[len(r.list())-1].N) // the safety checkpoint
				wantBytes(t, r, flip, "taken back")

				r.Git("config", "core.autocrlf", map[string]string{"true": "false", "input": "true", "false": "true"}[c.config])
				r.Write(".gitattributes", "* text eol=crlf\n*.u16 working-tree-encoding=UTF-16\n")
				r.restore(saved.N)
				wantBytes(t, r, oddFiles(), "under other conversions, restored")
				if got := r.list(); got[len(got)-1].Kind != checkpoint.KindSafety {
					t.Errorf("the last one is a %s", got[len(got)-1].Kind)
				}
				r.restore(r.list()[len(r.list())-1].N)
				wantBytes(t, r, flip, "under other conversions, taken back")
				if index != r.Read(".git/index") {
					t.Error("the index changed")
				}
			})
		}
	}
}

// TestB52NoEditNoDifference has a tree that git normalises, and no edit in it.
func TestB52NoEditNoDifference(t *testing.T) {
	for _, many := range []int{3, 300} { // past 200, git's index is asked
		t.Run(fmt.Sprintf("B52 %d files", many), func(t *testing.T) {
			files := map[string]string{}
			for i := range many {
				files[fmt.Sprintf("d%d/f%d.txt", i%7, i)] = fmt.Sprintf("line\r\nnumber %d\r\n", i)
			}
			g := gittest.New(t)
			g.Git("config", "core.autocrlf", "true")
			g.Git("config", "core.safecrlf", "false")
			g.WriteAll(files)
			g.Commit("with CRLF")
			old := time.Now().Add(-time.Hour)
			for path := range files {
				if err := os.Chtimes(g.Path(path), old, old); err != nil {
					t.Fatal(err)
				}
			}
			g.Git("status") // has git note the times
			r := &room{Repo: g, t: t, store: open(t, g, nil), pane: checkpoint.Pane{ID: "00d333ce"}}
			if res := r.begin(); res.Start != nil {
				t.Errorf("an untouched tree differs from HEAD: checkpoint %d", res.Start.N)
			}
			if c := r.end("nothing"); c != nil {
				t.Error("a turn without an edit was saved")
			}
			saved, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true})
			if err != nil {
				t.Fatal(err)
			}
			before := r.Tree()
			d, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: saved.Checkpoint.N, Worktree: true})
			if err != nil || len(d.Files) > 0 {
				t.Errorf("differs from the work tree: %v (%v)", d.Files, err)
			}
			if d, err = r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID}); err != nil || len(d.Files) > 0 {
				t.Errorf("differs from HEAD: %v (%v)", d.Files, err)
			}
			if res := r.restore(saved.Checkpoint.N); len(res.Written)+len(res.Removed) > 0 {
				t.Errorf("wrote %v, removed %v", res.Written, res.Removed)
			}
			if diff := cmp.Diff(before, r.Tree()); diff != "" {
				t.Errorf("the tree changed:\n%s", diff)
			}
			for path := range files {
				st, err := os.Lstat(r.Path(path))
				if err != nil || !st.ModTime().Equal(old) {
					t.Fatalf("%s was written", path)
				}
			}
		})
	}
}

// TestBytesAloneAreAChange has turns and edits that change line ends and nothing
// that git would store.
func TestBytesAloneAreAChange(t *testing.T) {
	r := newRoom(t, map[string]string{"first": "1\n"})
	r.Git("config", "core.autocrlf", "true")
	r.Git("config", "core.safecrlf", "false")
	r.Write("a.txt", "a\r\nb\r\n")
	first := r.take("one", func() { r.Write("first", "2\n") })
	second := r.take("line ends", func() { r.Write("a.txt", "a\nb\n") })
	if first.Tree != second.Tree {
		t.Fatal("git stores another tree: this tests nothing")
	}
	r.Write("a.txt", "a\r\nb\n")
	if res := r.begin(); res.Start == nil {
		t.Error("line ends changed between turns, and nothing was saved")
	}
	r.Write("a.txt", "other\n")
	r.end("two")
	undo := func(want string) {
		t.Helper()
		if _, err := r.store.Undo(t.Context(), checkpoint.RestoreRequest{Pane: r.pane, Turn: r.turn, State: "done"}); err != nil {
			t.Fatal(err)
		}
		if got := r.Read("a.txt"); got != want {
			t.Errorf("undo left %q, want %q", got, want)
		}
	}
	undo("a\r\nb\n")
	if _, err := r.store.Redo(t.Context(), checkpoint.RestoreRequest{Pane: r.pane, Turn: r.turn, State: "done"}); err != nil {
		t.Fatal(err)
	}
	if got := r.Read("a.txt"); got != "other\n" {
		t.Errorf("redo left %q", got)
	}
	undo("a\r\nb\n")
	r.Write("a.txt", "a\nb\n")
	undo("a\r\nb\r\n")
}

// TestLineEndsEditedMeanwhileStay edits a file's line ends between the safety
// checkpoint and the swap: git would store the same, the bytes are others.
func TestLineEndsEditedMeanwhileStay(t *testing.T) {
	for _, c := range []struct{ name, now, edit string }{{"CRLF to LF", "a\r\nb\r\n", "a\nb\n"}, {"LF to CRLF", "a\nb\n", "a\r\nb\r\n"}, {"mixed to LF", "a\r\nb\n", "a\nb\n"}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"first": "1\n"})
			r.Git("config", "core.autocrlf", "true")
			r.Git("config", "core.safecrlf", "false")
			r.Write("a.txt", "1\n")
			saved := r.take("one", func() { r.Write("first", "2\n") })
			r.Write("a.txt", c.now)
			req := r.request(saved.N)
			req.Step = func(step string) error {
				if step == "written a.txt" {
					r.Write("a.txt", c.edit)
				}
				return nil
			}
			_, err := r.store.Restore(t.Context(), req)
			wantCode(t, err, checkpoint.ChangedMeanwhile)
			if got := r.Read("a.txt"); got != c.edit {
				t.Errorf("the edit is lost: %q", got)
			}
		})
	}
}

// TestB53FilesOfTheIndexComeBack has so many files that they are taken over from
// git's index, which knows them as unchanged.
func TestB53FilesOfTheIndexComeBack(t *testing.T) {
	files := map[string]string{}
	for i := range 250 {
		files[fmt.Sprintf("d%d/crlf%d.txt", i%3, i)] = fmt.Sprintf("line\r\nnumber %d\r\n", i)
		files[fmt.Sprintf("d%d/lf%d.txt", i%3, i)] = fmt.Sprintf("line\nnumber %d\n", i)
		files[fmt.Sprintf("d%d/odd%d.ibm", i%3, i)] = "\x81\x82\x25" // as long in either encoding
	}
	g := gittest.New(t)
	g.Git("config", "core.autocrlf", "true")
	g.Git("config", "core.safecrlf", "false")
	g.Write(".gitattributes", "*.ibm working-tree-encoding=IBM037\n")
	g.WriteAll(files)
	g.Commit("all")
	r := &room{Repo: g, t: t, store: open(t, g, nil), pane: checkpoint.Pane{ID: "00d333ce"}}
	saved := r.take("one", func() { r.Write("new", "1") })
	r.take("two", func() {
		for path := range files {
			r.Remove(path)
		}
	})
	r.Git("config", "core.autocrlf", "false")
	r.restore(saved.N)
	for path, want := range files {
		if got := r.Read(path); got != want {
			t.Fatalf("%s came back as %q, was %q", path, got, want)
		}
	}
}

// TestUnreadBytesAreRead has a file that git's index knows as unchanged, whose
// size is that of its blob and whose bytes are not: its encoding is no longer
// named. It is read when idle, or when a restore is about to change it.
func TestUnreadBytesAreRead(t *testing.T) {
	const odd = "\x81\x82\x25"
	unread := func(t *testing.T) *room {
		files := map[string]string{"odd.ibm": "new", ".gitattributes": "*.ibm working-tree-encoding=IBM037\n"}
		for i := range 250 {
			files[fmt.Sprintf("d/f%d", i)] = fmt.Sprintf("%d\n", i)
		}
		r := newRoom(t, files)
		r.take("another", func() { r.Write("odd.ibm", "new!") })
		r.Write("odd.ibm", odd)
		old := time.Now().Add(-time.Hour)
		for path := range files {
			if err := os.Chtimes(r.Path(path), old, old); err != nil {
				t.Fatal(err)
			}
		}
		r.Commit("odd")
		r.Write(".gitattributes", "")
		r.Git("commit", "-q", "-m", "no encoding", ".gitattributes")
		time.Sleep(2100 * time.Millisecond) // so that the times prove something
		r.store = open(t, r.Repo, nil)      // and has no table
		return r
	}
	t.Run("when a restore changes them", func(t *testing.T) {
		t.Parallel()
		r := unread(t)
		r.restore(1)
		if got := r.Read("odd.ibm"); got != "new!" {
			t.Fatalf("restored as %q", got)
		}
		r.restore(r.list()[len(r.list())-1].N)
		if got := r.Read("odd.ibm"); got != odd {
			t.Errorf("the safety checkpoint gave back %q", got)
		}
	})
	t.Run("when idle", func(t *testing.T) {
		t.Parallel()
		r := unread(t)
		r.begin()
		if err := r.store.Tend(t.Context()); err != nil {
			t.Fatal(err)
		}
		saved := r.take("after a rest", func() { r.Write("d/f1", "?\n") })
		r.take("gone", func() { r.Remove("odd.ibm") })
		r.restore(saved.N)
		if got := r.Read("odd.ibm"); got != odd {
			t.Errorf("came back as %q", got)
		}
	})
}

// TestB53AFileInAnotherEncodingThanItsOwnComesBack has files that git refuses to
// convert; a new one, and one that was text before.
func TestB53AFileInAnotherEncodingThanItsOwnComesBack(t *testing.T) {
	r := newRoom(t, map[string]string{"was.u16": "\xff\xfea\x00\n\x00", ".gitattributes": "*.u16 text working-tree-encoding=UTF-16\n"})
	r.WriteAll(map[string]string{"was.u16": "no mark\r\n", "new.u16": "a\r\nb\n"})
	saved := r.take("one", func() { r.Write("first", "2\n") })
	if left := saved.LeftOut; len(left) > 0 {
		t.Fatalf("left out: %v", left)
	}
	before := r.Tree(".git")
	r.take("two", func() {
		r.WriteAll(map[string]string{"was.u16": "\xff\xfeb\x00", "first": "3\n"})
		r.Remove("new.u16")
	})
	after := r.Tree(".git")
	r.restore(saved.N)
	if diff := cmp.Diff(before, r.Tree(".git")); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	r.restore(r.list()[len(r.list())-1].N)
	if diff := cmp.Diff(after, r.Tree(".git")); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}
