// Package whose tells whose a change is, where the agents of several panes work
// in one work tree. It knows of turns and of what the work tree looked like at
// times; it reads no repository.
//
// What changed between two looks while only one pane's turn was open is that
// pane's. While the turns of several were open, it is of the pane whose tools
// named the path; where none did, it is shared: nobody can tell. What changed
// while no turn was open is a person's.
package whose

import (
	"maps"
	"slices"
	"time"
)

// ID names a turn of a pane.
type ID struct {
	Pane string
	Turn int
}

// Turn is a turn that worked in the work tree.
type Turn struct {
	ID
	Begin, End time.Time // when the work tree was seen at its start and at its end
	Named      []string  // paths that its tools named, relative to the root
	With       []ID      // turns that it knew to be open while it was
}

// Look is the work tree as it was at a time.
type Look struct {
	At   time.Time
	Tree string // tree id
}

// Span is the time between two looks at which the work tree differed.
type Span struct {
	From, To string   // tree ids
	Open     []Turn   // turns that were open at any time in between
	Changed  []string // the paths that differ; Spans leaves it empty
}

// Spans gives the spans between looks, oldest first. A turn that another knew to
// be open, and that is not among turns itself, counts as open all the time that
// the other was: it changed something and was not saved, or it is not over.
func Spans(looks []Look, turns []Turn) []Span {
	looks = slices.Clone(looks)
	slices.SortStableFunc(looks, func(a, b Look) int { return a.At.Compare(b.At) })
	turns = withUnknown(turns)
	var spans []Span
	for i := 1; i < len(looks); i++ {
		from, to := looks[i-1], looks[i]
		if from.Tree == to.Tree {
			continue
		}
		span := Span{From: from.Tree, To: to.Tree}
		for _, t := range turns {
			if t.openIn(from.At, to.At) {
				span.Open = append(span.Open, t)
			}
		}
		spans = append(spans, span)
	}
	return spans
}

// withUnknown adds the turns that only others know of.
func withUnknown(turns []Turn) []Turn {
	known := map[ID]bool{}
	for _, t := range turns {
		known[t.ID] = true
	}
	all := slices.Clone(turns)
	for _, t := range turns {
		for _, id := range t.With {
			if !known[id] {
				all = append(all, Turn{ID: id, Begin: t.Begin, End: t.End})
			}
		}
	}
	return all
}

// openIn tells whether t was open at any time between two looks. Looks at one
// and the same time are in no order, so that what is open then counts.
func (t Turn) openIn(from, to time.Time) bool {
	if from.Equal(to) {
		return !t.Begin.After(to) && !t.End.Before(from)
	}
	return t.Begin.Before(to) && t.End.After(from)
}

// Owner says whose the changes of a path are, as one pane sees it.
type Owner int

// The owners.
const (
	Persons Owner = iota // of no pane's turns
	Mine                 // of this pane's turns, and no other's
	Others               // of other panes' turns alone
	Both                 // of this pane's turns and of another's
	Shared               // of this pane or another, nobody can tell
)

// Verdict is whose the changes of a path are.
type Verdict struct {
	Owner Owner
	Panes []string // the other panes whose they are or may be, sorted
}

// Judge says for every path that changed in spans whose it is, as pane sees it.
func Judge(pane string, spans []Span) map[string]Verdict {
	found := map[string]*evidence{}
	for _, s := range spans {
		named := map[string][]string{} // panes by path
		var open []string
		for _, t := range s.Open {
			if !slices.Contains(open, t.Pane) {
				open = append(open, t.Pane)
			}
			for _, p := range t.Named {
				if !slices.Contains(named[p], t.Pane) {
					named[p] = append(named[p], t.Pane)
				}
			}
		}
		for _, p := range s.Changed {
			if found[p] == nil {
				found[p] = &evidence{others: map[string]bool{}}
			}
			found[p].add(pane, open, named[p])
		}
	}
	out := make(map[string]Verdict, len(found))
	for p, e := range found {
		out[p] = e.verdict()
	}
	return out
}

// evidence is what is known of one path.
type evidence struct {
	mine, theirs, doubt bool
	others              map[string]bool
}

// add counts one span in which the path changed: open are the panes whose turns
// were open, named those whose tools named the path.
func (e *evidence) add(pane string, open, named []string) {
	sure := len(open) == 1 || len(named) > 0
	if len(open) > 1 && len(named) > 0 {
		open = named
	}
	own := slices.Contains(open, pane)
	for _, p := range open {
		if p != pane {
			e.others[p] = true
		}
	}
	switch {
	case own && sure:
		e.mine = true
		e.theirs = e.theirs || len(open) > 1
	case own:
		e.doubt = true
	case len(open) > 0:
		e.theirs = true
	}
}

func (e *evidence) verdict() Verdict {
	v := Verdict{Panes: slices.Sorted(maps.Keys(e.others))}
	switch {
	case e.mine && e.theirs:
		v.Owner = Both
	case e.doubt:
		v.Owner = Shared
	case e.theirs:
		v.Owner = Others
	case e.mine:
		v.Owner = Mine
	}
	return v
}
