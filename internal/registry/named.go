package registry

import "slices"

// TurnID names a turn of a window.
type TurnID struct {
	Pane string `json:"pane"` // the window's id
	Turn int    `json:"turn"`
}

const (
	maxWith       = 100       // turns that are remembered as open at the same time
	maxNamed      = 1000      // files that a turn's tools named
	maxNamedBytes = 64 * 1024 // of their names
	maxDueNamed   = 2         // saves that are due with the files that were named
)

// Meets returns w with another window's turn as one that was open while its
// newest was.
func (w Window) Meets(id TurnID) Window {
	if id.Pane == w.ID || slices.Contains(w.With, id) {
		return w
	}
	w.With = append(slices.Clone(w.With), id)
	w.With = w.With[max(0, len(w.With)-maxWith):]
	return w
}

// Parts returns w without a turn that turned out to have changed nothing.
func (w Window) Parts(id TurnID) Window {
	w.With = without(w.With, id)
	w.Due = slices.Clone(w.Due)
	for i := range w.Due {
		w.Due[i].With = without(w.Due[i].With, id)
	}
	return w
}

func without(list []TurnID, id TurnID) []TurnID {
	if !slices.Contains(list, id) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(o TurnID) bool { return o == id })
}

// Names returns w with files that a tool of its newest turn names. Past a limit
// further ones are not kept: nobody can tell whose those are then.
func (w Window) Names(paths ...string) Window {
	size := 0
	for _, p := range w.Named {
		size += len(p)
	}
	for _, p := range paths {
		if slices.Contains(w.Named, p) || len(w.Named) >= maxNamed || size+len(p) > maxNamedBytes {
			continue
		}
		size += len(p)
		w.Named = append(slices.Clip(w.Named), p)
	}
	return w
}

// lighter gives due without the files of all but the newest.
func lighter(due []Due) []Due {
	for i := range due[:max(0, len(due)-maxDueNamed)] {
		due[i].Named = nil
	}
	return due
}
