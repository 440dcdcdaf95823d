package checkpoint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// TestAFileCalledLikeATemporaryOneIsSaved has files of the person's with the names
// that a restore gives its temporary files.
func TestAFileCalledLikeATemporaryOneIsSaved(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	mine := map[string]string{".turnback-mine-1": "x\n", "d/.turnback-a-1-old": "y\n", ".turnback-00d333ce3-0": "z\n"}
	saved := r.take("one", func() { r.WriteAll(mine) })
	then := r.Tree(".git")
	r.take("two", func() {
		r.Write("a", "2\n")
		for path := range mine {
			r.Remove(path)
		}
	})
	r.restore(saved.N)
	if diff := cmp.Diff(then, r.Tree(".git")); diff != "" {
		t.Errorf("restored (- saved, + now):\n%s", diff)
	}
}

// TestTemporaryFilesOfAKilledRestoreAreNotSaved saves between a kill and the end
// of the restore. Beside its temporary file stands one that the person made since,
// with the name that the restore would have used at the root.
func TestTemporaryFilesOfAKilledRestoreAreNotSaved(t *testing.T) {
	r := newRoom(t, map[string]string{"d/a": "1\n"})
	saved := r.take("one", func() { r.Write("d/a", "2\n") })
	r.take("two", func() { r.Write("d/a", "3\n") })
	req := r.request(saved.N)
	req.Step = func(step string) error {
		if step == "swapped d/a" {
			return checkpoint.ErrStopped
		}
		return nil
	}
	if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, checkpoint.ErrStopped) {
		t.Fatalf("restore: %v", err)
	}
	temp := ""
	for path := range r.Tree(".git") {
		if name, ok := strings.CutPrefix(path, "d/.turnback-"); ok {
			temp = ".turnback-" + name
		}
	}
	if temp == "" {
		t.Fatal("the killed restore left no temporary file")
	}
	res, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: r.pane})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Git("ls-tree", "-r", "--name-only", res.Checkpoint.Commit); got != "d/a" {
		t.Errorf("saved: %q", got)
	}
	r.Write(temp, "mine\n")
	if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{}); err != nil {
		t.Fatal(err)
	}
	if !r.Exists(temp) || r.Read(temp) != "mine\n" {
		t.Errorf("%s of the person's is gone", temp)
	}
	if got := r.Read("d/a"); got != "2\n" {
		t.Errorf("d/a is %q", got)
	}
}
