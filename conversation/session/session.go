package session

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/turnback/turnback/conversation"
)

// Session is a conversation that is open. It is not safe for several goroutines.
type Session struct {
	path    string
	header  Header
	now     func() time.Time
	journal *journal // nil: only read
	lock    *os.File

	entries []*Entry
	byID    map[string]*Entry
	leaf    string
	tracker *tracker
	taken   map[string]bool // entries whose rewind was taken
}

// ErrReadOnly is for changes to a session that was opened to be read.
var ErrReadOnly = errors.New("the session is only open for reading")

// ID names the session.
func (s *Session) ID() string { return s.header.ID }

// Header is the first line of the file.
func (s *Session) Header() Header { return s.header }

// Path is the session's file.
func (s *Session) Path() string { return s.path }

// Leaf is the entry that the branch ends with; empty before the first one.
func (s *Session) Leaf() string { return s.leaf }

// State is that of the branch's checkpoints, as of the last entry. The two tools
// are asked by it, [conversation.State.Checkpoint] and
// [conversation.State.Rewind]; everything else is told to it by the session. The
// pointer stays the same while the session is open.
func (s *Session) State() *conversation.State { return s.tracker.state }

// Entries are all entries of all branches, oldest first. They are not to be
// changed.
func (s *Session) Entries() []*Entry { return slices.Clone(s.entries) }

// Entry is the one with this id, nil when there is none.
func (s *Session) Entry(id string) *Entry { return s.byID[id] }

// Branch are the entries from the first to the leaf.
func (s *Session) Branch() []*Entry { return s.branchTo(s.leaf) }

func (s *Session) branchTo(leaf string) []*Entry {
	var branch []*Entry
	for e := s.byID[leaf]; e != nil; e = s.byID[e.ParentID] {
		branch = append(branch, e)
	}
	slices.Reverse(branch)
	return branch
}

// Close lets go of the file and of the lock.
func (s *Session) Close() error {
	if s.journal == nil {
		return nil
	}
	err := errors.Join(s.journal.file.Close(), s.lock.Close())
	s.journal = nil
	return err
}

// Append adds a message to the branch and returns its entry. It returns when the
// message is on the disk; on an error nothing was added. Texts that are too long
// are cut, base64 data go to side files: [Session.Context] has what is kept.
//
// Results of tools are added as they come, in one message or in several. A batch
// has ended when each of its calls has one; see [Session.Due]. Results that an
// abort has prevented may be left out.
func (s *Session) Append(m Message) (*Entry, error) {
	m, err := s.admit(m)
	if err != nil {
		return nil, fmt.Errorf("append message: %w", err)
	}
	return s.add(Entry{Type: TypeMessage, ParentID: s.leaf, Message: &m})
}

// Note adds a custom entry.
func (s *Session) Note(name string, data any) (*Entry, error) {
	raw, err := encode(data)
	if err == nil {
		raw, err = compact(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("append %s: %w", name, err)
	}
	return s.add(Entry{Type: TypeCustom, ParentID: s.leaf, Custom: name, Data: raw})
}

// Saved keeps the number of the work-tree checkpoint that was saved when the
// checkpoint of this call succeeded.
func (s *Session) Saved(callID string, number int) error {
	_, err := s.Note(CustomSaved, callData{ID: callID, Number: number})
	return err
}

// Abort tells that the turn was aborted: calls that have no result by now get
// none any more. It clears the open checkpoint for good when keep is false; keep
// is the setting keep_on_abort. It returns the checkpoint that was cleared, nil
// when none was.
func (s *Session) Abort(keep bool) (was *conversation.Open, err error) {
	if !keep {
		was, err = s.Abandon()
	}
	s.resume()
	return was, err
}

// Abandon closes the open checkpoint without a report, for good. It returns the
// checkpoint, nil when none was open.
func (s *Session) Abandon() (*conversation.Open, error) {
	open := s.State().Open
	if open == nil {
		return nil, nil
	}
	if _, err := s.Note(CustomCleared, callData{ID: open.CallID}); err != nil {
		return nil, err
	}
	return open, nil
}

// Compact puts a summary in the place of what comes before an entry of the
// branch. That may become an earlier one, so that no call is parted from its
// results and no report from its checkpoint. An open checkpoint stays open.
func (s *Session) Compact(c Compaction) (*Entry, error) {
	c.Summary = cutText(valid(c.Summary))
	c.Goal = ""
	if open := s.State().Open; open != nil {
		c.Goal = open.Goal
	}
	if c.FirstKept != "" {
		branch := s.Branch()
		first := slices.IndexFunc(branch, func(e *Entry) bool { return e.ID == c.FirstKept })
		if first < 0 {
			return nil, fmt.Errorf("compact: no entry %q on the branch", c.FirstKept)
		}
		c.FirstKept = branch[keepFrom(branch, first)].ID
	}
	return s.add(Entry{Type: TypeCompaction, ParentID: s.leaf, Compaction: &c})
}

// keepFrom is the first entry to keep when the one at first is to be kept: the
// message with the calls, when results of them or the report of a rewind follow.
func keepFrom(branch []*Entry, first int) int {
	for _, e := range branch[first:] {
		switch {
		case e.Type == TypeRewind, e.Type == TypeMessage && e.Message.Role == RoleTool:
			return max(0, lastAssistant(branch[:first]))
		case e.Type == TypeMessage && e.Message.Role == RoleAssistant:
			return first
		}
	}
	return first
}

func lastAssistant(branch []*Entry) int {
	for i, e := range slices.Backward(branch) {
		if e.Type == TypeMessage && e.Message.Role == RoleAssistant {
			return i
		}
	}
	return -1
}

// MoveLeaf makes the branch through an entry the one that the conversation goes
// on with, for good; an empty id goes back to before the first entry. The state
// is found anew.
func (s *Session) MoveLeaf(id string) error {
	if id != "" && s.byID[id] == nil {
		return fmt.Errorf("move to %q: no such entry", id)
	}
	if id == s.leaf {
		return nil
	}
	_, err := s.add(Entry{Type: TypeLeaf, ParentID: s.leaf, Target: id})
	return err
}

// add writes an entry and takes it into memory.
func (s *Session) add(e Entry) (*Entry, error) {
	if s.journal == nil {
		return nil, ErrReadOnly
	}
	var err error
	if e.ID, err = s.newID(); err != nil {
		return nil, err
	}
	e.Time = stamp(s.now())
	line, err := encode(&e)
	if err == nil {
		err = s.journal.append(line)
	}
	if err != nil {
		return nil, fmt.Errorf("append to the session file: %w", err)
	}
	leaf := s.leaf
	s.take(&e)
	if e.ParentID == leaf && s.leaf == e.ID {
		s.tracker.feed(&e)
	} else {
		s.derive()
		s.resume()
	}
	return &e, nil
}

// take puts an entry into the tree and moves the leaf.
func (s *Session) take(e *Entry) {
	s.entries = append(s.entries, e)
	s.byID[e.ID] = e
	s.leaf = e.ID
	switch e.Type {
	case TypeLeaf:
		s.leaf = e.Target
	case TypeRewind:
		s.taken[e.Rewind.RewindID] = true
	}
}

// derive finds the state of the branch from its beginning.
func (s *Session) derive() {
	state := s.tracker.state
	*state = conversation.State{}
	s.tracker = &tracker{state: state, taken: s.taken}
	for _, e := range s.Branch() {
		s.tracker.feed(e)
	}
}

// Due is the report of a rewind that was granted and whose batch has ended:
// [Session.Rewind] is to be called before the next request. It is nil when none
// is. A process that was killed in between finds it again.
func (s *Session) Due() *conversation.Report {
	if s.tracker.batch != nil {
		return nil
	}
	return s.State().Pending
}

// resume gives up the calls at the end of the branch that have no result: whoever
// would have brought it has ended, or has gone on elsewhere.
func (s *Session) resume() { s.tracker.endBatch() }
