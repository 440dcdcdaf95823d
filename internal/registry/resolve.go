package registry

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/nearest"
)

// Resolve finds the window that a caller at place means. write is set when
// files are going to change: then no window is guessed that neither the
// caller's words nor its terminal nor its directory point to. Errors are
// *api.Error with session_not_found, window_not_found or ambiguous_window.
func Resolve(windows []Window, place api.Place, write bool) (Window, error) {
	return ResolveIn(windows, place, "", write)
}

// ResolveIn is Resolve for a caller whose work tree is known: worktree is the
// root of the work tree that place.Dir is in. Empty: not known, then the window
// with the deepest work tree above place.Dir is taken.
func ResolveIn(windows []Window, place api.Place, worktree string, write bool) (Window, error) {
	if place.Session != "" {
		inSession := slices.DeleteFunc(slices.Clone(windows), func(w Window) bool { return w.Session != place.Session })
		if len(inSession) == 0 {
			return Window{}, sessionNotFound(windows, place.Session)
		}
		windows = inSession
	}
	here := inTree(windows, place.Dir, worktree)
	if place.Window != "" {
		return named(windows, here, place.Window)
	}
	if w, ok := callers(windows, here, place); ok {
		return w, nil
	}
	if w, ok := newest(here, anyWindow); ok {
		return w, nil
	}
	if place.Session != "" && len(windows) == 1 {
		return windows[0], nil
	}
	if w, ok := newest(windows, anyWindow); ok && !write {
		return w, nil
	}
	return Window{}, noneHere(windows, place)
}

// callers returns the window that the caller runs in, else the one that is
// known for its terminal; of several in one terminal that of the caller's work
// tree.
func callers(windows, here []Window, place api.Place) (Window, bool) {
	if place.PaneID != "" {
		if w, ok := newest(windows, func(w Window) bool { return w.ID == place.PaneID }); ok {
			return w, true
		}
	}
	sameKeys := func(w Window) bool { return sameTerminal(place.TerminalKeys, w.Keys) }
	if w, ok := newest(here, sameKeys); ok {
		return w, true
	}
	return newest(windows, sameKeys)
}

// inTree returns the windows of the caller's work tree.
func inTree(windows []Window, dir, worktree string) []Window {
	var here []Window
	if worktree == "" {
		worktree = deepest(windows, dir)
	}
	for _, w := range windows {
		if worktree != "" && w.Worktree == worktree {
			here = append(here, w)
		}
	}
	return here
}

// deepest returns the deepest of the windows' work trees that holds dir.
func deepest(windows []Window, dir string) string {
	found := ""
	for _, w := range windows {
		if Holds(w.Worktree, dir) && len(w.Worktree) > len(found) {
			found = w.Worktree
		}
	}
	return found
}

// Holds reports whether dir is root or below it.
func Holds(root, dir string) bool {
	if root == "" || dir == "" {
		return false
	}
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// named finds a window by its full id, its name, or the beginning of its id. A
// name that several windows have means the one of the caller's work tree.
func named(windows, here []Window, word string) (Window, error) {
	if w, ok := newest(windows, func(w Window) bool { return w.ID == word }); ok {
		return w, nil
	}
	w, err := byName(windows, word, treeOf(here))
	if err == nil || api.AsError(err).Code == api.CodeAmbiguousWindow {
		return w, err
	}
	if len(word) < minPrefix {
		return Window{}, err
	}
	var matches []Window
	for _, w := range windows {
		if strings.HasPrefix(w.ID, word) {
			matches = append(matches, w)
		}
	}
	switch len(matches) {
	case 0:
		return Window{}, err
	case 1:
		return matches[0], nil
	}
	return Window{}, ambiguous(matches, "%d windows have an id that begins with %s", len(matches), word)
}

// byName finds a window by its name. Live windows come before those whose
// terminal has ended; of the latter the newest is taken.
func byName(windows []Window, name, worktree string) (Window, error) {
	var live, gone []Window
	for _, w := range windows {
		switch {
		case w.Name != name:
		case w.Gone:
			gone = append(gone, w)
		default:
			live = append(live, w)
		}
	}
	if len(live) == 1 {
		return live[0], nil
	}
	here := slices.DeleteFunc(slices.Clone(live), func(w Window) bool { return w.Worktree != worktree })
	switch {
	case len(live) > 1 && len(here) == 1:
		return here[0], nil
	case len(live) > 1:
		return Window{}, ambiguous(live, "%d windows are named %s", len(live), name)
	case len(gone) > 0:
		w, _ := newest(gone, anyWindow)
		return w, nil
	}
	return Window{}, windowNotFound(windows, name)
}

func treeOf(here []Window) string {
	if len(here) == 0 {
		return ""
	}
	return here[0].Worktree
}

func anyWindow(Window) bool { return true }

func sessionNotFound(windows []Window, session string) error {
	var names []string
	for _, w := range windows {
		names = append(names, w.Session)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return api.Errorf(api.CodeSessionNotFound, "there is no session %s", session).WithHint(api.Hint{
		Param: "session", Available: names, DidYouMean: nearest.Word(session, names),
	})
}

func windowNotFound(windows []Window, name string) error {
	names := windowNames(windows)
	return api.Errorf(api.CodeWindowNotFound, "there is no window %s", name).WithHint(api.Hint{
		Param: "window", Available: names, DidYouMean: nearest.Word(name, names),
	})
}

func ambiguous(windows []Window, format string, args ...any) error {
	return api.Errorf(api.CodeAmbiguousWindow, format, args...).WithHint(api.Hint{
		Param: "window", Available: fullNames(windows), Detail: "name one with -s and -w, or with -w and its id",
	})
}

func noneHere(windows []Window, place api.Place) error {
	if len(windows) == 0 {
		return api.Errorf(api.CodeWindowNotFound, "no pane is known yet").WithHint(api.Hint{
			Command: "turnback setup claude", Detail: "a pane is known once its agent has reported",
		})
	}
	if place.Session != "" {
		return ambiguous(windows, "session %s has %d windows", place.Session, len(windows))
	}
	return api.Errorf(api.CodeWindowNotFound, "no pane belongs to this terminal or directory").WithHint(api.Hint{
		Param: "window", Available: fullNames(windows), Detail: "name the pane with -w",
	})
}

// windowNames lists the names, those of live windows first, each once.
func windowNames(windows []Window) []string {
	sorted := slices.Clone(windows)
	slices.SortStableFunc(sorted, func(a, b Window) int {
		return cmp.Or(goneLast(a, b), cmp.Compare(a.Name, b.Name))
	})
	var names []string
	for _, w := range sorted {
		if !slices.Contains(names, w.Name) {
			names = append(names, w.Name)
		}
	}
	return names
}

// fullNames lists the windows with session, name and id, the most recently
// active first.
func fullNames(windows []Window) []string {
	sorted := slices.Clone(windows)
	slices.SortStableFunc(sorted, func(a, b Window) int {
		return cmp.Or(goneLast(a, b), b.LastActive.Compare(a.LastActive))
	})
	names := make([]string, 0, len(sorted))
	for _, w := range sorted {
		names = append(names, w.Session+"/"+w.Name+" "+w.ID)
	}
	return names
}

func goneLast(a, b Window) int {
	switch {
	case a.Gone == b.Gone:
		return 0
	case a.Gone:
		return 1
	}
	return -1
}
