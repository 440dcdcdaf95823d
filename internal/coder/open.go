package coder

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/shell"
)

// open opens the session that is meant, or a new one. Unread are the files that
// were passed over, since they cannot be read.
func (o Options) open() (s *session.Session, reason string, unread []string, err error) {
	l := session.Library{Dir: o.DataDir, Now: o.Now}
	switch {
	case o.Flags.Resume != "":
		s, err = o.resume(l)
		return s, "resume", nil, err
	case o.Flags.Continue:
		s, unread, err = o.newest(l)
		return s, "resume", unread, err
	}
	s, err = l.Create(o.Dir)
	return s, "startup", nil, err
}

func (o Options) resume(l session.Library) (*session.Session, error) {
	place, err := l.Find(o.Flags.Resume)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return nil, api.Errorf(api.CodeSessionNotFound, "%v", err).WithHint(api.Hint{Command: "turnback conversation list"})
	case err != nil:
		return nil, damaged(err)
	}
	s, err := o.take(l, place)
	return s, damaged(err)
}

// newest opens the newest session of the directory that can be read.
func (o Options) newest(l session.Library) (s *session.Session, unread []string, err error) {
	infos, err := l.List(o.Dir)
	if err != nil {
		unread = strings.Split(err.Error(), "\n")
	}
	for _, info := range infos {
		s, err := o.take(l, session.Place{Session: info.ID})
		if corrupt, bad := errors.AsType[*session.CorruptError](err); bad {
			unread = append(unread, corrupt.Error())
			continue
		}
		return s, unread, err
	}
	none := api.Errorf(api.CodeSessionNotFound, "there is no session of this directory yet").
		WithHint(api.Hint{Detail: "start one without --continue"})
	if len(unread) > 0 {
		none = api.Errorf(api.CodeSessionNotFound, "there is no session of this directory that can be read").
			WithHint(api.Hint{Available: unread, Detail: "start one without --continue"})
	}
	return nil, unread, none
}

// take opens a session at a place, or a copy of it.
func (o Options) take(l session.Library, at session.Place) (*session.Session, error) {
	if o.Flags.Fork {
		return l.Fork(at.Session, at.Entry, o.Dir)
	}
	s, err := l.Open(at.Session)
	if used, ok := errors.AsType[*session.InUseError](err); ok {
		return nil, api.Errorf(api.CodeNotReady, "%v", used).WithHint(api.Hint{Detail: "add --fork to go on with a copy of it"})
	}
	if err != nil {
		return nil, err
	}
	if err := o.fits(s, at); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if at.Entry == "" {
		return s, nil
	}
	if err := s.MoveLeaf(at.Entry); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// fits says why a session cannot be gone on with here.
func (o Options) fits(s *session.Session, at session.Place) error {
	if at.Entry != "" && s.Entry(at.Entry) == nil {
		return api.Errorf(api.CodeSessionNotFound, "session %s has no entry %s", at.Session, at.Entry)
	}
	if cwd := s.Header().Cwd; !samePlace(cwd, o.Dir) {
		return api.Errorf(api.CodeOtherWorktree, "session %s is about %s, and not about %s", at.Session, cwd, o.Dir).WithHint(api.Hint{
			Command: "cd " + shell.Word(cwd) + " && turnback agent --resume " + shell.Word(o.Flags.Resume),
			Detail:  "--fork goes on here, with a copy of it",
		})
	}
	return nil
}

// samePlace says whether two paths are the same folder.
func samePlace(a, b string) bool {
	if a == b {
		return true
	}
	realA, errA := filepath.EvalSymlinks(a)
	realB, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && realA == realB
}

// damaged is the error for a session file that cannot be read, as the person gets it.
func damaged(err error) error {
	corrupt, bad := errors.AsType[*session.CorruptError](err)
	unread, closed := errors.AsType[*session.UnreadError](err)
	switch {
	case bad:
		return api.Errorf(api.CodeDamaged, "%v", corrupt).WithHint(api.Hint{Detail: "start a session without --resume"})
	case closed:
		return api.Errorf(api.CodeDamaged, "%v", unread).WithHint(api.Hint{Detail: "start a session without --resume"})
	}
	return err
}
