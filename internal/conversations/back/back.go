// Package back puts an agent's conversation back to where it was when a
// checkpoint of the work tree was taken. It has two steps, so that it goes
// together with the files or not at all: Prepare finds out whether it can be
// done, Way.Take does it.
package back

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/agents/transcript"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/own"
	"github.com/turnback/turnback/internal/shell"
)

// Place is what a checkpoint tells of the conversation that it goes with.
type Place struct {
	N       int    `json:"n"`       // the checkpoint
	Agent   string `json:"agent"`   // empty: none told
	Session string `json:"session"` // the agent's own id
	At      string `json:"at"`      // where in it the turn ended, as the agent's adapter tells it
}

// Way is a conversation that can be put back.
type Way interface {
	// Mark tells what Take is about to do.
	Mark() Mark
	// Take puts it back. It is called once at most.
	Take() (api.ConversationBack, error)
	// Close ends it, taken or not.
	Close() error
}

// KeptFunc finds the copy that is kept of a session's transcript, and where the
// agent's own was; false: there is none.
type KeptFunc func(agent, session string) (file, path string, ok bool)

// Copier is the adapter of an agent of whose transcripts cut copies can be made.
type Copier interface {
	// Copy makes a copy of a session up to a place, as the adapter told it.
	Copy(session, at string) (transcript.Copy, error)
	// CopyKept makes it from the copy of the transcript that is kept in file,
	// while the agent's own was at path.
	CopyKept(session, at, file, path string) (transcript.Copy, error)
	// Resume is the command that goes on with a session.
	Resume(session string) string
}

// Ways are what ways back are found with.
type Ways struct {
	Sessions session.Library   // those of our own agent
	Copiers  map[string]Copier // by the name of the agent
	Kept     KeptFunc          // nil: no copies of transcripts are kept
	// Whole are the commands by which agents without a Copier go on with a copy of
	// a session that is not cut, by the name of the agent.
	Whole map[string]func(session string) string
}

// Prepare finds the way back to a place. Until it is taken nothing of the agent's
// has changed.
func (w Ways) Prepare(p Place) (Way, error) {
	if p.Agent == "" || p.Session == "" {
		return nil, missing("checkpoint %d tells of no agent's conversation", p.N).
			WithHint(api.Hint{Detail: "those do that were saved while an agent's hooks reported"})
	}
	copier, can := w.Copiers[p.Agent]
	if !can && p.Agent != own.Agent {
		return nil, api.Errorf(api.CodeUnsupported, "the conversation of checkpoint %d is %s's, which cannot be put back", p.N, p.Agent).
			WithHint(api.Hint{Accepted: w.accepted(), Detail: w.instead(p)})
	}
	if p.At == "" {
		return nil, missing("checkpoint %d does not tell where its conversation was", p.N).
			WithHint(api.Hint{Detail: "the agent's transcript did not tell it when the checkpoint was saved"})
	}
	if p.Agent == own.Agent {
		way, err := prepareOwn(w.Sessions, p)
		return way.orNone(err)
	}
	c, err := copier.Copy(p.Session, p.At)
	if err == nil {
		return copied{copy: c, copier: copier, Place: p}, nil
	}
	if w.Kept != nil {
		if file, path, ok := w.Kept(p.Agent, p.Session); ok {
			c, kerr := copier.CopyKept(p.Session, p.At, file, path)
			if kerr == nil {
				return copied{copy: c, copier: copier, Place: p, kept: true}, nil
			}
			err = fmt.Errorf("%w; nor from turnback's copy of it: %w", err, kerr)
		}
	}
	return nil, missing("the conversation of checkpoint %d cannot be had: %v", p.N, err)
}

// instead is what can be done where the conversation cannot be put back.
func (w Ways) instead(p Place) string {
	can := "without --conversation the files alone are put back"
	if whole := w.Whole[p.Agent]; whole != nil {
		can += "; " + p.Agent + " itself goes on with a copy of the whole conversation by: " + whole(p.Session)
	}
	return can
}

// accepted are the agents whose conversations can be put back.
func (w Ways) accepted() []string {
	return append([]string{own.Agent}, slices.Sorted(maps.Keys(w.Copiers))...)
}

func missing(format string, args ...any) *api.Error {
	return api.Errorf(api.CodeContentMissing, format, args...)
}

// moved is a session of our own agent whose leaf is to be moved. It is open, so
// that nobody else goes on with it meanwhile.
type moved struct {
	s *session.Session
	Place
	left string // where the leaf was
	done bool   // nothing is to be moved
}

func prepareOwn(sessions session.Library, p Place) (moved, error) {
	s, err := sessions.Open(p.Session)
	used, inUse := errors.AsType[*session.InUseError](err)
	switch {
	case inUse:
		return moved{}, api.Errorf(api.CodeNotReady, "%v", used).WithHint(api.Hint{Detail: "leave the agent first"})
	case errors.Is(err, session.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return moved{}, missing("the session %s of checkpoint %d is not there any more", p.Session, p.N)
	case err != nil:
		return moved{}, fmt.Errorf("open the session of checkpoint %d: %w", p.N, err)
	case s.Entry(p.At) == nil:
		return moved{}, errors.Join(missing("the session %s of checkpoint %d has no entry %s", p.Session, p.N, p.At), s.Close())
	}
	return moved{s: s, Place: p, left: s.Leaf()}, nil
}

// orNone is m as a Way, unless there is an error.
func (m moved) orNone(err error) (Way, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (m moved) Mark() Mark { return Mark{Place: m.Place, Left: m.left} }

func (m moved) Take() (api.ConversationBack, error) {
	if !m.done {
		if err := m.s.MoveLeaf(m.At); err != nil {
			return api.ConversationBack{}, fmt.Errorf("put the conversation back: %w", err)
		}
	}
	back := m.told()
	back.Left = m.left
	return back, nil
}

func (m moved) Close() error { return m.s.Close() }

func (p Place) told() api.ConversationBack {
	return api.ConversationBack{
		Agent: p.Agent, Session: p.Session, From: p.Session, Entry: p.At, Resume: "turnback agent --resume " + shell.Word(p.Session),
	}
}

// copied is a copy of another agent's session.
type copied struct {
	copy   transcript.Copy
	copier Copier
	Place
	kept bool // it is of the copy that is kept of the transcript
}

func (c copied) Mark() Mark {
	resume := c.copier.Resume(c.copy.Session())
	if c.copy.Spans() > 0 { // without a proxy they are back in full
		resume = "turnback run --conversation -- " + resume
	}
	return Mark{Place: c.Place, Copy: c.copy.Session(), Path: c.copy.Path(), Resume: resume, Kept: c.kept}
}

func (c copied) Take() (api.ConversationBack, error) {
	if err := c.copy.Keep(); err != nil {
		return api.ConversationBack{}, err
	}
	return c.Mark().copied(), nil
}

func (c copied) Close() error { return c.copy.Drop() }
