package company

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/whose"
)

// Period is a part of a work tree's past: from one look at it to another.
type Period struct {
	root     string
	from, to whose.Look
}

// judge says whose the changes of a period are, as the request's pane sees it.
// Where no other pane had a turn in it, it compares nothing, unless it has to find
// what is this pane's.
func (r Request) judge(ctx context.Context, p Period) (verdicts, error) {
	var open []OpenTurn
	all, err := r.All, error(nil)
	if all == nil {
		all, err = record.Read(ctx, r.Repo, "")
	}
	if err != nil {
		return verdicts{}, err
	}
	if r.OpenTurns != nil {
		if open, err = r.OpenTurns(ctx); err != nil {
			return verdicts{}, err
		}
	}
	past := &past{root: p.root, panes: map[string]record.Pane{}, turns: map[record.TurnID]*whose.Turn{}}
	past.gather(all, open)
	v := verdicts{panes: past.panes}
	turns, err := r.turnsOf(ctx, past, p)
	if err != nil || !r.Mine && !slices.ContainsFunc(turns, func(t whose.Turn) bool { return t.Pane != r.Pane || len(t.With) > 0 }) {
		return v, err
	}
	looks, err := r.looksOf(ctx, past, p)
	if err != nil {
		return v, err
	}
	spans := whose.Spans(looks, turns)
	pairs := make([][2]string, len(spans))
	for i, s := range spans {
		pairs[i] = [2]string{s.From, s.To}
	}
	changed, err := r.Repo.ChangedPaths(ctx, pairs)
	if err != nil {
		return v, err
	}
	for i := range changed {
		spans[i].Changed = changed[i]
	}
	v.of = whose.Judge(r.Pane, spans)
	return v, nil
}

// past is what the refs and the live records know of a work tree's turns.
type past struct {
	root   string
	panes  map[string]record.Pane
	turns  map[record.TurnID]*whose.Turn
	saves  map[record.TurnID]record.Checkpoint // the last checkpoint of a turn
	looks  []whose.Look
	bases  []whose.Look // of which the tree may be gone
	silent func(id record.TurnID) bool
}

func (p *past) gather(all *record.Held, open []OpenTurn) {
	p.saves = map[record.TurnID]record.Checkpoint{}
	for i, c := range all.Checkpoints {
		if c.Worktree != p.root || c.Damaged != "" {
			continue
		}
		p.panes[c.Pane.ID] = c.Pane
		p.looks = append(p.looks, whose.Look{At: c.At, Tree: c.Tree})
		if c.Kind == record.KindTurn {
			p.addTurn(c, all.Checkpoints[:i])
		}
	}
	p.outOfOrder(all.Checkpoints)
	for _, o := range open {
		p.addOpen(o)
	}
	p.silent = func(id record.TurnID) bool { return endedWithoutAChange(all, id) }
}

// addTurn notes a turn's end; before are the checkpoints before it.
func (p *past) addTurn(c record.Checkpoint, before []record.Checkpoint) {
	id := record.TurnID{Pane: c.Pane.ID, Turn: c.Turn}
	t := p.turns[id]
	if t == nil {
		t = &whose.Turn{ID: whose.ID(id)}
		switch {
		case c.Base != nil && !c.Base.At.IsZero():
			t.Begin = c.Base.At
			p.bases = append(p.bases, whose.Look{At: c.Base.At, Tree: c.Base.Tree})
		case len(before) > 0 && before[len(before)-1].Pane.ID == c.Pane.ID:
			t.Begin = before[len(before)-1].At // not before that
		}
		p.turns[id] = t
	}
	t.End = c.At
	p.saves[id] = c
}

func (p *past) addOpen(o OpenTurn) {
	id := record.TurnID{Pane: o.Pane.ID, Turn: o.Turn}
	p.panes[o.Pane.ID] = o.Pane
	t := p.turns[id]
	if t == nil {
		t = &whose.Turn{ID: whose.ID(id)}
		if o.Base != nil && !o.Base.At.IsZero() {
			t.Begin = o.Base.At
			p.bases = append(p.bases, whose.Look{At: o.Base.At, Tree: o.Base.Tree})
		}
		p.turns[id] = t
	}
	t.End = forever()
	t.Named = append(t.Named, o.Named...)
	for _, w := range o.With {
		t.With = append(t.With, whose.ID(w))
	}
}

// forever is later than any look.
func forever() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }

// outOfOrder has the turns of a pane count at all times if its checkpoints' times
// do not follow each other: somebody turned the clock back, and what was when
// cannot be told.
func (p *past) outOfOrder(list []record.Checkpoint) {
	for i := 1; i < len(list); i++ {
		pane := list[i].Pane.ID
		if list[i-1].Pane.ID != pane || list[i].Damaged != "" || list[i-1].Damaged != "" || !list[i].At.Before(list[i-1].At) {
			continue
		}
		for id, t := range p.turns {
			if id.Pane == pane {
				t.Begin, t.End = time.Time{}, forever()
			}
		}
	}
}

// endedWithoutAChange tells whether a turn of which there is no checkpoint never
// had one, and was not missed: the numbers around it follow each other.
func endedWithoutAChange(all *record.Held, id record.TurnID) bool {
	i := slices.IndexFunc(all.Panes, func(p record.PaneState) bool { return p.ID == id.Pane })
	if i < 0 || slices.ContainsFunc(all.Panes[i].NotSaved, func(n record.NotSaved) bool { return n.Turn == id.Turn }) {
		return false
	}
	last, next := 0, all.Panes[i].HighestN+1
	for _, c := range all.Checkpoints {
		switch {
		case c.Pane.ID != id.Pane:
		case c.Turn <= id.Turn:
			last = c.N
		default:
			next = min(next, c.N)
		}
	}
	return next == last+1
}

// turnsOf gives the turns that were open in a period, with what they named.
func (r Request) turnsOf(ctx context.Context, past *past, p Period) ([]whose.Turn, error) {
	var out []whose.Turn
	for id, t := range past.turns {
		if t.End.Before(p.from.At) || t.Begin.After(p.to.At) {
			continue
		}
		if c, ok := past.saves[id]; ok {
			named, err := r.Named(ctx, c)
			if err != nil {
				return nil, err
			}
			t.Named = append(t.Named, named...)
			for _, w := range c.With {
				if _, known := past.turns[w]; known || !past.silent(w) {
					t.With = append(t.With, whose.ID(w))
				}
			}
		}
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b whose.Turn) int {
		return cmp.Or(strings.Compare(a.Pane, b.Pane), a.Turn-b.Turn)
	})
	return out, nil
}

// looksOf gives the looks of a period that can still be compared.
func (r Request) looksOf(ctx context.Context, past *past, p Period) ([]whose.Look, error) {
	var trees []string
	for _, b := range past.bases {
		trees = append(trees, b.Tree)
	}
	missing, err := r.Repo.Missing(ctx, trees)
	if err != nil {
		return nil, err
	}
	looks := []whose.Look{p.from}
	for _, l := range append(slices.Clone(past.looks), past.bases...) {
		if p.from.Tree == "" && !l.At.After(p.from.At) && (looks[0].Tree == "" || l.At.After(looks[0].At)) {
			looks[0] = l // the last one before
		}
		if l.At.After(p.from.At) && l.At.Before(p.to.At) && !slices.Contains(missing, l.Tree) {
			looks = append(looks, l)
		}
	}
	if looks[0].Tree == "" {
		looks = looks[1:]
	}
	return append(looks, p.to), nil
}
