// Package back puts an agent's conversation back to where it was when a
// checkpoint of the work tree was taken. It has two steps, so that it goes
// together with the files or not at all: Prepare finds out whether it can be
// done, Way.Take does it.
package back

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/agents/claude"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/own"
	"github.com/turnback/turnback/internal/shell"
)

// Place is what a checkpoint tells of the conversation that it goes with.
type Place struct {
	N       int    // the checkpoint
	Agent   string // empty: none told
	Session string // the agent's own id
	At      string // where in it the turn ended, as the agent's adapter tells it
}

// Way is a conversation that can be put back.
type Way interface {
	// Take puts it back. It is called once at most.
	Take() (api.ConversationBack, error)
	// Close ends it, taken or not.
	Close() error
}

// KeptFunc finds the copy that is kept of a session's transcript, and where the
// agent's own was; false: there is none.
type KeptFunc func(agent, session string) (file, path string, ok bool)

// Prepare finds the way back to a place. Until it is taken nothing of the agent's
// has changed. Sessions are those of our own agent; kept may be nil.
func Prepare(sessions session.Library, kept KeptFunc, p Place) (Way, error) {
	if p.Agent == "" || p.Session == "" {
		return nil, missing("checkpoint %d tells of no agent's conversation", p.N).
			WithHint(api.Hint{Detail: "checkpoints of a turn do, when an agent's hooks report it"})
	}
	switch p.Agent {
	case own.Agent, claude.Name:
	default:
		return nil, api.Errorf(api.CodeUnsupported, "the conversation of checkpoint %d is %s's, which cannot be put back", p.N, p.Agent).
			WithHint(api.Hint{Accepted: []string{own.Agent, claude.Name}, Detail: "without --conversation the files alone are put back"})
	}
	if p.At == "" {
		return nil, missing("checkpoint %d does not tell where its conversation was", p.N).
			WithHint(api.Hint{Detail: "checkpoints of whole turns do"})
	}
	if p.Agent == own.Agent {
		return prepareOwn(sessions, p)
	}
	c, err := claude.New().Copy(p.Session, p.At)
	if err == nil {
		return copied{Copy: c, Place: p}, nil
	}
	if kept != nil {
		if file, path, ok := kept(p.Agent, p.Session); ok {
			c, kerr := claude.New().CopyKept(p.Session, p.At, file, path)
			if kerr == nil {
				return copied{Copy: c, Place: p, kept: true}, nil
			}
			err = fmt.Errorf("%w; nor from turnback's copy of it: %w", err, kerr)
		}
	}
	return nil, missing("the conversation of checkpoint %d cannot be had: %v", p.N, err)
}

func missing(format string, args ...any) *api.Error {
	return api.Errorf(api.CodeContentMissing, format, args...)
}

// moved is a session of our own agent whose leaf is to be moved. It is open, so
// that nobody else goes on with it meanwhile.
type moved struct {
	s *session.Session
	Place
}

func prepareOwn(sessions session.Library, p Place) (Way, error) {
	s, err := sessions.Open(p.Session)
	used, inUse := errors.AsType[*session.InUseError](err)
	switch {
	case inUse:
		return nil, api.Errorf(api.CodeNotReady, "%v", used).WithHint(api.Hint{Detail: "leave the agent first"})
	case errors.Is(err, session.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, missing("the session %s of checkpoint %d is not there any more", p.Session, p.N)
	case err != nil:
		return nil, fmt.Errorf("open the session of checkpoint %d: %w", p.N, err)
	case s.Entry(p.At) == nil:
		return nil, errors.Join(missing("the session %s of checkpoint %d has no entry %s", p.Session, p.N, p.At), s.Close())
	}
	return moved{s, p}, nil
}

func (m moved) Take() (api.ConversationBack, error) {
	from := m.s.Leaf()
	if err := m.s.MoveLeaf(m.At); err != nil {
		return api.ConversationBack{}, fmt.Errorf("put the conversation back: %w", err)
	}
	back := m.told()
	back.Left = from
	return back, nil
}

func (m moved) Close() error { return m.s.Close() }

func (p Place) told() api.ConversationBack {
	return api.ConversationBack{
		Agent: p.Agent, Session: p.Session, From: p.Session, Entry: p.At, Resume: "turnback agent --resume " + shell.Word(p.Session),
	}
}

// copied is a copy of a session of Claude Code.
type copied struct {
	claude.Copy
	Place
	kept bool // it is of the copy that is kept of the transcript
}

func (c copied) Take() (api.ConversationBack, error) {
	if err := c.Keep(); err != nil {
		return api.ConversationBack{}, err
	}
	return api.ConversationBack{
		Agent: c.Agent, Session: c.Copy.Session, From: c.Place.Session, Copy: true, Kept: c.kept,
		Resume: "claude --resume " + c.Copy.Session,
	}, nil
}

func (c copied) Close() error { return c.Drop() }
