// Package own tells of the conversations of our own agent, by their session files.
package own

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/tokens"
)

// Agent is the name under which our own agent reports.
const Agent = "turnback"

// Shelf are the sessions of a user. Its methods may be called at once.
type Shelf struct {
	Library session.Library

	mu   sync.Mutex
	seen map[string]look // by the id of a session
}

// look is what a file said when it was read last.
type look struct {
	size     int64
	modified time.Time
	told     api.ConversationSession
}

// List tells the sessions, the one written to last first. Files that cannot be read
// are left out; the error names them.
func (s *Shelf) List() ([]api.ConversationSession, error) {
	infos, problems := s.Infos()
	var all []api.ConversationSession
	for _, info := range infos {
		told, err := s.look(info)
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		all = append(all, told)
	}
	return all, problems
}

// Infos names the sessions, those too that cannot be read further than their
// beginning. The error names files of which not even that can be read.
func (s *Shelf) Infos() ([]session.Info, error) {
	if s == nil {
		return nil, nil
	}
	return s.Library.List("")
}

// File is where a session is kept.
func (s *Shelf) File(id string) string { return filepath.Join(s.Library.Dir, id+".jsonl") }

// look tells of a session, from memory when its file has not changed.
func (s *Shelf) look(info session.Info) (api.ConversationSession, error) {
	stat, err := os.Stat(s.File(info.ID))
	if err != nil {
		return api.ConversationSession{}, err
	}
	s.mu.Lock()
	known, ok := s.seen[info.ID]
	s.mu.Unlock()
	if ok && known.size == stat.Size() && known.modified.Equal(stat.ModTime()) {
		return known.told, nil
	}
	read, err := s.Library.Read(info.ID)
	if err != nil {
		return api.ConversationSession{}, err
	}
	told := describe(read, info)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]look{}
	}
	s.seen[info.ID] = look{size: stat.Size(), modified: stat.ModTime(), told: told}
	return told, nil
}

func describe(s *session.Session, info session.Info) api.ConversationSession {
	told := api.ConversationSession{
		Agent: Agent, Session: info.ID, Dir: info.Cwd, Title: info.Title, Last: info.Modified.UTC(), Proxied: true, Tokens: figures(s),
	}
	if started, err := time.Parse(time.RFC3339, info.Time); err == nil {
		told.Started = started.UTC()
	}
	for _, m := range s.Marks() {
		told.Checkpoints++
		switch m.End {
		case session.MarkRewound:
			told.Rewinds++
		case session.MarkOpen:
			open := wire(m)
			told.Open = &open
		}
	}
	return told
}

// figures sums up what the requests of all branches cost.
func figures(s *session.Session) api.ConversationTokens {
	var sum api.ConversationTokens
	for _, e := range s.Entries() {
		if e.Type != session.TypeCustom || e.Custom != session.CustomUsage {
			continue
		}
		var u struct {
			Before int64 `json:"bytes_before"`
			After  int64 `json:"bytes_after"`
			Tokens int64 `json:"tokens"`
		}
		if json.Unmarshal(e.Data, &u) == nil {
			tokens.Add(&sum, tokens.Of(u.Before, u.After, u.Tokens))
		}
	}
	return sum
}

func wire(m session.Mark) api.ConversationCheckpoint {
	c := api.ConversationCheckpoint{Goal: m.Goal, State: string(m.End), StartedAt: m.StartedAt, Report: m.Report, N: m.Number}
	if !m.EndedAt.IsZero() {
		at := m.EndedAt
		c.ClosedAt = &at
	}
	return c
}

// Show tells everything of one session.
func (s *Shelf) Show(id string) (api.ConversationShowResult, error) {
	infos, err := s.Library.List("")
	if err != nil && len(infos) == 0 {
		return api.ConversationShowResult{}, err
	}
	for _, info := range infos {
		if info.ID != id {
			continue
		}
		read, err := s.Library.Read(id)
		if err != nil {
			return api.ConversationShowResult{}, damaged(err)
		}
		r := api.ConversationShowResult{
			Conversation: describe(read, info), Checkpoints: []api.ConversationCheckpoint{}, Transcript: read.Path(), Untrusted: true,
			Tree: tree(read),
		}
		for _, m := range read.Marks() {
			r.Checkpoints = append(r.Checkpoints, wire(m))
		}
		return r, nil
	}
	return api.ConversationShowResult{}, gone(id)
}

func tree(s *session.Session) []api.ConversationNode {
	marks := map[string]session.Mark{}
	for _, m := range s.Marks() {
		marks[m.EntryID] = m
	}
	var nodes []api.ConversationNode
	for _, n := range s.Outline() {
		node := api.ConversationNode{ID: n.ID, Parent: n.Parent, Kind: string(n.Kind), Text: n.Text, At: n.Time, On: n.On}
		if m, ok := marks[n.ID]; ok && n.Kind == session.NodeCheckpoint {
			node.N, node.State = m.Number, string(m.End)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func gone(id string) error {
	return api.Errorf(api.CodeSessionNotFound, "no conversation %q is known", id).WithHint(api.Hint{Command: "turnback conversation list"})
}

// damaged is the error for a session file that cannot be read.
func damaged(err error) error {
	if corrupt, ok := errors.AsType[*session.CorruptError](err); ok {
		return api.Errorf(api.CodeDamaged, "%v", corrupt).WithHint(api.Hint{Detail: "the lines before it can be read; nothing is taken from the ones behind it"})
	}
	return err
}

// inUse is the error for a session that cannot be had to oneself.
func inUse(err error, hint string) error {
	if used, ok := errors.AsType[*session.InUseError](err); ok {
		return api.Errorf(api.CodeNotReady, "%v", used).WithHint(api.Hint{Detail: hint})
	}
	return damaged(err)
}

// Purge removes a session with all its branches and side files. One that is open is
// refused, with the process that has it.
func (s *Shelf) Purge(id string) error {
	err := s.Library.Remove(id)
	if errors.Is(err, session.ErrNotFound) {
		return gone(id)
	}
	s.mu.Lock()
	delete(s.seen, id)
	s.mu.Unlock()
	return inUse(err, "leave the agent first")
}

// Abandon closes the open checkpoint of a session without a report.
func (s *Shelf) Abandon(id string) (r api.ConversationAbandonResult, err error) {
	open, err := s.Library.Open(id)
	if err != nil {
		return r, inUse(err, "type /abandon in it")
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	was, err := open.Abandon()
	switch {
	case err != nil:
		return r, fmt.Errorf("close the checkpoint: %w", err)
	case was == nil:
		return r, api.Errorf(api.CodeNoCheckpoint, "no checkpoint is open in conversation %s", id).
			WithHint(api.Hint{Command: "turnback conversation show " + id})
	}
	r = api.ConversationAbandonResult{Agent: Agent, Session: id, Untrusted: true}
	for _, m := range open.Marks() {
		if m.CallID == was.CallID {
			r.Checkpoint = wire(m)
		}
	}
	return r, nil
}
