package conversations

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/files"
)

const (
	// maxAnnounced bounds the calls of a session that a hook has announced and
	// that are remembered.
	maxAnnounced = 64
	// maxMarks bounds the checkpoints of a session that are remembered.
	maxMarks = 200
	// recordExt is the extension of a record.
	recordExt = ".json"
	// forgetAfter is how long a session is remembered of which nothing is heard.
	forgetAfter = 90 * 24 * time.Hour
)

// errForeign says that a record's name is not that of what it holds.
var errForeign = errors.New("it is of another session than its name says")

// record is what is kept of a session.
type record struct {
	Agent      string    `json:"agent"`
	Session    string    `json:"session"`
	Dir        string    `json:"dir,omitempty"`
	Transcript string    `json:"transcript,omitempty"`
	Launch     string    `json:"launch,omitempty"`
	Started    time.Time `json:"started"`
	Last       time.Time `json:"last"`

	// State is the state as this session's own calls left it: what stands where
	// there is no history to ask.
	State     conversation.State      `json:"state"`
	Announced map[string]announcement `json:"announced,omitempty"` // by the id of the call
	Marks     []mark                  `json:"marks,omitempty"`     // oldest first
	Granted   []grant                 `json:"granted,omitempty"`   // that no history may have yet, oldest first
	Reminded  reminded                `json:"reminded"`
	// Compacted is when the agent last told of a compaction; its transcript may have
	// it later.
	Compacted time.Time              `json:"compacted,omitzero"`
	Notices   []string               `json:"notices,omitempty"` // for the person, at the next chance
	Seen      *seen                  `json:"seen,omitempty"`
	Rewrites  bool                   `json:"rewrites,omitempty"` // requests go through what collapses them
	Spans     int                    `json:"spans,omitempty"`    // that were collapsed in the newest request
	Reason    string                 `json:"reason,omitempty"`
	ReasonAt  time.Time              `json:"reason_at,omitzero"`
	Tokens    api.ConversationTokens `json:"tokens"`
}

// announcement is a call that the agent said is about to come.
type announcement struct {
	Tool     conversation.Tool `json:"tool"`
	Subagent bool              `json:"subagent,omitempty"`
	At       time.Time         `json:"at"`
	Answered bool              `json:"answered,omitempty"` // the call came
}

// grant is a call that succeeded.
type grant struct {
	ID   string            `json:"id"`
	Tool conversation.Tool `json:"tool"`
	Text string            `json:"text"`
	At   time.Time         `json:"at"`
}

// mark is a checkpoint of the conversation.
type mark struct {
	Call      string    `json:"call"`
	Goal      string    `json:"goal"`
	StartedAt time.Time `json:"started_at"`
	Saved     Saved     `json:"saved,omitzero"`
	End       string    `json:"end,omitempty"` // one of the ends; empty: open
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Rewind    string    `json:"rewind,omitempty"` // the call that closed it
	Report    string    `json:"report,omitempty"`
	Reminders int       `json:"reminders,omitempty"`
	Told      bool      `json:"told,omitempty"` // the person knows that it was lost
}

// How a checkpoint came to its end.
const (
	endRewound   = "rewound"
	endAbandoned = "abandoned"
	endLost      = "lost"
	endReplaced  = "replaced" // the history went on without it
)

// reminded counts reminders since the person's last prompt.
type reminded struct {
	Call  string `json:"call,omitempty"`
	Count int    `json:"count,omitempty"`
	Told  bool   `json:"told,omitempty"` // the person was told that they did not help
}

// seen is the newest request of the session that a proxy saw.
type seen struct {
	At          time.Time                 `json:"at"`
	Open        *api.ConversationOpenCall `json:"open,omitempty"`
	Completed   bool                      `json:"completed,omitempty"`
	Checkpoints []string                  `json:"checkpoints,omitempty"`
	Stale       bool                      `json:"stale,omitempty"` // the agent was started again since
}

func (m *mark) open() *conversation.Open {
	return &conversation.Open{CallID: m.Call, Goal: m.Goal, StartedAt: m.StartedAt}
}

// newest is the newest mark; nil: none.
func (r *record) newest() *mark {
	if len(r.Marks) == 0 {
		return nil
	}
	return &r.Marks[len(r.Marks)-1]
}

// mark finds the checkpoint of a call.
func (r *record) mark(call string) *mark {
	for i := range r.Marks {
		if r.Marks[i].Call == call {
			return &r.Marks[i]
		}
	}
	return nil
}

// announce remembers a call, the oldest ones no longer.
func (r *record) announce(id string, a announcement) {
	if r.Announced == nil {
		r.Announced = map[string]announcement{}
	}
	r.Announced[id] = a
	for len(r.Announced) > maxAnnounced {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(r.Announced)), func(a, b string) int {
			return r.Announced[a].At.Compare(r.Announced[b].At)
		})
		delete(r.Announced, oldest)
	}
}

// write keeps the record of s, if it has changed. s.mu is held.
func (b *Book) write(s *session) {
	if b.o.Dir == "" || s.gone {
		return
	}
	text, err := json.Marshal(s.record)
	if err != nil {
		b.o.Problem(fmt.Errorf("encode the record of a conversation: %w", err))
		return
	}
	if bytes.Equal(text, s.written) {
		return
	}
	if err := os.MkdirAll(b.o.Dir, 0o700); err != nil {
		b.o.Problem(fmt.Errorf("make the folder of conversations: %w", err))
		return
	}
	if err := files.Replace(b.path(s.record), text); err != nil {
		b.o.Problem(fmt.Errorf("write the record of a conversation: %w", err))
		return
	}
	s.written = text
}

// path is the file of a record. A session's id is an agent's word: it is no name
// of a file.
func (b *Book) path(r record) string {
	sum := sha256.Sum256([]byte(r.Agent + "\x00" + r.Session))
	return filepath.Join(b.o.Dir, hex.EncodeToString(sum[:12])+recordExt)
}

func (b *Book) readRecords() []record {
	if b.o.Dir == "" {
		return nil
	}
	entries, err := os.ReadDir(b.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		b.o.Problem(fmt.Errorf("read the records of conversations: %w", err))
		return nil
	}
	var records []record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), recordExt) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(b.o.Dir, e.Name()))
		var r record
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil || b.path(r) != filepath.Join(b.o.Dir, e.Name()) {
			b.o.Problem(fmt.Errorf("the record %s of a conversation cannot be read: %w", e.Name(), cmp.Or(err, errForeign)))
			continue
		}
		if b.o.Now().Sub(r.Last) > forgetAfter {
			if err := os.Remove(b.path(r)); err != nil {
				b.o.Problem(fmt.Errorf("forget an old conversation: %w", err))
			}
			continue
		}
		records = append(records, r)
	}
	return records
}
