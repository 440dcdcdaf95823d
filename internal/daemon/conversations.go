package daemon

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/agents/history"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations"
	"github.com/turnback/turnback/internal/conversations/back"
	"github.com/turnback/turnback/internal/conversations/both"
	"github.com/turnback/turnback/internal/conversations/own"
	"github.com/turnback/turnback/internal/conversations/transcripts"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/turns"
	"github.com/turnback/turnback/internal/verbs/checkpoints"
	"github.com/turnback/turnback/internal/wire"
)

// talkWindow is the name of the window of a conversation whose agent is not
// known and has none.
const talkWindow = "conversation"

// openBook has the conversations. Without a state folder they are known as long
// as the daemon runs.
func openBook(s Services, r *repos, tracker *turns.Tracker, keep *keeper) *conversations.Book {
	dir := ""
	if s.StateDir != "" {
		dir = filepath.Join(s.StateDir, "conversations")
	}
	return conversations.Open(conversations.Options{
		Dir: dir, Now: s.Now, History: transcriptHistory, Transcript: findTranscript(s.Environ),
		WorkTree: workTrees{repos: r, tracker: tracker, publish: s.Publish},
		Own:      ownSessions(s),
		Copies:   keep,
		Doubt: func(agent, session, reason string) {
			s.Log.Warn("request went out as it came", "agent", agent, "session", session, "reason", reason)
		},
		Problem: func(err error) { s.Log.Warn("conversation", "error", err.Error()) },
	})
}

// wayBack finds the ways back to conversations of the user that an environment is
// of.
func wayBack(environ []string, now func() time.Time, shelf transcripts.Shelf) checkpoints.Talks {
	kept := func(agent, session string) (string, string, bool) {
		c, ok, err := shelf.Find(agent, session)
		return c.File, c.Path, ok && err == nil
	}
	dir, err := session.Folder(Getenv(environ))
	if err != nil {
		return nil
	}
	return back.Ways{Sessions: session.Library{Dir: dir, Now: now}, Copiers: copiers(), Kept: kept, Whole: forks()}
}

// halves is where restores of files and conversations are remembered.
func halves(stateDir string, now func() time.Time) both.Shelf {
	if stateDir == "" {
		return both.Shelf{Now: now}
	}
	return both.Shelf{Dir: filepath.Join(stateDir, "restores"), Now: now}
}

// ownSessions are those of our own agent, of the user that the daemon works for.
func ownSessions(s Services) *own.Shelf {
	dir, err := session.Folder(Getenv(s.Environ))
	if err != nil {
		s.Log.Warn("conversation", "error", err.Error())
		return nil
	}
	return &own.Shelf{Library: session.Library{Dir: dir, Now: s.Now}}
}

func transcriptHistory(agent, path string) (history.History, bool) {
	t, ok := talkers()[agent]
	if !ok {
		return history.History{}, false
	}
	h, err := t.History(path)
	return h, err == nil
}

// workTrees saves and compares the files that conversations are about.
type workTrees struct {
	repos   *repos
	tracker *turns.Tracker
	publish func(api.Event)
}

var _ conversations.WorkTree = workTrees{}

// Save saves the work tree that the session's window is in, else the one that it
// was called from. Where no checkpoints are taken it saves nothing.
func (w workTrees) Save(ctx context.Context, r conversations.SaveRequest) (conversations.Saved, error) {
	if !w.repos.config().Agents.Checkpoints.Enabled {
		return conversations.Saved{}, nil
	}
	window, ok := w.tracker.OfSession(r.Agent, r.Session)
	if !ok || window.CommonDir == "" {
		if !filepath.IsAbs(r.Dir) {
			return conversations.Saved{}, nil
		}
		var err error
		if window, err = w.tracker.Ensure(ctx, api.Place{Dir: r.Dir}, cmp.Or(r.Agent, talkWindow)); err != nil {
			return conversations.Saved{}, unlessNowhere(err)
		}
	}
	store, err := w.repos.open(ctx, window.Worktree)
	if err != nil {
		return conversations.Saved{}, unlessNowhere(err)
	}
	pane := checkpoint.Pane{ID: window.ID, Window: window.Name, Session: window.Session, Key: window.Key}
	result, err := store.Save(ctx, checkpoint.SaveRequest{
		Kind: checkpoint.KindConversation, Pane: pane, Turn: window.Turn, State: string(window.StateOrNone()), Label: r.Goal,
		Always: true, Agent: r.Agent, AgentSession: r.Session, Transcript: placeOfCall(r),
	})
	if err != nil {
		return conversations.Saved{}, err
	}
	w.announce(window, *result.Checkpoint)
	return conversations.Saved{N: result.Checkpoint.N, Pane: window.ID, Worktree: window.Worktree}, nil
}

// placeOfCall is where the conversation is behind the call that it is marked by.
func placeOfCall(r conversations.SaveRequest) string {
	if t, ok := talkers()[r.Agent].(callPlacer); ok && r.Transcript != "" && r.Call != "" {
		return t.PlaceOfCall(r.Transcript, r.Call)
	}
	return ""
}

func (w workTrees) announce(window registry.Window, c checkpoint.Checkpoint) {
	saved := wire.Checkpoint(c)
	w.publish(api.Event{
		Type: "checkpoint_saved", Pane: window.ID, Window: window.Name, Session: window.Session, Turn: window.Turn, Checkpoint: &saved,
	})
}

// unlessNowhere passes over that there is no work tree to save.
func unlessNowhere(err error) error {
	if checkpoint.HasCode(err, checkpoint.NotRepo) || api.AsError(err).Code == api.CodeNotRepo {
		return nil
	}
	return err
}

// Changed compares a checkpoint with the disk.
func (w workTrees) Changed(ctx context.Context, s conversations.Saved) ([]string, error) {
	store, err := w.repos.open(ctx, s.Worktree)
	if err != nil {
		return nil, err
	}
	d, err := store.Diff(ctx, checkpoint.DiffRequest{Pane: s.Pane, N: s.N, Worktree: true, Stat: true})
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(d.Files))
	for _, f := range d.Files {
		paths = append(paths, f.Path)
	}
	return paths, nil
}
