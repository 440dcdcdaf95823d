package checkpoint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

// noise is text that does not compress.
func noise(n int) string {
	r := rand.New(rand.NewChaCha8([32]byte{byte(n)}))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// TestB14StatsTellWhatNothingElseHolds has bytes that a commit holds too, bytes of
// two panes, and bytes in the trash.
func TestB14StatsTellWhatNothingElseHolds(t *testing.T) {
	r := newClock(t, map[string]string{"a": noise(1_000_000)}, nil)
	stats := func() checkpoint.Stats {
		t.Helper()
		st, err := r.store.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	near := func(what string, got, want int64) {
		t.Helper()
		if got < want || got > want+20_000 {
			t.Errorf("%s: %d bytes, want about %d", what, got, want)
		}
	}
	r.take("one", func() { r.Write("a", noise(100_000)); r.Write("b", "b") })
	st := stats()
	near("total", st.Total, 100_000)
	if len(st.Panes) != 1 || st.Panes[0].Checkpoints != 1 || st.Files == 0 || st.Trashed != 0 {
		t.Errorf("stats %+v", st)
	}
	other := checkpoint.Pane{ID: "bbbbbbbb", Window: "other"}
	if _, err := r.store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: other, Always: true}); err != nil {
		t.Fatal(err)
	}
	r.take("two", func() { r.Write("a", noise(200_000)) })
	st = stats()
	near("total", st.Total, 300_000)
	near("first pane", st.Panes[0].Bytes, 300_000)
	near("second pane", st.Panes[1].Bytes, 100_000)
	if _, err := r.store.Drop(t.Context(), r.pane.ID, []int{2}); err != nil {
		t.Fatal(err)
	}
	st = stats()
	near("trash", st.Trash, 200_000)
	near("first pane", st.Panes[0].Bytes, 100_000)
	r.Git("commit", "-q", "-a", "-m", "now it is the person's")
	near("total after a commit", stats().Total, 100_000)
}
