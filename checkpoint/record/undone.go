package record

import "slices"

// LeftClosed stands for the state of an undo that can no longer be redone: a turn
// began since.
const LeftClosed = "-"

// Closed ends the redoing of what is undone. The turns stay known as taken back.
func Closed(list []Undone) []Undone {
	out := slices.Clone(list[max(0, len(list)-maxUndone):])
	for i := range out {
		out[i].Left = LeftClosed
	}
	return out
}

// maxUndone bounds how many taken-back turns are remembered.
const maxUndone = 1000
