package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/conversations/transcripts"
	"github.com/turnback/turnback/internal/verbs"
)

const (
	// copyAfter is how long after the save of a turn its transcript is copied:
	// whoever waits for the save is answered then.
	copyAfter = 300 * time.Millisecond
	// tidyEvery is how often it is looked which copies are kept for nothing.
	tidyEvery = time.Hour
	// lastCopy bounds what is copied when the daemon ends.
	lastCopy = 5 * time.Second
)

// newShelf has the copies of transcripts of the user that an environment is of.
// Without a state folder there are none.
func newShelf(stateDir string, environ []string, settings func() config.Config, now func() time.Time) transcripts.Shelf {
	getenv, dir := Getenv(environ), ""
	if stateDir != "" {
		dir = filepath.Join(stateDir, "transcripts")
	}
	return transcripts.Shelf{
		Dir: dir, Now: now,
		Limits: func() transcripts.Limits {
			c := settings().Conversation.Transcripts
			return transcripts.Limits{
				Keep: c.Keep, Each: megabytes(c.MaxMB), Total: megabytes(c.MaxTotalMB),
				For: time.Duration(c.MaxDays) * 24 * time.Hour,
			}
		},
		Open: func(agent, session, place string) (*os.File, string, error) {
			t, ok := talkers()[agent]
			if !ok {
				return nil, "", transcripts.ErrNotKept
			}
			return t.OpenTranscript(getenv, session, place)
		},
	}
}

// keeper copies the transcripts that saved turns are linked with.
type keeper struct {
	shelf transcripts.Shelf
	log   func(agent, session string, err error)
	wake  chan struct{} // has an element when something waits

	mu      sync.Mutex
	waiting []linkedTurn // one a session
	tidy    bool         // checkpoints have gone since copies were looked over
}

// linkedTurn is a saved turn with its place in a transcript.
type linkedTurn struct {
	agent, session, place string
	link                  transcripts.Link
}

func newKeeper(s Services) *keeper {
	var told sync.Map // of what it was told
	return &keeper{
		shelf: newShelf(s.StateDir, s.Environ, s.Config, s.Now), wake: make(chan struct{}, 1),
		log: func(agent, session string, err error) {
			if _, before := told.LoadOrStore(agent+"\x00"+session+"\x00"+err.Error(), true); !before {
				s.Log.Warn("copy a transcript", "agent", agent, "session", session, "error", err.Error())
			}
		},
	}
}

// linked has the transcript of a saved turn copied soon. It does not wait.
func (k *keeper) linked(q checkpoint.SaveRequest, store *checkpoint.Store) {
	turn := linkedTurn{q.Agent, q.AgentSession, q.Transcript, transcripts.Link{Worktree: store.Worktree(), CommonDir: store.CommonDir()}}
	k.mu.Lock()
	k.waiting = slices.DeleteFunc(k.waiting, func(t linkedTurn) bool {
		return t.agent == turn.agent && t.session == turn.session && t.link == turn.link
	})
	k.waiting = append(k.waiting, turn)
	k.mu.Unlock()
	k.rouse()
}

// drops says whether a verb drops checkpoints.
func drops(verb string) bool { return verb == "drop-checkpoints" || verb == "prune-checkpoints" }

// thenTidy has the copies looked over soon behind a verb that drops checkpoints.
func (k *keeper) thenTidy(run func(context.Context, verbs.Call) (any, error)) func(context.Context, verbs.Call) (any, error) {
	return func(ctx context.Context, call verbs.Call) (any, error) {
		result, err := run(ctx, call)
		k.mu.Lock()
		k.tidy = true
		k.mu.Unlock()
		return result, err
	}
}

func (k *keeper) rouse() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run copies and tidies until ctx ends, and copies what waits then.
func (k *keeper) run(ctx context.Context, r *repos, saving func() int) {
	every := time.NewTicker(persistEvery)
	defer every.Stop()
	var tidied time.Time
	for {
		select {
		case <-ctx.Done():
			last, end := context.WithTimeout(context.WithoutCancel(ctx), lastCopy)
			k.copy(last)
			end()
			return
		case <-k.wake:
			select {
			case <-ctx.Done():
				k.rouse()
				continue
			case <-time.After(copyAfter):
			}
			k.copy(ctx)
		case now := <-every.C:
			if saving() == 0 && (k.toTidy() || now.Sub(tidied) >= tidyEvery) {
				tidied = now
				if err := k.shelf.Tidy(ctx, func(c transcripts.Copy) bool { return isLinked(ctx, r, c) }); err != nil {
					k.log("", "", err)
				}
			}
		}
	}
}

func (k *keeper) toTidy() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.tidy
	k.tidy = false
	return was
}

func (k *keeper) copy(ctx context.Context) {
	k.mu.Lock()
	waiting := k.waiting
	k.waiting = nil
	k.mu.Unlock()
	for _, t := range waiting {
		err := k.shelf.Add(ctx, t.agent, t.session, t.place, t.link)
		if err != nil && !errors.Is(err, transcripts.ErrNotKept) {
			k.log(t.agent, t.session, err)
		}
	}
}

// Mentioning is that of the shelf, when what waits to be copied is there.
func (k *keeper) Mentioning(link transcripts.Link, path string) ([]transcripts.Copy, error) {
	ctx, end := context.WithTimeout(context.Background(), lastCopy)
	defer end()
	k.copy(ctx)
	return k.shelf.Mentioning(link, path)
}

// Remove removes copies for good.
func (k *keeper) Remove(ctx context.Context, copies ...transcripts.Copy) error {
	return k.shelf.Remove(ctx, copies...)
}

// List lists the copies.
func (k *keeper) List() ([]transcripts.Copy, error) { return k.shelf.List() }

// isLinked says whether a checkpoint, or one in the trash, is of the session of a
// copy. Where that cannot be told, one is.
func isLinked(ctx context.Context, r *repos, c transcripts.Copy) bool {
	is := func(cp checkpoint.Checkpoint) bool {
		return cp.Damaged != "" || cp.Agent == c.Agent && cp.AgentSession == c.Session
	}
	for _, link := range c.Links {
		store, err := r.open(ctx, link.Worktree)
		if err != nil || store.CommonDir() != link.CommonDir {
			return true
		}
		panes, err := store.ListAll(ctx)
		if err != nil {
			return true
		}
		for _, p := range panes {
			if slices.ContainsFunc(p.Checkpoints, is) {
				return true
			}
		}
		trashed, err := store.ListTrash(ctx, "")
		if err != nil || slices.ContainsFunc(trashed, func(t checkpoint.Trashed) bool { return is(t.Checkpoint) }) {
			return true
		}
	}
	return false
}
