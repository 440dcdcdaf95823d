package back

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/own"
)

// Mark is what a way is about to do, for whoever finishes it or takes it back when
// the process that took it was killed.
type Mark struct {
	Place
	Left string `json:"left,omitempty"` // of a session of our own agent: the entry that it ended with

	// Of another's: the id of the copy, the file that it becomes (empty: none of its
	// own), the command that goes on with it, and whether it is of the copy that is
	// kept of the transcript.
	Copy   string `json:"copy,omitempty"`
	Path   string `json:"path,omitempty"`
	Resume string `json:"resume,omitempty"`
	Kept   bool   `json:"kept,omitempty"`
}

// Forward finds a way to what m was about. Where that was done, taking it changes
// nothing.
func (w Ways) Forward(m Mark) (Way, error) {
	if m.Agent == own.Agent {
		way, err := prepareOwn(w.Sessions, m.Place)
		if err == nil {
			way.done, way.left = m.moved(way.s), m.Left
		}
		return way.orNone(err)
	}
	if _, err := os.Lstat(m.Path); m.Path != "" && err == nil {
		return copyThere{m}, nil
	}
	return w.Prepare(m.Place)
}

// Reverse finds the way back from what m was about. Where that was not done, taking
// it changes nothing. It refuses what somebody has gone on with since; since is
// when m was written down.
func (w Ways) Reverse(m Mark, since time.Time) (Way, error) {
	if m.Agent != own.Agent {
		return m.withoutCopy(since)
	}
	way, err := prepareOwn(w.Sessions, m.Place)
	switch {
	case err != nil && api.AsError(err).Code == api.CodeContentMissing:
		return nothing{m}, nil
	case err != nil:
		return nil, err
	}
	switch {
	case !m.moved(way.s):
		way.done = true
	case way.s.Leaf() != m.At:
		return nil, errors.Join(m.goneOn(m.Session), way.Close())
	}
	way.At = m.Left
	return way, nil
}

func (m Mark) goneOn(session string) error {
	return api.Errorf(api.CodeChangedMeanwhile, "somebody has gone on with session %s since the conversation was put back", session).
		WithHint(api.Hint{Command: "turnback checkpoint restore --continue", Detail: "--continue finishes the restore and leaves that as it is"})
}

// moved tells whether the leaf of a session was moved as m says. Somebody may have
// gone on with it since, on either side.
func (m Mark) moved(s *session.Session) bool {
	leaf := s.Leaf()
	switch {
	case leaf == m.At:
		return true
	case leaf == m.Left:
		return false
	case above(s, m.Left, m.At):
		return above(s, m.At, leaf)
	}
	return !above(s, m.Left, leaf)
}

// above tells whether an entry is on the branch that another one ends; the empty
// one is on each.
func above(s *session.Session, id, end string) bool {
	for end != "" && end != id {
		e := s.Entry(end)
		if e == nil {
			return false
		}
		end = e.ParentID
	}
	return end == id
}

// nothing is a way where nothing is to be done: the session has gone.
type nothing struct{ mark Mark }

func (n nothing) Mark() Mark { return n.mark }

func (nothing) Take() (api.ConversationBack, error) { return api.ConversationBack{}, nil }

func (nothing) Close() error { return nil }

// Gone says that there is nothing to take back any more: the session has gone.
func Gone(w Way) bool {
	_, gone := w.(nothing)
	return gone
}

// copyThere is a copy that has become a session.
type copyThere struct{ mark Mark }

func (c copyThere) Mark() Mark { return c.mark }

func (c copyThere) Take() (api.ConversationBack, error) { return c.mark.copied(), nil }

func (copyThere) Close() error { return nil }

func (m Mark) copied() api.ConversationBack {
	return api.ConversationBack{Agent: m.Agent, Session: m.Copy, From: m.Session, Copy: true, Kept: m.Kept, Resume: m.Resume}
}

// unmade is a copy that is to be removed.
type unmade struct{ mark Mark }

func (m Mark) withoutCopy(since time.Time) (Way, error) {
	info, err := os.Lstat(m.Path)
	switch {
	case m.Path == "" || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("look at the copy of the transcript: %w", err)
	case !info.Mode().IsRegular() || info.ModTime().After(since):
		return nil, m.goneOn(m.Copy)
	}
	return unmade{m}, nil
}

func (u unmade) Mark() Mark { return u.mark }

func (u unmade) Take() (api.ConversationBack, error) {
	if u.mark.Path != "" {
		if err := os.Remove(u.mark.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return api.ConversationBack{}, fmt.Errorf("remove the copy of the transcript: %w", err)
		}
	}
	return api.ConversationBack{}, nil
}

func (unmade) Close() error { return nil }
