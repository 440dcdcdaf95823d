package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// swaps gives a room whose checkpoint 1 needs every kind of step to go back to.
func swaps(t testing.TB) (r *room, then map[string]gittest.Entry) {
	r = newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() {
		r.Write("edit", "old\n")
		r.Write("gone/x", "removed later\n")
		r.Write("file-then-folder", "file\n")
		r.Write("folder-then-file/in", "in\n")
		r.Symlink("a", "link")
	})
	then = r.Tree()
	r.take("two", func() {
		r.Write("edit", "new\n")
		r.Remove("gone")
		r.Remove("file-then-folder")
		r.Write("file-then-folder/in", "in\n")
		r.Remove("folder-then-file")
		r.Write("folder-then-file", "file\n")
		r.Remove("link")
		r.Symlink("nowhere", "link")
		r.Write("new/n", "n\n")
	})
	return r, then
}

// stepsOf counts the step boundaries of restoring checkpoint 1.
func stepsOf(t testing.TB) int {
	r, _ := swaps(t)
	count := 0
	req := r.request(1)
	req.Step = func(string) error { count++; return nil }
	if _, err := r.store.Restore(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return count
}

// TestAKilledRestoreIsFinishedEitherWay stops a restore at each of its step
// boundaries and goes on, or back.
func TestAKilledRestoreIsFinishedEitherWay(t *testing.T) {
	if testing.Short() {
		t.Skip("long; it runs without -short")
	}
	steps := stepsOf(t)
	if steps < 15 {
		t.Fatalf("only %d steps", steps)
	}
	for k := range steps {
		for _, abort := range []bool{false, true} {
			t.Run(fmt.Sprintf("step %d abort %v", k, abort), func(t *testing.T) { finishAt(t, k, abort) })
		}
	}
}

func finishAt(t *testing.T, k int, abort bool) {
	r, then := swaps(t)
	before, things := r.Tree(), r.Fingerprint()
	req := r.request(1)
	n, at := 0, ""
	req.Step = func(step string) error {
		if n++; n == k+1 {
			at = step
			return checkpoint.ErrStopped
		}
		return nil
	}
	if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, checkpoint.ErrStopped) {
		t.Fatalf("restore: %v", err)
	}
	r.store = open(t, r.Repo, nil)
	_, err := r.store.Restore(t.Context(), r.request(1))
	wantCode(t, err, checkpoint.Interrupted)
	_, err = r.store.Undo(t.Context(), r.request(0))
	wantCode(t, err, checkpoint.Interrupted)
	if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: abort}); err != nil {
		t.Fatalf("finish after %q: %v", at, err)
	}
	want := then
	if abort {
		want = before
	}
	if diff := cmp.Diff(want, r.Tree()); diff != "" {
		t.Errorf("stopped at %q (- want, + got):\n%s", at, diff)
	}
	if diff := cmp.Diff(things, r.Fingerprint()); diff != "" {
		t.Errorf("the user's things changed:\n%s", diff)
	}
	if i, err := r.store.Interrupted(); err != nil || i != nil {
		t.Errorf("still interrupted: %+v, %v", i, err)
	}
}

// TestFinishRefusesWhatSomebodyElseWrote changes a file between kill and finish.
func TestFinishRefusesWhatSomebodyElseWrote(t *testing.T) {
	r, _ := swaps(t)
	req := r.request(1)
	req.Step = func(step string) error {
		if step == "after edit" {
			return checkpoint.ErrStopped
		}
		return nil
	}
	if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, checkpoint.ErrStopped) {
		t.Fatalf("restore: %v", err)
	}
	r.Write("edit", "by hand\n")
	for _, abort := range []bool{false, true} {
		_, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: abort})
		if e := wantCode(t, err, checkpoint.ChangedMeanwhile); !cmp.Equal(e.Paths, []string{"edit"}) {
			t.Errorf("paths %q", e.Paths)
		}
		if got := r.Read("edit"); got != "by hand\n" {
			t.Errorf("edit is %q", got)
		}
	}
}

// TestB100AFileThatChangesUnderTheRestoreStays writes to a file right before it is
// swapped: the restore stops, and nothing has changed but that.
func TestB100AFileThatChangesUnderTheRestoreStays(t *testing.T) {
	for _, at := range []string{"written edit", "before edit", "before new/n"} {
		t.Run(at, func(t *testing.T) {
			r, _ := swaps(t)
			before := r.Tree()
			path := at[strings.IndexByte(at, ' ')+1:]
			req := r.request(1)
			req.Step = func(step string) error {
				if step == at {
					r.Write(path, "meanwhile\n")
				}
				return nil
			}
			_, err := r.store.Restore(t.Context(), req)
			if e := wantCode(t, err, checkpoint.ChangedMeanwhile); !cmp.Equal(e.Paths, []string{path}) {
				t.Errorf("paths %q", e.Paths)
			}
			if got := r.Read(path); got != "meanwhile\n" {
				t.Errorf("%s is %q", path, got)
			}
			r.Write(path, map[string]string{"edit": "new\n", "new/n": "n\n"}[path])
			if diff := cmp.Diff(before, r.Tree()); diff != "" {
				t.Errorf("something else changed:\n%s", diff)
			}
		})
	}
}

// TestB104OneLockedPathTakesBackTheRest has an immutable file among those to
// restore.
func TestB104OneLockedPathTakesBackTheRest(t *testing.T) {
	r, then := swaps(t)
	before := r.Tree()
	if err := setImmutable(r.Path("new/n"), true); err != nil {
		t.Skipf("files cannot be made immutable here: %v", err)
	}
	t.Cleanup(func() { _ = setImmutable(r.Path("new/n"), false) })
	_, err := r.store.Restore(t.Context(), r.request(1))
	var e *checkpoint.Error
	if !errors.As(err, &e) || !cmp.Equal(e.Paths, []string{"new/n"}) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(before, r.Tree()); diff != "" {
		t.Errorf("a restore that failed changed files:\n%s", diff)
	}
	if err := setImmutable(r.Path("new/n"), false); err != nil {
		t.Fatal(err)
	}
	r.restore(1)
	if diff := cmp.Diff(then, r.Tree()); diff != "" {
		t.Errorf("second run (- want, + got):\n%s", diff)
	}
	if left, _ := os.ReadDir(r.Root); len(left) == 0 {
		t.Error("the work tree is empty")
	}
}

// TestAPlantedJournalLeadsNowhere has a journal that came with a repository.
func TestAPlantedJournalLeadsNowhere(t *testing.T) {
	for name, change := range map[string][2]string{
		"path out of the tree":   {`"path":"edit"`, `"path":"../edit"`},
		"git directory":          {`"path":"edit"`, `"path":".git/config"`},
		"name of temporary file": {`"run_id":"`, `"run_id":"../`},
		"folder":                 {`"folder_ops":[{`, `"folder_ops":[{"path":"../x"},{`},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := swaps(t)
			req := r.request(1)
			req.Step = func(string) error { return checkpoint.ErrStopped }
			if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, checkpoint.ErrStopped) {
				t.Fatal(err)
			}
			journal := r.Path(".git/turnback/trees/main/restore.json")
			data, err := os.ReadFile(journal)
			if err != nil {
				t.Fatal(err)
			}
			planted := strings.Replace(string(data), change[0], change[1], 1)
			if planted == string(data) {
				t.Fatalf("the journal has no %s: %s", change[0], data)
			}
			if err := os.WriteFile(journal, []byte(planted), 0o600); err != nil {
				t.Fatal(err)
			}
			before := r.Tree()
			for _, abort := range []bool{false, true} {
				_, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: abort})
				wantCode(t, err, checkpoint.Interrupted)
			}
			if diff := cmp.Diff(before, r.Tree()); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
		})
	}
}

// TestAKilledRestoreOfAnOddNameIsFinished has a name that is not UTF-8.
func TestAKilledRestoreOfAnOddNameIsFinished(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write("odd\xff\nname", "1\n") })
	then := r.Tree()
	r.take("two", func() { r.Write("odd\xff\nname", "2\n") })
	req := r.request(1)
	req.Step = func(step string) error {
		if strings.HasPrefix(step, "swapped") {
			return checkpoint.ErrStopped
		}
		return nil
	}
	if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, checkpoint.ErrStopped) {
		t.Fatal(err)
	}
	if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(then, r.Tree()); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
}

// TestTheHintOfARefusedFinishWorks moves the file away that was in the way.
func TestTheHintOfARefusedFinishWorks(t *testing.T) {
	for _, abort := range []bool{false, true} {
		r, then := swaps(t)
		want := then
		if abort {
			want = r.Tree()
		}
		req := r.request(1)
		req.Step = func(step string) error {
			if step == "after edit" {
				return checkpoint.ErrStopped
			}
			return nil
		}
		if _, err := r.store.Restore(t.Context(), req); !errors.Is(err, checkpoint.ErrStopped) {
			t.Fatalf("restore: %v", err)
		}
		r.Write("edit", "by hand\n")
		_, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: abort})
		wantCode(t, err, checkpoint.ChangedMeanwhile)
		r.Remove("edit")
		if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: abort}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Tree()); diff != "" {
			t.Errorf("abort %v (- want, + got):\n%s", abort, diff)
		}
	}
}

// TestAnEditOfARestoredFileOutlivesTheTakeBack has one file edited right after it
// was restored and another right before: the restore stops, and both edits stay.
func TestAnEditOfARestoredFileOutlivesTheTakeBack(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	r.take("one", func() { r.Write("a", "2\n"); r.Write("b", "2\n"); r.Write("c", "2\n") })
	r.take("two", func() { r.Write("a", "3\n"); r.Write("b", "3\n"); r.Write("c", "3\n") })
	req := r.request(1)
	req.Step = func(step string) error {
		switch step {
		case "after a":
			r.Write("a", "edit one\n")
		case "written c":
			r.Write("c", "edit two\n")
		}
		return nil
	}
	_, err := r.store.Restore(t.Context(), req)
	if e := wantCode(t, err, checkpoint.ChangedMeanwhile); !cmp.Equal(e.Paths, []string{"c", "a"}) {
		t.Errorf("paths %q", e.Paths)
	}
	for path, want := range map[string]string{"a": "edit one\n", "b": "3\n", "c": "edit two\n"} {
		if got := r.Read(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if i, err := r.store.Interrupted(); err != nil || i != nil {
		t.Errorf("interrupted: %+v, %v", i, err)
	}
}

// TestTwoEditsDuringOneSwapBothStay has a file replaced before the swap, and
// again while what came out is compared.
func TestTwoEditsDuringOneSwapBothStay(t *testing.T) {
	r, _ := swaps(t)
	req := r.request(1)
	req.Step = func(step string) error {
		switch step {
		case "written edit":
			r.Write("edit", "edit one\n")
		case "swapped edit":
			r.Write("edit", "edit two\n")
		}
		return nil
	}
	_, err := r.store.Restore(t.Context(), req)
	e := wantCode(t, err, checkpoint.ChangedMeanwhile)
	if got := r.Read("edit"); got != "edit two\n" {
		t.Errorf("edit is %q", got)
	}
	if got := r.Read("edit.kept-1"); got != "edit one\n" || !strings.Contains(e.Message, "edit.kept-1") {
		t.Errorf("kept %q, message %q", got, e.Message)
	}
}

// TestChangedAttributesAreNoChangeOfTheFile has .gitattributes change along with
// a file that it is about.
func TestChangedAttributesAreNoChangeOfTheFile(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	r.take("one", func() { r.Write(".gitattributes", "# none\n"); r.Write("c.txt", "one\r\n") })
	r.take("two", func() { r.Write(".gitattributes", "*.txt text\n"); r.Write("c.txt", "two\r\n") })
	r.restore(1)
	if got := r.Read("c.txt"); got != "one\r\n" {
		t.Errorf("c.txt is %q", got)
	}
}

// TestARestoreThatIsInterruptedAfterItsLastFileEndsWell has nothing left to change:
// it is noted as any other.
func TestARestoreThatIsInterruptedAfterItsLastFileEndsWell(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	one := r.take("one", func() { r.Write("a", "2\n") })
	want := r.Tree()
	r.Write("a", "3\n")
	ctx, interrupt := context.WithCancel(t.Context())
	req := r.request(one.N)
	req.Step = func(step string) error {
		if step == "after a" {
			interrupt()
		}
		return nil
	}
	if _, err := r.store.Restore(ctx, req); err != nil {
		t.Fatal(err)
	}
	r.sameTree(want)
	if half, err := r.store.Interrupted(); half != nil || err != nil {
		t.Errorf("left as interrupted: %+v, %v", half, err)
	}
}
