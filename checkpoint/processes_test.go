package checkpoint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

// TestARestoreOfOneFileAsksGitFewTimes counts the processes: each costs as much as
// looking at some hundred files.
func TestARestoreOfOneFileAsksGitFewTimes(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "d/b": "1\n"})
	r.take("an edit", func() { r.Write("a", "2\n") })
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	// What turnback sets for every command stands before the subcommand.
	script := fmt.Sprintf("#!/bin/sh\nwas=\nfor a; do [ \"$was\" != -c ] && [ \"$a\" != -c ] && { echo \"$a\" >>%q; break; }; was=$a; done\nexec %q \"$@\"\n", calls, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	store := open(t, r.Repo, func(o *checkpoint.Options) {
		o.Env = append(o.Env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	})
	save := checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true}
	if _, err := store.Save(t.Context(), save); err != nil {
		t.Fatal(err)
	}
	r.Write("a", "3\n")
	if err := os.WriteFile(calls, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Restore(t.Context(), r.request(1, "a")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	made := strings.Fields(string(data))
	const most = 13
	if len(made) > most {
		t.Errorf("%d git processes, at most %d: %q", len(made), most, made)
	}
	for _, word := range []string{"cat-file", "for-each-ref"} {
		if n := strings.Count(string(data), word+"\n"); n != 1 {
			t.Errorf("git %s ran %d times, want once", word, n)
		}
	}
}
