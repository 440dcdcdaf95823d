package conversations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/own"
	"github.com/turnback/turnback/internal/conversations/transcripts"
)

// Purge removes what is kept of a session: its record and the copy of its
// transcript, which is not copied again; of our own agent the session itself. The
// files of other agents stay as they are.
func (b *Book) Purge(ctx context.Context, p api.ConversationParams) (api.ConversationPurgeResult, error) {
	var r api.ConversationPurgeResult
	if p.Session == "" {
		return r, api.Errorf(api.CodeInvalidParams, "name the conversation").
			WithHint(api.Hint{Param: "session", Command: "turnback conversation list"})
	}
	all, copies, err := b.purgeable()
	if err != nil {
		return r, err
	}
	c, err := choose(p.Session, all)
	if err != nil {
		return r, err
	}
	r = api.ConversationPurgeResult{Agent: c.agent, Session: c.id, Untrusted: true}
	if c.agent == own.Agent {
		r.Own = true
		return r, b.o.Own.Purge(c.id)
	}
	k := key{c.agent, c.id}
	_, r.Transcript = copies[k]
	if b.o.Copies != nil {
		if err := b.o.Copies.Remove(ctx, transcripts.Copy{Agent: c.agent, Session: c.id}); err != nil {
			return r, err
		}
	}
	if c.session != nil {
		r.Record = true
		return r, b.forget(k, c.session)
	}
	return r, nil
}

// purgeable are the sessions of which anything is kept, and the copies of
// transcripts.
func (b *Book) purgeable() ([]candidate, map[key]transcripts.Copy, error) {
	var all []candidate
	known, copies := map[key]bool{}, map[key]transcripts.Copy{}
	for _, s := range b.inDir("") {
		s.mu.Lock()
		all = append(all, candidate{s, s.Agent, s.Session, s.Last})
		known[key{s.Agent, s.Session}] = true
		s.mu.Unlock()
	}
	if b.o.Copies != nil {
		list, err := b.o.Copies.List()
		if err != nil {
			b.o.Problem(err)
		}
		for _, c := range list {
			k := key{c.Agent, c.Session}
			copies[k] = c
			if !known[k] {
				all = append(all, candidate{nil, c.Agent, c.Session, c.Last})
			}
		}
	}
	infos, err := b.o.Own.Infos()
	for _, s := range infos {
		all = append(all, candidate{nil, own.Agent, s.ID, s.Modified})
	}
	return all, copies, err
}

// forget removes the record of a session.
func (b *Book) forget(k key, s *session) error {
	b.mu.Lock()
	delete(b.sessions, k)
	maps.DeleteFunc(b.byCall, func(_ string, of *session) bool { return of == s })
	b.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if b.o.Dir == "" {
		return nil
	}
	if err := os.Remove(b.path(s.record)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of a conversation: %w", err)
	}
	return nil
}
