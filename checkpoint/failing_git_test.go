package checkpoint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/git"
)

// dyingGit is a git that kills itself in the middle of its call number k; 0: it
// only counts.
func (r *at) dyingGit(k int) (g *git.Git, calls func() int) {
	r.t.Helper()
	dir := r.t.TempDir()
	real, err := exec.LookPath("git")
	if err != nil {
		r.t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nn=$(($(cat %[1]q/n 2>/dev/null)+1)); echo $n > %[1]q/n\n[ $n = \"$(cat %[1]q/at 2>/dev/null)\" ] && kill -9 $$\nexec %[2]q \"$@\"\n", dir, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		r.t.Fatal(err)
	}
	g, err = git.Find(r.t.Context(), git.FindOptions{Env: append([]string{"PATH=" + dir + ":" + os.Getenv("PATH")}, r.Env()[1:]...)})
	if err != nil {
		r.t.Fatal(err)
	}
	for name, n := range map[string]int{"n": 0, "at": k} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fmt.Sprint(n)), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	return g, func() int {
		data, _ := os.ReadFile(filepath.Join(dir, "n"))
		n := 0
		_, _ = fmt.Sscan(string(data), &n)
		return n
	}
}

// TestGitThatDiesLeavesAWholeList has git killed at each of its calls in turn, in
// all that deletes, moves or rewrites checkpoints: each comes out as it was before
// or as it was to be, and the next run finishes.
func TestGitThatDiesLeavesAWholeList(t *testing.T) {
	if testing.Short() {
		t.Skip("long; it runs without -short")
	}
	for name, run := range map[string]func(s *checkpoint.Store, pane string) error{
		"drop": func(s *checkpoint.Store, pane string) error {
			_, err := s.Drop(t.Context(), pane, []int{2, 3})
			return err
		},
		"untrash": func(s *checkpoint.Store, pane string) error {
			_, err := s.Untrash(t.Context(), pane, []int{1})
			return err
		},
		"prune": func(s *checkpoint.Store, _ string) error { _, err := s.Prune(t.Context(), 0, false); return err },
		"purge": func(s *checkpoint.Store, _ string) error {
			_, err := s.Purge(t.Context(), checkpoint.PurgeRequest{Path: "k", Now: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for k := 2; ; k++ { // the first call finds the repository
				r := newClock(t, map[string]string{"a": "0\n"}, nil)
				r.take("one", func() { r.Write("k", secret) })
				for _, text := range []string{"2", "3", "4"} {
					r.take(text, func() { r.Write("a", text) })
				}
				if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{1}); err != nil {
					t.Fatal(err)
				}
				g, calls := r.dyingGit(k)
				dying := open(t, r.Repo, func(o *checkpoint.Options) { o.Git = g; keeping(2)(o) })
				before := r.summary()
				if err := run(dying, r.pane.ID); err == nil && calls() < k {
					return // it needs fewer calls
				}
				after := r.summary()
				whole := open(t, r.Repo, keeping(2))
				if err := run(whole, r.pane.ID); err != nil && !checkpoint.HasCode(err, checkpoint.NoCheckpoint) {
					t.Fatalf("call %d: the next run: %v", k, err)
				}
				if want := r.summary(); !cmp.Equal(after, before) && !cmp.Equal(after, want) {
					t.Errorf("call %d: neither as before nor as it was to be:\n%s", k, cmp.Diff(want, after))
				}
				r.fsck()
			}
		})
	}
}

// summary tells what there is, without the ids.
func (r *at) summary() string {
	r.t.Helper()
	var b strings.Builder
	store := open(r.t, r.Repo, nil)
	info, err := store.List(r.t.Context(), r.pane.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	trash, err := store.ListTrash(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range info.Checkpoints {
		fmt.Fprintf(&b, "%d %s %s %v\n", c.N, c.Label, c.Tree, c.Damaged)
	}
	for _, c := range trash {
		fmt.Fprintf(&b, "trash %d %s %s %v\n", c.N, c.Label, c.Tree, c.Damaged)
	}
	return b.String()
}
