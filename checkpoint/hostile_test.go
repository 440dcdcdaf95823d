package checkpoint_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// handOver replaces checkpoint n by one with the same message and another tree,
// as a repository from somebody else could bring.
func (r *room) handOver(n int, tree string, change func(message string) string) {
	r.t.Helper()
	ref := fmt.Sprintf("refs/turnback/checkpoints/%s/%d", r.pane.ID, n)
	raw := r.Git("cat-file", "commit", ref)
	raw = "tree " + tree + raw[strings.Index(raw, "\n"):]
	if change != nil {
		raw = change(raw)
	}
	id := strings.TrimSpace(r.GitInput(raw, "hash-object", "-t", "commit", "-w", "--stdin", "--literally"))
	r.Git("update-ref", ref, id)
}

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
	if err := os.Remove(r.Path(".git/objects/" + c.Commit[:2] + "/" + c.Commit[2:])); err != nil {
		t.Fatal(err)
	}
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
