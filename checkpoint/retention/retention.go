// Package retention says which checkpoints are past the limits. It is a pure
// function of what the refs hold, the time, and what is pinned.
package retention

import (
	"cmp"
	"slices"
	"time"

	"github.com/turnback/turnback/checkpoint/record"
)

// Limits of the safety checkpoints of a pane.
const (
	keepSafety    = 20
	keepSafetyFor = 24 * time.Hour // a younger one always stays
)

// Rules say what stays.
type Rules struct {
	Now     time.Time
	Keep    int           // turns of a pane, at least 1
	GoneFor time.Duration // a pane that is gone for longer keeps its newest turn alone; 0: no matter how long
	// Gone tells whether nothing works in a pane any more; nil: that is not known,
	// so none is.
	Gone func(pane string) bool
	// Pinned tells what a restore needs that runs or was interrupted; nil: none.
	Pinned func(pane string, n int) bool
}

// Expired names those of a pane's checkpoints, given by number, that are past the
// limits:
//
//   - what was saved in turns, a start, pauses and the end together, when there are
//     Keep newer turns; a conversation goes with its turn and counts for none;
//   - a safety checkpoint that has 20 newer ones and is older than a day;
//   - of a pane that is gone for too long, all but its newest turn.
//
// Manual ones, those that are pinned, and those that cannot be read stay.
func (r Rules) Expired(pane []record.Checkpoint) []record.Checkpoint {
	keep := max(1, r.Keep)
	gone := r.isGone(pane)
	if gone {
		keep = 1
	}
	files := newestTurns(pane, keep, record.KindTurn, record.KindStart)
	talks := newestTurns(pane, keep, record.KindConversation)
	safeties := 0
	var out []record.Checkpoint
	for _, c := range slices.Backward(pane) {
		past := false
		switch {
		case c.Damaged != "":
		case c.Kind == record.KindTurn, c.Kind == record.KindStart:
			past = !files[c.Turn]
		case c.Kind == record.KindConversation:
			past = !files[c.Turn] && !talks[c.Turn]
		case c.Kind == record.KindSafety:
			safeties++
			past = (gone || safeties > keepSafety) && r.Now.Sub(c.At) > keepSafetyFor
		}
		if past && (r.Pinned == nil || !r.Pinned(c.Pane.ID, c.N)) {
			out = append(out, c)
		}
	}
	slices.Reverse(out)
	return out
}

// newestTurns gives the newest turns that have a checkpoint of the kinds.
func newestTurns(pane []record.Checkpoint, keep int, kinds ...record.Kind) map[int]bool {
	turns := map[int]bool{}
	for _, c := range slices.Backward(pane) {
		if c.Damaged == "" && slices.Contains(kinds, c.Kind) && len(turns) < keep {
			turns[c.Turn] = true
		}
	}
	return turns
}

func (r Rules) isGone(pane []record.Checkpoint) bool {
	if r.GoneFor <= 0 || r.Gone == nil || len(pane) == 0 {
		return false
	}
	for _, c := range pane {
		if c.Damaged == "" && r.Now.Sub(c.At) <= r.GoneFor {
			return false
		}
	}
	return r.Gone(pane[0].Pane.ID)
}

// Old names those of a pane's checkpoints, given by number, that are older than
// age, but for the newest of the pane, manual ones, those that are pinned, and
// those that cannot be read.
func (r Rules) Old(pane []record.Checkpoint, age time.Duration) []record.Checkpoint {
	var out []record.Checkpoint
	for i, c := range pane {
		if i < len(pane)-1 && c.Kind != record.KindManual && c.Damaged == "" && r.Now.Sub(c.At) > age &&
			(r.Pinned == nil || !r.Pinned(c.Pane.ID, c.N)) {
			out = append(out, c)
		}
	}
	return out
}

// Over names the checkpoints of all panes that are past the limits, or older than an
// age that is not 0, by pane and number. The last of a pane stays where nothing else
// remembers that its number was given.
func (r Rules) Over(all *record.Held, olderThan time.Duration) []record.Checkpoint {
	var list []record.Checkpoint
	for _, pane := range byPane(all.Checkpoints) {
		expired := r.Expired(pane)
		if olderThan > 0 {
			expired = append(expired, r.Old(pane, olderThan)...)
		}
		last := pane[len(pane)-1]
		if !slices.ContainsFunc(all.Panes, func(p record.PaneState) bool { return p.ID == last.Pane.ID && p.HighestN >= last.N }) {
			expired = slices.DeleteFunc(expired, func(c record.Checkpoint) bool { return c.N == last.N })
		}
		list = append(list, expired...)
	}
	slices.SortFunc(list, func(a, b record.Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Pane.ID, b.Pane.ID), cmp.Compare(a.N, b.N))
	})
	return slices.CompactFunc(list, func(a, b record.Checkpoint) bool { return a.Ref == b.Ref })
}

// byPane splits a sorted list into one list a pane.
func byPane(all []record.Checkpoint) [][]record.Checkpoint {
	var groups [][]record.Checkpoint
	for i := range all {
		if i == 0 || all[i].Pane.ID != all[i-1].Pane.ID {
			groups = append(groups, nil)
		}
		g := &groups[len(groups)-1]
		*g = append(*g, all[i])
	}
	return groups
}
