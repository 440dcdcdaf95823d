package checkpoint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

// TestOurFolderThatIsALinkIsRefused has a git directory that somebody else made,
// in which our folders are links: what is written there would be written elsewhere.
func TestOurFolderThatIsALinkIsRefused(t *testing.T) {
	for _, name := range []string{"turnback", "turnback/trees", "turnback/trees/main", "turnback/quarantine", "turnback/panes", "turnback/lfs"} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			r.take("one", func() { r.Write("a", "2\n") })
			elsewhere := t.TempDir()
			place := r.Path(".git/" + name)
			if err := os.RemoveAll(place); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, place); err != nil {
				t.Fatal(err)
			}
			r.Write("a", "3\n")
			_, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true})
			wantCode(t, err, checkpoint.Damaged)
			_, err = r.store.Drop(t.Context(), r.pane.ID, []int{1})
			wantCode(t, err, checkpoint.Damaged)
			_, err = checkpoint.Open(t.Context(), checkpoint.Options{Dir: r.Root, Env: r.Env()})
			wantCode(t, err, checkpoint.Damaged)
			if list, _ := os.ReadDir(elsewhere); len(list) > 0 {
				t.Errorf("written there: %v", list)
			}
		})
	}
}

func TestAPathThatIsNowhereIsNotSaidToBeAvailable(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("a", "2\n") })
	_, err := r.store.Restore(t.Context(), r.request(1, "nonexistent"))
	if e := wantCode(t, err, checkpoint.InvalidParams); len(e.Paths) > 0 || e.Detail == "" {
		t.Errorf("available %q, detail %q", e.Paths, e.Detail)
	}
}

// TestB13StagedContentIsHeld has the person unstage, and git prune, after the look
// and before the checkpoint's ref is there.
func TestB13StagedContentIsHeld(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nfor a; do [ \"$a\" = update-ref ] && { %[1]q -C %[2]q reset -q; %[1]q -C %[2]q prune --expire=now; }; done\nexec %[1]q \"$@\"\n", real, r.Root)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Write("a", "staged\n")
	r.Git("add", "a")
	r.Write("a", "on disk\n")
	store := open(t, r.Repo, func(o *checkpoint.Options) {
		o.Env = append(o.Env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	})
	if _, err := store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane, Always: true}); err != nil {
		t.Fatal(err)
	}
	r.Git("fsck", "--connectivity-only", "--no-dangling")
	r.staged(1)
	if got := r.Git("show", ":a"); got != "staged" {
		t.Errorf("%q is staged again", got)
	}
}
