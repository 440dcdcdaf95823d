package checkpoint_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
)

// at is a room whose clock the test sets.
type at struct {
	*room
	now time.Time
}

func newClock(t *testing.T, files map[string]string, change func(*checkpoint.Options)) *at {
	r := &at{room: newRoom(t, files), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		o.Now = func() time.Time { return r.now }
		if change != nil {
			change(o)
		}
	})
	return r
}

func numbersOf(list []checkpoint.Checkpoint) []int {
	out := []int{}
	for _, c := range list {
		out = append(out, c.N)
	}
	return out
}

func wantNumbers(t *testing.T, list []checkpoint.Checkpoint, want ...int) {
	t.Helper()
	if diff := cmp.Diff(append([]int{}, want...), numbersOf(list)); diff != "" {
		t.Fatalf("checkpoints (- want, + got):\n%s", diff)
	}
}

func (r *at) trash() []checkpoint.Trashed {
	r.t.Helper()
	list, err := r.store.ListTrash(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func TestDroppedComesBackUnderItsNumber(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	for _, text := range []string{"1\n", "2\n", "3\n"} {
		r.take("turn "+text[:1], func() { r.Write("a", text) })
	}
	before := r.list()
	dropped, err := r.store.Drop(t.Context(), r.pane.ID, []int{3, 1, 3})
	if err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, dropped, 1, 3)
	wantNumbers(t, r.list(), 2)
	trash := r.trash()
	if len(trash) != 2 || trash[0].N != 1 || trash[1].Label != "turn 3" || !trash[0].Dropped.Equal(r.now) || !trash[0].Until.Equal(r.now.AddDate(0, 0, 7)) || trash[1].Damaged != "" {
		t.Errorf("trash %+v", trash)
	}
	r.Git("gc", "--quiet", "--prune=now")
	mine := r.Fingerprint()
	_, err = r.store.Untrash(t.Context(), r.pane.ID, []int{1, 2})
	if e := wantCode(t, err, checkpoint.NoCheckpoint); !cmp.Equal(e.Numbers, []int{1, 3}) {
		t.Errorf("numbers %v", e.Numbers)
	}
	wantNumbers(t, r.list(), 2)
	back, err := r.store.Untrash(t.Context(), r.pane.ID, []int{3, 1})
	if err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, back, 1, 3)
	if diff := cmp.Diff(before, r.list(), cmp.AllowUnexported(checkpoint.Checkpoint{})); diff != "" {
		t.Errorf("there and back (- before, + after):\n%s", diff)
	}
	if len(r.trash()) > 0 {
		t.Errorf("the trash holds %+v", r.trash())
	}
	r.restore(1)
	if got := r.Read("a"); got != "1\n" {
		t.Errorf("a is %q", got)
	}
	if diff := cmp.Diff(mine, r.Fingerprint()); diff != "" {
		t.Errorf("the user's things changed:\n%s", diff)
	}
}

// TestNoNumberIsGivenTwice loses the pane's own ref while the highest number is in
// the trash alone.
func TestNoNumberIsGivenTwice(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("a", "1\n") })
	r.take("two", func() { r.Write("a", "2\n") })
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{2}); err != nil {
		t.Fatal(err)
	}
	r.Git("update-ref", "-d", "refs/turnback/panes/"+r.pane.ID)
	if turn, err := r.store.HighestTurn(t.Context(), r.pane.ID); err != nil || turn != 2 {
		t.Errorf("highest turn %d, %v; want 2", turn, err)
	}
	// What checkpoint 2 held is saved again, as edits before the turn.
	c := r.take("three", func() { r.Write("a", "3\n") })
	if c.N != 4 {
		t.Errorf("checkpoint %d, want 4", c.N)
	}
	if _, err := r.store.Untrash(t.Context(), r.pane.ID, []int{2}); err != nil {
		t.Errorf("its number is free, but: %v", err)
	}
	wantNumbers(t, r.list(), 1, 2, 3, 4)
}

func TestUntrashRefusesANumberThatIsTaken(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	c := r.take("one", func() { r.Write("a", "1\n") })
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{1}); err != nil {
		t.Fatal(err)
	}
	r.Git("update-ref", c.Ref, c.Commit)
	_, err := r.store.Untrash(t.Context(), r.pane.ID, []int{1})
	wantCode(t, err, checkpoint.InvalidParams)
}

func TestTrashIsEmptiedAfterAWeek(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("a", "1\n") })
	r.take("two", func() { r.Write("a", "2\n") })
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{1}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{7 * 24 * time.Hour, 1}, {time.Second, 0}} {
		r.now = r.now.Add(c.after)
		if _, err := r.store.Prune(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
		if got := len(r.trash()); got != c.left {
			t.Errorf("at %s the trash holds %d, want %d", r.now, got, c.left)
		}
	}
	wantNumbers(t, r.list(), 2)
}

func TestDropNowDeletesAlsoFromTheTrash(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("a", "1\n") })
	r.take("two", func() { r.Write("a", "2\n") })
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.DropNow(t.Context(), r.pane.ID, []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	if out := r.Git("for-each-ref", "refs/turnback/checkpoints", "refs/turnback/trash"); out != "" {
		t.Errorf("refs are left:\n%s", out)
	}
	if res := r.begin(); res.Start == nil || res.Start.N != 3 {
		t.Errorf("start %+v, want number 3", res.Start)
	}
}

// TestADamagedCheckpointCanBeDropped has one whose commit is gone, which no
// commit may name, and one whose message was written over.
func TestADamagedCheckpointCanBeDropped(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	c := r.take("one", func() { r.Write("a", "1\n") })
	r.take("two", func() { r.Write("a", "2\n") })
	other := r.Git("commit-tree", c.Tree, "-m", "nothing of ours")
	r.Git("update-ref", "refs/turnback/checkpoints/"+r.pane.ID+"/2", other)
	r.LoseObject(c.Commit)
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	trash := r.trash()
	if len(trash) != 1 || trash[0].N != 2 || trash[0].Damaged == "" {
		t.Errorf("trash %+v", trash)
	}
	if out, err := r.TryGit("fsck", "--strict", "--connectivity-only", "--no-dangling"); err != nil {
		t.Errorf("fsck: %v %s", err, out)
	}
}

func TestDropLeavesWhatAKilledRestoreNeeds(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("a", "1\n") })
	r.take("two", func() { r.Write("a", "2\n") })
	req := r.request(1)
	req.Step = func(string) error { return checkpoint.ErrStopped }
	if _, err := r.store.Restore(t.Context(), req); err == nil {
		t.Fatal("the restore was not stopped")
	}
	for n, want := range map[int]bool{1: false, 2: true, 3: false} {
		_, err := r.store.Drop(t.Context(), r.pane.ID, []int{n})
		if (err == nil) != want || err != nil && !checkpoint.HasCode(err, checkpoint.Interrupted) {
			t.Errorf("drop %d: %v", n, err)
		}
	}
	if list, err := r.store.Prune(t.Context(), time.Nanosecond, true); err != nil || len(list) > 0 {
		t.Errorf("would prune %v, %v", numbersOf(list), err)
	}
	if out := r.Git("for-each-ref", "--format=%(refname)", "refs/turnback/trash"); strings.Count(out, "\n") > 0 {
		t.Errorf("trash:\n%s", out)
	}
}

func TestWhatTheTrashCannotReadStays(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.Git("update-ref", "refs/turnback/trash/"+r.pane.ID+"/7", "HEAD")
	if _, err := r.store.Prune(t.Context(), 0, false); err != nil {
		t.Fatal(err)
	}
	if trash := r.trash(); len(trash) != 1 || trash[0].Damaged == "" {
		t.Errorf("trash %+v", trash)
	}
	_, err := r.store.Untrash(t.Context(), r.pane.ID, []int{7})
	wantCode(t, err, checkpoint.Damaged)
}

// TestB148AnUnreadableCheckpointIsNoOther corrupts the record of one of five.
func TestB148AnUnreadableCheckpointIsNoOther(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	for _, text := range []string{"1", "2", "3", "4", "5"} {
		r.take(text, func() { r.Write("a", text) })
	}
	r.Git("update-ref", "refs/turnback/checkpoints/"+r.pane.ID+"/3", r.Git("commit-tree", "-m", "no record", "HEAD^{tree}"))
	_, err := r.store.Restore(t.Context(), r.request(3))
	wantCode(t, err, checkpoint.Damaged)
	_, err = r.revert(3)
	wantCode(t, err, checkpoint.Damaged)
	if got := r.Read("a"); got != "5" {
		t.Errorf("a is %q", got)
	}
	r.restore(2)
}

// TestB130TheSameTurnIsStoredOnce has the process that saved a turn killed before it
// could note that it did, and another one told of the same end again.
func TestB130TheSameTurnIsStoredOnce(t *testing.T) {
	r := newClock(t, map[string]string{"a": "0\n"}, nil)
	r.take("one", func() { r.Write("a", "1") })
	if err := os.RemoveAll(r.Path(".git/turnback/trees")); err != nil {
		t.Fatal(err)
	}
	r.store = open(t, r.Repo, nil)
	if c := r.end("one"); c != nil {
		t.Errorf("stored again as %d", c.N)
	}
	wantNumbers(t, r.list(), 1)
}
