package whose

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/turnback/turnback/internal/testutil/seed"
)

func TestMain(m *testing.M) { os.Exit(seed.Main(m)) }

func at(minute int) time.Time { return time.Date(2026, 11, 30, 9, minute, 0, 0, time.UTC) }

func turn(pane string, number, begin, end int, named ...string) Turn {
	return Turn{ID: ID{pane, number}, Begin: at(begin), End: at(end), Named: named}
}

// judge gives the verdicts as words. changed has the paths between two trees.
func judge(pane string, looks []Look, turns []Turn, changed map[string]string) map[string]string {
	spans := Spans(looks, turns)
	for i, s := range spans {
		spans[i].Changed = strings.Fields(changed[s.From+s.To])
	}
	out := map[string]string{}
	for p, v := range Judge(pane, spans) {
		words := []string{"person's", "mine", "others", "both", "shared"}[v.Owner]
		if len(v.Panes) > 0 {
			words += " " + strings.Join(v.Panes, ",")
		}
		out[p] = words
	}
	return out
}

func TestWhosePath(t *testing.T) {
	looks := []Look{{at(0), "0"}, {at(10), "1"}, {at(20), "2"}, {at(30), "3"}}
	tests := map[string]struct {
		turns   []Turn
		changed map[string]string
		want    map[string]string
	}{
		"nobody's turn": {changed: map[string]string{"01": "a"}, want: map[string]string{"a": "person's"}},
		"one turn each": {
			turns:   []Turn{turn("p", 1, 0, 10), turn("q", 1, 10, 20)},
			changed: map[string]string{"01": "a both", "12": "b both", "23": "c"},
			want:    map[string]string{"a": "mine", "b": "others q", "both": "both q", "c": "person's"},
		},
		"a turn within another": {
			turns:   []Turn{turn("p", 1, 0, 30, "named"), turn("q", 1, 10, 20, "theirs", "twice"), turn("q", 2, 40, 50, "later")},
			changed: map[string]string{"01": "a", "12": "named theirs unnamed later", "23": "z"},
			want:    map[string]string{"a": "mine", "named": "mine", "theirs": "others q", "unnamed": "shared q", "later": "shared q", "z": "mine"},
		},
		"both name it": {
			turns:   []Turn{turn("p", 1, 0, 30, "x"), turn("q", 1, 10, 20, "x")},
			changed: map[string]string{"12": "x"}, want: map[string]string{"x": "both q"},
		},
		"mine first, then nobody can tell": {
			turns:   []Turn{turn("p", 1, 0, 30), turn("q", 1, 10, 20)},
			changed: map[string]string{"01": "x", "12": "x"}, want: map[string]string{"x": "shared q"},
		},
		"two others at once": {
			turns:   []Turn{turn("q", 1, 0, 10), turn("r", 1, 0, 10)},
			changed: map[string]string{"01": "x"}, want: map[string]string{"x": "others q,r"},
		},
		"a turn that only another knew of": {
			turns:   []Turn{{ID: ID{"p", 1}, Begin: at(0), End: at(10), With: []ID{{"q", 7}}}, turn("p", 2, 10, 20)},
			changed: map[string]string{"01": "x", "12": "y"}, want: map[string]string{"x": "shared q", "y": "mine"},
		},
		"a known turn counts for its own time": {
			turns:   []Turn{{ID: ID{"p", 1}, Begin: at(0), End: at(20), With: []ID{{"q", 7}}}, turn("q", 7, 10, 20)},
			changed: map[string]string{"01": "x", "12": "y"}, want: map[string]string{"x": "mine", "y": "shared q"},
		},
		"turns of one pane do not overlap": {
			turns:   []Turn{turn("p", 1, 0, 15), turn("p", 2, 15, 20)},
			changed: map[string]string{"12": "x"}, want: map[string]string{"x": "mine"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, judge("p", looks, test.turns, test.changed)); diff != "" {
				t.Errorf("whose the paths are (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAClockThatStandsStillTellsNothing has everything at one time: what was
// open cannot be told, so all of it counts.
func TestAClockThatStandsStillTellsNothing(t *testing.T) {
	looks := []Look{{at(0), "0"}, {at(0), "1"}}
	got := judge("p", looks, []Turn{turn("p", 1, 0, 0), turn("q", 1, 0, 0)}, map[string]string{"01": "x"})
	if got["x"] != "shared q" {
		t.Errorf("x is %s", got["x"])
	}
}

// history is a work tree in which a person and the agents of three panes write,
// each agent only while its turn is open.
type history struct {
	now     int
	writes  int
	disk    map[string]int      // what a path holds
	looks   []Look              //
	trees   []map[string]int    // by number of the look
	open    map[string]*Turn    //
	over    []Turn              //
	writers map[string][]string // who wrote a path since the last look
	wrote   []map[string][]string
}

func (h *history) look() time.Time {
	h.now++
	h.looks = append(h.looks, Look{At: at(h.now), Tree: fmt.Sprint(len(h.trees))})
	h.trees = append(h.trees, maps.Clone(h.disk))
	h.wrote = append(h.wrote, h.writers)
	h.writers = map[string][]string{}
	return at(h.now)
}

// TestNoPaneTakesWhatAnotherWrote draws histories. Agents name what they write
// or not. Then no path that another pane's agent changed, and that this pane's
// did not name, is this pane's or a person's. Where all name what they write, and
// nothing else, every verdict is exactly who wrote.
func TestNoPaneTakesWhatAnotherWrote(t *testing.T) {
	panes := []string{"p", "q", "r"}
	paths := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(rt *rapid.T) {
		namesAll := rapid.Bool().Draw(rt, "everybody names what they write")
		h := drawn{history: &history{disk: map[string]int{}, open: map[string]*Turn{}, writers: map[string][]string{}}, rt: rt, goesBack: !namesAll}
		h.look()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			pane := rapid.SampledFrom(panes).Draw(rt, "pane")
			path := rapid.SampledFrom(paths).Draw(rt, "path")
			current := h.open[pane]
			switch what := rapid.SampledFrom([]string{"turn", "write", "write", "write", "person", "look"}).Draw(rt, "what"); {
			case what == "look":
				h.look()
			case what == "person" && len(h.open) == 0:
				h.write("", path)
			case what == "turn" && current == nil:
				h.open[pane] = &Turn{ID: ID{pane, len(h.over) + 1}, Begin: h.look()}
			case what == "turn":
				current.End = h.look()
				h.over = append(h.over, *current)
				delete(h.open, pane)
			case what == "write" && current != nil:
				h.write(pane, path)
				if namesAll || rapid.Bool().Draw(rt, "names it") {
					current.Named = append(current.Named, path)
				}
			}
		}
		end := h.look()
		for _, t := range h.open {
			t.End = end
			h.over = append(h.over, *t)
		}
		h.check(rt, namesAll)
	})
}

// drawn is a history with the test that draws it.
type drawn struct {
	*history
	rt       *rapid.T
	goesBack bool // what is written may be what was there
}

func (h drawn) write(who, path string) {
	h.writes++
	h.disk[path] = h.writes
	if h.goesBack {
		h.disk[path] = rapid.IntRange(0, 3).Draw(h.rt, "content")
	}
	h.writers[path] = append(h.writers[path], who)
}

func (h drawn) check(rt *rapid.T, exact bool) {
	spans := Spans(h.looks, h.over)
	number := func(tree string) int { return slices.IndexFunc(h.looks, func(l Look) bool { return l.Tree == tree }) }
	agents := map[string]map[string]bool{} // panes whose agents wrote a path that changed, by path
	for i, s := range spans {
		from, to := number(s.From), number(s.To)
		for p := range h.trees[to] {
			before, had := h.trees[from][p]
			if had && before == h.trees[to][p] {
				continue
			}
			spans[i].Changed = append(spans[i].Changed, p)
			if agents[p] == nil {
				agents[p] = map[string]bool{}
			}
			for _, who := range h.wrote[to][p] {
				if who != "" {
					agents[p][who] = true
				}
			}
		}
	}
	for p, v := range Judge("p", spans) {
		others := maps.Clone(agents[p])
		delete(others, "p")
		named := slices.ContainsFunc(h.over, func(t Turn) bool { return t.Pane == "p" && slices.Contains(t.Named, p) })
		if len(others) > 0 && !named && (v.Owner == Mine || v.Owner == Persons) {
			rt.Fatalf("%s was written by %v, and the verdict is %d", p, agents[p], v.Owner)
		}
		if !exact {
			continue
		}
		want := Persons
		switch {
		case agents[p]["p"] && len(others) > 0:
			want = Both
		case agents[p]["p"]:
			want = Mine
		case len(others) > 0:
			want = Others
		}
		if v.Owner != want {
			rt.Fatalf("%s was written by %v, all of whom say so, and the verdict is %d, want %d", p, agents[p], v.Owner, want)
		}
	}
}
