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

// Mentioning finds the sessions of which something is kept besides a copy of a
// transcript that may hold something of a path of a repository: those of our own
// agent, and what is known of others, their goals and reports. The path is relative
// to the root of the work tree, with slashes.
func (b *Book) Mentioning(link transcripts.Link, path string) ([]transcripts.Copy, error) {
	type kept struct{ agent, session, dir, file string }
	var all []kept
	for _, s := range b.inDir("") {
		s.mu.Lock()
		if b.o.Dir != "" && !s.gone {
			all = append(all, kept{s.Agent, s.Session, s.Dir, b.path(s.record)})
		}
		s.mu.Unlock()
	}
	infos, err := b.o.Own.Infos()
	if err != nil {
		b.o.Problem(err)
	}
	for _, s := range infos {
		all = append(all, kept{own.Agent, s.ID, s.Cwd, b.o.Own.File(s.ID)})
	}
	var found []transcripts.Copy
	for _, k := range all {
		worked := k.dir == "" || near(k.dir, link.Worktree) // where it is not known, it may have
		has, err := transcripts.MayHold(k.file, worked, link.Worktree, path)
		if err != nil {
			return nil, fmt.Errorf("look into conversation %s: %w", k.session, err)
		}
		if has {
			found = append(found, transcripts.Copy{Agent: k.agent, Session: k.session})
		}
	}
	return found, nil
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
