package turns

import (
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

// meet notes the turns of other windows that are open in the work tree now that
// a turn of c's begins, and has them note this one.
func (c *change) meet(number int) {
	own := registry.TurnID{Pane: c.w.ID, Turn: number}
	for _, other := range c.t.o.Registry.Windows() {
		if other.ID == c.w.ID || other.Worktree != c.w.Worktree || !other.TurnOpen {
			continue
		}
		c.w = c.w.Meets(registry.TurnID{Pane: other.ID, Turn: other.Turn})
		c.t.keep(other.Meets(own))
	}
}

// meetForeign notes, for the turn of j, the turns of windows that other processes
// follow: those that are open in the work tree now, and those that began since
// the turn did. It reports whether one is open.
func (t *Tracker) meetForeign(j *job) (open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, ok := t.o.Registry.Get(j.window.ID)
	current := ok && w.Turn == j.turn.number && !t.lost(w)
	met := j.window
	if current {
		met = w
	}
	before := len(met.With)
	for _, other := range t.records(j.window.CommonDir) {
		if other.ID == j.window.ID || other.Worktree != j.window.Worktree || other.Turn == 0 || !t.foreign(other) {
			continue
		}
		open = open || other.TurnOpen
		if other.TurnOpen || other.TurnStarted.After(j.window.TurnStarted) {
			met = met.Meets(registry.TurnID{Pane: other.ID, Turn: other.Turn})
		}
	}
	j.window.With, j.window.Named = met.With, met.Named
	if current && len(met.With) != before {
		t.keep(met)
	}
	return open
}

// part has the windows forget that the turn of j was open at the same time as
// theirs: it changed nothing.
func (t *Tracker) part(j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := registry.TurnID{Pane: j.window.ID, Turn: j.turn.number}
	if w, ok := t.o.Registry.Get(own.Pane); !ok || w.TurnOpen && w.Turn == own.Turn {
		return // it goes on
	}
	for _, other := range t.o.Registry.Windows() {
		if parted := other.Parts(own); len(parted.With) != len(other.With) {
			t.keep(parted)
		}
	}
}

func withOf(list []registry.TurnID) []checkpoint.TurnID {
	var out []checkpoint.TurnID
	for _, id := range list {
		out = append(out, checkpoint.TurnID(id))
	}
	return out
}

// named gives the files that a report names, as places that symbolic links lead
// to. A link itself counts as well as where it leads.
func named(r api.AgentReport) []string {
	if !r.ToolWrites {
		return nil
	}
	var out []string
	for _, p := range r.Paths {
		if !filepath.IsAbs(p) {
			continue
		}
		real := filepath.Join(realFolder(filepath.Dir(p)), filepath.Base(p))
		out = append(out, real)
		if end, err := filepath.EvalSymlinks(real); err == nil && end != real {
			out = append(out, end)
		}
	}
	return out
}

// realFolder is dir without symbolic links, as far down as it exists.
func realFolder(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		return real
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	return filepath.Join(realFolder(parent), filepath.Base(dir))
}

// names notes the files in the window's work tree among those that a tool named.
func (c *change) names(files []string) {
	if !c.w.TurnOpen {
		return
	}
	for _, f := range files {
		if rel, ok := strings.CutPrefix(f, c.w.Worktree+string(filepath.Separator)); ok {
			c.w = c.w.Names(filepath.ToSlash(rel))
		}
	}
}
