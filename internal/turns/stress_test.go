package turns

import (
	"fmt"
	"sync"
	"testing"

	"github.com/turnback/turnback/internal/api"
)

// TestManyAgentsAtOnce has agents in two work trees take turns all at the same
// time, with readers beside them: the stores see one call at a time, every turn
// of every agent is begun and saved once, in order.
func TestManyAgentsAtOnce(t *testing.T) {
	const agents, turnsEach = 8, 12
	h := newHouse(t)
	roots := []string{h.root(), h.repo("web")}
	var work sync.WaitGroup
	panes := make([]string, agents)
	for i := range agents {
		claude := h.claude(i)
		claude.dir = roots[i%2]
		work.Go(func() {
			for n := 1; n <= turnsEach; n++ {
				id := fmt.Sprintf("%d-%d", i, n)
				began := claude.prompts(id, "go on")
				panes[i] = began.Pane
				if began.Turn != n {
					t.Errorf("agent %d: turn %d began as %d", i, n, began.Turn)
				}
				claude.sends(api.ReportToolStart, func(r *api.AgentReport) { r.PromptID, r.ToolWrites = id, true })
				h.stores[claude.dir].edit(id)
				if n%3 == 0 {
					continue // interrupted: the next prompt closes it
				}
				var stops sync.WaitGroup
				for range 3 {
					stops.Go(func() { claude.sends(api.ReportStop, func(r *api.AgentReport) { r.PromptID = id }) })
				}
				stops.Wait()
			}
		})
	}
	work.Go(func() {
		for range 50 {
			h.busy()
			if _, err := h.tracker.GetState(t.Context(), api.GetAgentStateParams{Place: api.Place{Dir: h.root()}}); err != nil {
				continue // nothing known yet
			}
		}
	})
	work.Wait()
	h.stop()
	for _, root := range roots {
		store := h.stores[root]
		if store.overlap {
			t.Errorf("%s: two calls at once", root)
		}
		checkOrder(t, store)
	}
	h.noProblems()
}

// checkOrder checks that each pane's turns were begun and saved in order, each
// once.
func checkOrder(t *testing.T, s *fakeStore) {
	t.Helper()
	saved := map[string]int{}
	for _, r := range s.saved() {
		if r.Turn != saved[r.Pane.ID]+1 {
			t.Errorf("pane %s: turn %d saved after turn %d", r.Pane.ID, r.Turn, saved[r.Pane.ID])
		}
		saved[r.Pane.ID] = r.Turn
	}
	begun := map[string]int{}
	for _, r := range s.begins {
		if r.Turn != begun[r.Pane.ID]+1 {
			t.Errorf("pane %s: turn %d begun after turn %d", r.Pane.ID, r.Turn, begun[r.Pane.ID])
		}
		begun[r.Pane.ID] = r.Turn
	}
	for pane, turn := range begun {
		if saved[pane] != turn {
			t.Errorf("pane %s: %d turns begun, %d saved", pane, turn, saved[pane])
		}
	}
}
