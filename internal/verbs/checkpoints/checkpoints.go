// Package checkpoints answers the verbs about saved turns: it finds the window and
// the store that a call means, has the store do it, and gives the result its form
// on the wire.
package checkpoints

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/back"
	"github.com/turnback/turnback/internal/conversations/both"
	"github.com/turnback/turnback/internal/conversations/transcripts"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/wire"
)

// Panes says which window is meant and which agents are mid-turn.
type Panes interface {
	// Resolve finds the window that place means; a write falls back to less than
	// a read.
	Resolve(ctx context.Context, place api.Place, write bool) (registry.Window, error)
	// Ensure finds the window that place means, or makes one called name.
	Ensure(ctx context.Context, place api.Place, name string) (registry.Window, error)
	// Busy lists the windows of a work tree whose agents may be changing files
	// now. It closes the turns of dead and interrupted agents first.
	Busy(ctx context.Context, worktree string) ([]registry.Window, error)
	// Tell has every agent that works in a work tree told a text with its next
	// prompt.
	Tell(ctx context.Context, worktree, text string) error
}

// Copies are those of agents' transcripts: they may hold what is purged.
type Copies interface {
	// Mentioning finds those that may hold something of a path.
	Mentioning(link transcripts.Link, path string) ([]transcripts.Copy, error)
	// Remove removes copies for good.
	Remove(ctx context.Context, copies ...transcripts.Copy) error
}

// Deps are what the verbs about checkpoints work with.
type Deps struct {
	Panes   Panes
	Open    func(ctx context.Context, dir string) (*checkpoint.Store, error) // the store of the work tree that dir is in
	Enabled func() bool                                                      // checkpoints are taken
	Publish func(api.Event)                                                  // may be nil
	Back    Talks                                                            // nil: there is no way back to any conversation
	Halves  both.Shelf                                                       // remembers restores of files and conversations
	Copies  Copies                                                           // nil: there are none
	// At tells where the transcript of a window's agent is now; empty: not known. It
	// may be nil.
	At func(w registry.Window) string
	// Kept finds the conversations of which more is kept that may hold something of a
	// path; nil: it is not known.
	Kept func(link transcripts.Link, path string) ([]transcripts.Copy, error)
}

// Talks finds ways back to the conversations of checkpoints.
type Talks interface {
	// Prepare finds the way to a place.
	Prepare(p back.Place) (back.Way, error)
	// Forward finds a way to go on with one that a killed process had begun,
	// Reverse one to take it back; since is when the mark was written down.
	Forward(m back.Mark) (back.Way, error)
	Reverse(m back.Mark, since time.Time) (back.Way, error)
}

// checkpoints answers the verbs about checkpoints.
type checkpoints struct{ Deps }

// toAPI gives an error of package checkpoint its form on the wire.
func toAPI(err error) error {
	var ce *checkpoint.Error
	if !errors.As(err, &ce) {
		return err
	}
	e := api.Errorf(api.Code(ce.Code), "%s", ce.Message)
	h := api.Hint{Detail: ce.Detail}
	if ce.Command != "" {
		h.Command = "turnback " + ce.Command
	}
	for _, n := range ce.Numbers {
		h.Available = append(h.Available, strconv.Itoa(n))
	}
	for _, p := range ce.Paths {
		h.Available = append(h.Available, strings.ToValidUTF8(p, "\uFFFD"))
	}
	if h.Command == "" && h.Detail == "" && len(h.Available) == 0 {
		return e
	}
	return e.WithHint(h)
}

// found is the target of a verb.
type found struct {
	window registry.Window
	store  *checkpoint.Store
}

func (f found) pane() checkpoint.Pane {
	return checkpoint.Pane{ID: f.window.ID, Window: f.window.Name, Session: f.window.Session, Key: f.window.Key}
}

// talk is the conversation of a window's agent now.
func (c *checkpoints) talk(w registry.Window) checkpoint.Talk {
	t := checkpoint.Talk{Agent: w.Agent, Session: w.AgentSession}
	if c.At != nil {
		t.At = c.At(w)
	}
	return t
}

// target finds the window that place means and the store of its work tree. A
// window that only its checkpoints still know of counts too.
func (c *checkpoints) target(ctx context.Context, place api.Place, write bool) (found, error) {
	w, err := c.Panes.Resolve(ctx, place, write)
	if err != nil {
		return c.remembered(ctx, place, err)
	}
	if w.CommonDir == "" {
		return found{}, api.Errorf(api.CodeNotRepo, "window %s is in %s, which is not a git work tree", w.Name, w.Worktree).
			WithHint(api.Hint{Detail: "checkpoints need a git work tree; run git init there"})
	}
	store, err := c.open(ctx, w, place)
	return found{window: w, store: store}, err
}

// open opens the work tree of w. Where that has gone, the caller's repository
// will do if it holds the checkpoints of w: it is another work tree of the same
// one, or the same one moved.
func (c *checkpoints) open(ctx context.Context, w registry.Window, place api.Place) (*checkpoint.Store, error) {
	store, err := c.Open(ctx, w.Worktree)
	if err == nil || place.Dir == "" || place.Dir == w.Worktree {
		return store, err
	}
	here, hereErr := c.Open(ctx, place.Dir)
	if hereErr != nil {
		return nil, err
	}
	if here.CommonDir() == w.CommonDir {
		return here, nil
	}
	if info, listErr := here.List(ctx, w.ID); listErr != nil || len(info.Checkpoints) == 0 {
		return nil, err
	}
	return here, nil
}

// remembered looks for a window among the panes that the refs of the caller's
// repository know of. The error of the first search stands when there is none.
func (c *checkpoints) remembered(ctx context.Context, place api.Place, first error) (found, error) {
	cause := api.AsError(first)
	if place.Dir == "" || cause.Code != api.CodeWindowNotFound && cause.Code != api.CodeSessionNotFound {
		return found{}, first
	}
	store, err := c.Open(ctx, place.Dir)
	if err != nil {
		others := cause.Hint != nil && len(cause.Hint.Available) > 0
		if checkpoint.HasCode(err, checkpoint.NotRepo) && place.Window == "" && place.Session == "" && !others {
			return found{}, err
		}
		return found{}, first
	}
	panes, err := store.ListAll(ctx)
	if err != nil {
		return found{}, err
	}
	var windows []registry.Window
	for _, p := range panes {
		if len(p.Checkpoints) > 0 || len(p.NotSaved) > 0 {
			windows = append(windows, goneWindow(p, store.CommonDir()))
		}
	}
	if len(windows) == 0 {
		return found{}, first
	}
	w, err := registry.ResolveIn(windows, place, store.Worktree(), true)
	if err != nil {
		return found{}, first
	}
	return found{window: w, store: store}, nil
}

func goneWindow(p checkpoint.PaneInfo, commonDir string) registry.Window {
	w := registry.Window{
		ID: p.ID, Session: p.Session, Name: p.Window, Worktree: p.Worktree, CommonDir: commonDir, Key: p.Key, Gone: true,
	}
	w.Turn = p.HighestTurn
	if n := len(p.Checkpoints); n > 0 {
		w.LastActive = p.Checkpoints[n-1].At
	}
	return w
}

// ready refuses while an agent is mid-turn in the work tree; the caller's own
// agent does not count.
func (c *checkpoints) ready(place api.Place, worktree string) func(context.Context) error {
	return func(ctx context.Context) error {
		busy, err := c.Panes.Busy(ctx, worktree)
		if err != nil {
			return err
		}
		busy = slices.DeleteFunc(busy, func(w registry.Window) bool { return ownAgent(place, w) })
		return midTurn(busy, "this work tree")
	}
}

// readyEverywhere refuses while an agent is mid-turn in any work tree of a store's
// repository, the caller's own too: what its turn started from is to be purged.
func (c *checkpoints) readyEverywhere(store *checkpoint.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		where := map[string]string{store.Worktree(): "this work tree"}
		windows, _ := registry.ReadRecords(store.CommonDir())
		for _, w := range windows {
			if _, err := os.Stat(w.Worktree); err == nil && where[w.Worktree] == "" {
				where[w.Worktree] = "the work tree " + w.Worktree
			}
		}
		for _, worktree := range slices.Sorted(maps.Keys(where)) {
			busy, err := c.Panes.Busy(ctx, worktree)
			if err == nil {
				err = midTurn(busy, where[worktree])
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// midTurn is the refusal where the agents of busy work in a work tree.
func midTurn(busy []registry.Window, where string) error {
	if len(busy) == 0 {
		return nil
	}
	w := busy[0]
	e := api.Errorf(api.CodeNotReady, "the agent in %s of %s, pane %s, is mid-turn (%s) in %s", w.Name, w.Session, w.ID, w.StateOrNone(), where)
	h := api.Hint{Detail: "wait for the turn to end, or add --force"}
	for _, w := range busy {
		h.Available = append(h.Available, w.ID)
	}
	return e.WithHint(h)
}

// ownAgent tells whether the caller was started by w's agent.
func ownAgent(place api.Place, w registry.Window) bool {
	return w.AgentPID > 0 && slices.Contains(place.Ancestors, w.AgentPID)
}

func (c *checkpoints) publish(kind string, f found, cp *checkpoint.Checkpoint) {
	if c.Publish == nil {
		return
	}
	e := api.Event{Type: kind, Pane: f.window.ID, Session: f.window.Session, Window: f.window.Name, Worktree: f.window.Worktree, Turn: f.window.Turn}
	if cp != nil {
		out := wire.Checkpoint(*cp)
		e.Checkpoint = &out
	}
	c.Publish(e)
}
