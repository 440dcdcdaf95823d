package checkpoint_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

// TestB95SavesAtOnceAllCount has 20 saves of one pane and 20 over two panes of
// one tree at once, each by a store of its own as a process would have it.
func TestB95SavesAtOnceAllCount(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1\n"})
	panes := []string{"aaaaaaaa", "bbbbbbbb"}
	var mu sync.Mutex
	numbers := map[string][]int{}
	var wg sync.WaitGroup
	for i := range 40 {
		pane := panes[0]
		if i >= 20 {
			pane = panes[i%2]
		}
		store := open(t, r.Repo, nil)
		wg.Go(func() {
			res, err := store.Save(t.Context(), checkpoint.SaveRequest{Kind: checkpoint.KindManual, Pane: checkpoint.Pane{ID: pane}, Always: true})
			if err != nil {
				t.Errorf("save: %v", err)
				return
			}
			mu.Lock()
			numbers[pane] = append(numbers[pane], res.Checkpoint.N)
			mu.Unlock()
		})
	}
	wg.Wait()
	for pane, want := range map[string]int{panes[0]: 30, panes[1]: 10} {
		got := numbers[pane]
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != want || got[len(got)-1] != want {
			t.Errorf("pane %s has numbers %v, want 1 to %d", pane, got, want)
		}
		info, err := r.store.List(t.Context(), pane)
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Checkpoints) != want {
			t.Errorf("pane %s has %d checkpoints, want %d", pane, len(info.Checkpoints), want)
		}
	}
}
