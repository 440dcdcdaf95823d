// Package conversations follows the checkpoints of other agents' conversations:
// whose call a tool call is, what the session's history allows, what the work
// tree was then, how often a model was reminded, and what collapsing saved.
//
// The history is the authority, and not what is remembered here: a person may
// have rewound, forked or compacted the conversation without a word. It is the
// newest request that a proxy saw, else the agent's own transcript. Remembered
// is what no history has yet: calls that were granted a moment ago.
package conversations

import (
	"context"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/agents/history"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/own"
	"github.com/turnback/turnback/internal/conversations/transcripts"
)

// WorkTree saves the files that a conversation is about.
type WorkTree interface {
	// Save saves the work tree of a session when its checkpoint succeeded.
	Save(ctx context.Context, r SaveRequest) (Saved, error)
	// Changed lists the files that differ from then now, relative to the root.
	Changed(ctx context.Context, s Saved) ([]string, error)
}

// SaveRequest says what to save.
type SaveRequest struct {
	Agent, Session string
	Dir            string // where the agent works, absolute; empty: not known
	Goal           string
	Transcript     string // absolute path of the agent's transcript; empty: not known
	Call           string // id of the call of checkpoint; empty: it has none
}

// Saved is a checkpoint of the work tree.
type Saved struct {
	N        int    `json:"n"`
	Pane     string `json:"pane"`
	Worktree string `json:"worktree"`
}

// Copies are those of agents' transcripts.
type Copies interface {
	// List lists them.
	List() ([]transcripts.Copy, error)
	// Remove removes them for good; their sessions are copied no more, also those
	// that have no copy yet.
	Remove(ctx context.Context, copies ...transcripts.Copy) error
}

// Options are what a Book works with.
type Options struct {
	Dir      string // where the records are kept; empty: they are not
	Now      func() time.Time
	WorkTree WorkTree // nil: files are not saved
	// History reads an agent's transcript; false: it tells nothing.
	History func(agent, transcript string) (history.History, bool)
	// Transcript finds the transcript of a session of which no hook has told one;
	// nil, or false: it cannot be found.
	Transcript func(agent, session string) (path string, found bool)
	Own        *own.Shelf // the sessions of our own agent; nil: there are none
	Copies     Copies     // nil: there are none
	// Doubt is given why a request of a session went out as it came, though there
	// was something to collapse: each reason once. It may be nil.
	Doubt func(agent, session, reason string)
	// Problem is given what went wrong outside of an answer. It holds no text of a
	// conversation.
	Problem func(error)
	// Wait bounds how long a call waits for its agent's history to have what came
	// before it; 0: 1 s.
	Wait time.Duration
}

// historyWait is how long an agent may take to write down what it has answered
// its model with.
const historyWait = time.Second

// Book has what is known of every session. Its methods may be called at once.
type Book struct {
	o Options

	mu       sync.Mutex // guards the maps; never held while a session is
	sessions map[key]*session
	byCall   map[string]*session // by the id of an announced call
}

// key names a session.
type key struct{ agent, id string }

// Open makes a Book and reads its records. Those that cannot be read are told to
// Problem and left as they are.
func Open(o Options) *Book {
	if o.Wait == 0 {
		o.Wait = historyWait
	}
	b := &Book{o: o, sessions: map[key]*session{}, byCall: map[string]*session{}}
	for _, r := range b.readRecords() {
		s := &session{record: r}
		b.sessions[key{r.Agent, r.Session}] = s
		for id := range r.Announced {
			b.byCall[id] = s
		}
	}
	return b
}

// session is one conversation.
type session struct {
	mu sync.Mutex // guards all below, and is held while a call is answered
	record
	written []byte          // the record as it is kept
	doubts  map[string]bool // reasons that were told
	gone    bool            // a person had it removed: it is not written any more
}

// get finds a session or makes it.
func (b *Book) get(agent, id string) *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := key{agent, id}
	s := b.sessions[k]
	if s == nil {
		s = &session{record: record{Agent: agent, Session: id, Started: b.o.Now().UTC()}}
		b.sessions[k] = s
	}
	return s
}

// find finds a session that is known.
func (b *Book) find(agent, id string) (*session, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.sessions[key{agent, id}]
	return s, ok && id != ""
}

// whose finds the session that a caller speaks for. A call whose id a hook has
// announced is that session's, whoever else is named.
func (b *Book) whose(c api.ConversationCaller) (*session, bool) {
	b.mu.Lock()
	announced := b.byCall[c.ToolUseID]
	b.mu.Unlock()
	switch {
	case c.ToolUseID != "" && announced != nil:
		return announced, true
	case c.Session != "":
		return b.get(c.Agent, c.Session), true
	case c.Launch != "":
		return b.launched(c), true
	}
	return nil, false
}

// launched is the session that a launch is in: the one that was heard of last.
// Where an agent names no sessions, the launch is one.
func (b *Book) launched(c api.ConversationCaller) *session {
	b.mu.Lock()
	var all []*session
	for _, s := range b.sessions {
		all = append(all, s)
	}
	b.mu.Unlock()
	var newest *session
	var at time.Time
	for _, s := range all {
		s.mu.Lock()
		if s.Launch == c.Launch && (newest == nil || s.Last.After(at)) {
			newest, at = s, s.Last
		}
		s.mu.Unlock()
	}
	if newest != nil {
		return newest
	}
	return b.get(c.Agent, c.Launch)
}

// heard notes that something was heard of a session, and who it is as far as the
// caller knows. s.mu is held.
func (b *Book) heard(s *session, c api.ConversationCaller, dir string) {
	s.Last = b.o.Now().UTC()
	if c.Launch != "" {
		s.Launch = c.Launch
	}
	if dir != "" {
		s.Dir = dir
	}
}
