package checkpoint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/turnback/turnback/checkpoint"
)

// TestASlowPassIsCutIntoParts has a disk on which deleting refs takes long, and more
// to let go of than fits into a pass.
func TestASlowPassIsCutIntoParts(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, keeping(50))
	r.many(2, 200)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nfor a; do [ \"$a\" = update-ref ] && sleep 0.5; done\nexec %q \"$@\"\n", real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		o.Now = func() time.Time { return r.now }
		keeping(50)(o)
		o.Env = append(o.Env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	})
	for pass, want := range []int{100, 100, 100, 0} {
		if gone := len(r.retain()); gone != want {
			t.Errorf("pass %d let go of %d, want %d", pass+1, gone, want)
		}
	}
	if list, err := r.store.ListAll(t.Context()); err != nil || len(list) != 2 || len(list[0].Checkpoints) != 50 || len(list[1].Checkpoints) != 50 {
		t.Errorf("%d panes, %v", len(list), err)
	}
}
