//go:build unix

package checkpoint_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

func TestHostileTreesAreDamaged(t *testing.T) {
	for _, name := range []string{".git", ".GIT", "..", ".", "git~1", ".g\u200cit", ".git ", ".git::$INDEX_ALLOCATION"} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			r.take("one", func() { r.Write("a", "2\n") })
			blob := strings.TrimSpace(r.GitInput("#!/bin/sh\ntouch pwned\n", "hash-object", "-w", "--stdin"))
			inner := strings.TrimSpace(r.GitInput(fmt.Sprintf("100755 blob %s\tpost-checkout\x00", blob), "mktree", "-z"))
			tree := strings.TrimSpace(r.GitInput(fmt.Sprintf("040000 tree %s\t%s\x00", inner, name), "mktree", "-z"))
			r.handOver(1, tree, nil)
			before := r.Tree()
			_, err := r.store.Restore(t.Context(), r.request(1))
			wantCode(t, err, checkpoint.Damaged)
			if diff := cmp.Diff(before, r.Tree()); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
		})
	}
}

func TestMalformedMetadataIsDamagedAndListed(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"repeated trailer": func(m string) string { return m + "Turnback-N: 1\n" },
		"other number":     func(m string) string { return strings.Replace(m, "Turnback-N: 1", "Turnback-N: 2", 1) },
		"unknown version":  func(m string) string { return strings.Replace(m, "Turnback-Format: 1", "Turnback-Format: 9", 1) },
		"turn below zero":  replaced("Turn", "-1"),
		"turn beyond all":  replaced("Turn", "9223372036854775807"),
		"count below zero": func(m string) string { return m + "Turnback-Left-Out-Count: -1\n" },
		"parent twice":     replaced("Parents", "head head"),
		"no base":          replaced("Base-Tree", "main"),
		"unknown kind":     func(m string) string { return strings.Replace(m, "Turnback-Kind: turn", "Turnback-Kind: x", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			r.take("one", func() { r.Write("a", "2\n") })
			r.take("two", func() { r.Write("a", "3\n") })
			r.handOver(1, strings.TrimSpace(r.Git("rev-parse", "HEAD^{tree}")), change)
			list := r.list()
			if len(list) != 2 || list[0].Damaged == "" || list[1].Damaged != "" {
				t.Fatalf("list is %+v", list)
			}
			_, err := r.store.Restore(t.Context(), r.request(1))
			wantCode(t, err, checkpoint.Damaged)
			r.restore(2)
		})
	}
}

// TestNoLinkIsFollowed has a folder of the checkpoint replaced by a link that
// leads out of the tree.
func TestNoLinkIsFollowed(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("d/x", "in the tree\n") })
	r.take("two", func() { r.Write("a", "2\n") })
	outside := t.TempDir()
	if err := os.WriteFile(outside+"/x", []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Remove("d")
	r.Symlink(outside, "d")
	res := r.restore(1)
	if got := r.Read("d/x"); got != "in the tree\n" {
		t.Errorf("d/x is %q", got)
	}
	data, err := os.ReadFile(outside + "/x")
	if err != nil || string(data) != "outside\n" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
	r.restore(res.Safety.N)
	if target, err := os.Readlink(r.Path("d")); err != nil || target != outside {
		t.Errorf("the link is %q, %v", target, err)
	}
}

// TestB97AMissingCommitCostsOneCheckpointOnly has the commit behind a ref gone.
func TestB97AMissingCommitCostsOneCheckpointOnly(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	c := r.take("one", func() { r.Write("a", "2\n") })
	r.take("two", func() { r.Write("a", "3\n") })
	r.LoseObject(c.Commit)
	list := r.list()
	if len(list) != 2 || list[0].Damaged == "" || list[1].Damaged != "" {
		t.Fatalf("list is %+v", list)
	}
	_, err := r.store.Restore(t.Context(), r.request(1))
	wantCode(t, err, checkpoint.Damaged)
	r.take("three", func() { r.Write("a", "4\n") })
	r.restore(2)
	if got := r.Read("a"); got != "3\n" {
		t.Errorf("a is %q", got)
	}
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{1}); err != nil {
		t.Fatal(err)
	}
	if out, err := r.TryGit("fsck"); err != nil {
		t.Errorf("fsck: %v: %s", err, out)
	}
}

// TestB103ACorruptObjectIsRefusedUpFront has the content of an object be another
// than its id says, and no content at all.
func TestB103ACorruptObjectIsRefusedUpFront(t *testing.T) {
	for name, spoil := range map[string]func(r *room, file string) error{
		"missing": func(_ *room, file string) error { return os.Remove(file) },
		"another content": func(r *room, file string) error {
			data, err := os.ReadFile(r.objectFile(r.id("@2:a")))
			if err != nil {
				return err
			}
			return os.WriteFile(file, data, 0o444)
		},
		"cut off": func(_ *room, file string) error { return os.Truncate(file, 12) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "0\n"})
			r.take("one", func() { r.WriteAll(map[string]string{"a": "1\n", "b": "1\n", "z": strings.Repeat("one\n", 500)}) })
			r.take("two", func() { r.WriteAll(map[string]string{"a": "2\n", "b": "2\n", "z": "two\n"}) })
			id := r.id("@1:z")
			file := r.objectFile(id)
			if err := os.Chmod(file, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := spoil(r, file); err != nil {
				t.Fatal(err)
			}
			before, count := r.Fingerprint(), len(r.list())
			inode := inodeOf(t, r.Path("a"))
			_, err := r.store.Restore(t.Context(), r.request(1))
			e := wantCode(t, err, checkpoint.Damaged)
			if !strings.Contains(e.Message, id) || !strings.Contains(e.Message, `"z"`) {
				t.Errorf("object and path are not named: %s", e.Message)
			}
			if diff := cmp.Diff(before, r.Fingerprint()); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
			if inodeOf(t, r.Path("a")) != inode || len(r.list()) != count {
				t.Error("the restore began before it was refused")
			}
			r.restore(1, "b")
			if got := r.Read("b"); got != "1\n" {
				t.Errorf("b is %q", got)
			}
		})
	}
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Sys().(*syscall.Stat_t).Ino
}

// TestHostileTreesWriteNothingOutside has trees that only a repository from
// somebody else can have, made so that a careless restore would leave the work
// tree or never end.
func TestHostileTreesWriteNothingOutside(t *testing.T) {
	type entry struct{ mode, name, id string }
	for name, make := range map[string]func(r *room, blob, link, folder string) []entry{
		"a link and a folder of the same name": func(_ *room, blob, link, folder string) []entry {
			return []entry{{"100644", "a", blob}, {"120000", "d", link}, {"40000", "d", folder}}
		},
		"a folder and a link of the same name": func(_ *room, blob, link, folder string) []entry {
			return []entry{{"100644", "a", blob}, {"40000", "d", folder}, {"120000", "d", link}}
		},
		"a file twice": func(_ *room, blob, link, _ string) []entry {
			return []entry{{"100644", "a", blob}, {"100644", "x", blob}, {"120000", "x", link}}
		},
		"out of order": func(_ *room, blob, _, folder string) []entry {
			return []entry{{"100644", "z", blob}, {"40000", "d", folder}, {"100644", "a", blob}}
		},
		"a name with a slash":      func(_ *room, blob, _, _ string) []entry { return []entry{{"100644", "d/../../outside/pwned", blob}} },
		"an absolute name":         func(_ *room, blob, _, _ string) []entry { return []entry{{"100644", "/pwned", blob}} },
		"an empty name":            func(_ *room, _, _, folder string) []entry { return []entry{{"40000", "", folder}} },
		"a parent":                 func(_ *room, _, _, folder string) []entry { return []entry{{"40000", "..", folder}} },
		"a link called modules":    func(_ *room, _, link, _ string) []entry { return []entry{{"120000", ".gitmodules", link}} },
		"a mode with setuid":       func(_ *room, blob, _, _ string) []entry { return []entry{{"104755", "s", blob}} },
		"a mode of a device":       func(_ *room, blob, _, _ string) []entry { return []entry{{"60000", "s", blob}} },
		"a mode of a pipe":         func(_ *room, blob, _, _ string) []entry { return []entry{{"10000", "s", blob}} },
		"a mode of nothing":        func(_ *room, blob, _, _ string) []entry { return []entry{{"0", "s", blob}} },
		"a mode beyond all":        func(_ *room, blob, _, _ string) []entry { return []entry{{"777777777777777", "s", blob}} },
		"a submodule that is ours": func(r *room, _, _, _ string) []entry { return []entry{{"160000", "s", r.id("HEAD")}} },
		"a folder that is a file":  func(_ *room, blob, _, _ string) []entry { return []entry{{"40000", "d", blob}} },
		"a file that is a folder":  func(_ *room, _, _, folder string) []entry { return []entry{{"100644", "f", folder}} },
		"a file that is a commit":  func(r *room, _, _, _ string) []entry { return []entry{{"100644", "f", r.id("HEAD")}} },
		"a link that is a folder":  func(_ *room, _, _, folder string) []entry { return []entry{{"120000", "f", folder}} },
		"an id that is nobody's":   func(_ *room, _, _, _ string) []entry { return []entry{{"100644", "f", strings.Repeat("ab", 20)}} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "0\n"})
			outside := filepath.Join(filepath.Dir(r.Root), "outside")
			if err := os.Mkdir(outside, 0o755); err != nil {
				t.Fatal(err)
			}
			r.take("one", func() { r.Write("a", "1\n") })
			r.take("two", func() { r.Write("a", "2\n") })
			blob := r.GitInput("pwned\n", "hash-object", "-w", "--stdin")
			link := r.GitInput(outside, "hash-object", "-w", "--stdin")
			folder := r.GitInput("100644 blob "+blob+"\tpwned\x00", "mktree", "-z")
			var raw strings.Builder
			for _, e := range make(r, blob, link, folder) {
				id, err := hex.DecodeString(e.id)
				if err != nil {
					t.Fatal(err)
				}
				raw.WriteString(e.mode + " " + e.name + "\x00" + string(id))
			}
			tree := r.GitInput(raw.String(), "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
			r.handOver(1, tree, nil)
			before, git := r.Tree(), r.Git("for-each-ref", "refs/heads")
			_, err := r.store.Restore(t.Context(), r.request(1))
			if err == nil {
				t.Logf("restored: %v", r.Tree())
				r.restore(3) // the safety checkpoint
			} else {
				wantCode(t, err, checkpoint.Damaged)
			}
			if diff := cmp.Diff(before, r.Tree()); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
			if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
				t.Errorf("outside there are %v, %v", list, err)
			}
			if diff := cmp.Diff(git, r.Git("for-each-ref", "refs/heads")); diff != "" {
				t.Errorf("branches changed:\n%s", diff)
			}
			for _, n := range []int{1, 2} {
				if _, err := r.store.Diff(t.Context(), checkpoint.DiffRequest{Pane: r.pane.ID, N: n, Context: 3}); n == 2 && err != nil {
					t.Errorf("diff %d: %v", n, err)
				}
			}
			if _, err := r.store.Verify(t.Context(), checkpoint.VerifyRequest{Full: true}); err != nil {
				t.Error(err)
			}
			r.take("three", func() { r.Write("a", "3\n") })
		})
	}
}
