package pi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/history"
	"github.com/turnback/turnback/internal/agents/transcript"
)

// header is the first line of a session file; entry is any other.
type header struct {
	Type string `json:"type"` // session
	ID   string `json:"id"`
}

type entry struct {
	Type      string    `json:"type"` // message, compaction, ...
	ID        string    `json:"id"`
	Parent    string    `json:"parentId"`
	When      time.Time `json:"timestamp"`
	FirstKept string    `json:"firstKeptEntryId"` // compaction: the first that was not summarised; its own id: none
	Message   struct {
		Role    string          `json:"role"` // assistant, toolResult, ...
		Content json.RawMessage `json:"content"`
		CallID  string          `json:"toolCallId"` // toolResult
		Failed  bool            `json:"isError"`    // toolResult
	} `json:"message"`
}

// parseEntry reads a line; false for one that is none of the tree. A field of
// another type than expected costs no other field.
func parseEntry(line []byte) (entry, bool) {
	var e entry
	err := json.Unmarshal(line, &e)
	if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mistyped {
		return entry{}, false
	}
	return e, e.ID != "" && e.Type != "session"
}

// branch is a way from the root of a session's tree to an entry.
type branch struct {
	header  header
	entries []entry // the root first
}

// readBranch reads the branch that ends with an entry; empty: with the last one.
// A line that is not whole, as the last one while pi writes it, is passed over.
func readBranch(r *bufio.Reader, last string) (branch, error) {
	var b branch
	all := map[string]entry{}
	for first, more := true, true; more; first = false {
		line, err := transcript.ReadLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return branch{}, err
		}
		more = err == nil
		if first {
			if json.Unmarshal(line, &b.header) != nil || b.header.Type != "session" || b.header.ID == "" {
				return branch{}, errors.New("it does not begin as a session of pi does")
			}
			continue
		}
		e, ok := parseEntry(line)
		if !ok {
			continue
		}
		all[e.ID] = e
		if last == "" || e.ID == last {
			b.entries = []entry{e}
		}
		if e.ID == last {
			break
		}
	}
	for len(b.entries) > 0 {
		e := b.entries[len(b.entries)-1]
		up, ok := all[e.Parent]
		delete(all, e.ID) // a tree has no rings
		if !ok {
			break
		}
		b.entries = append(b.entries, up)
	}
	slices.Reverse(b.entries)
	return b, nil
}

// open opens a session file to read it.
func open(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > transcript.MaxSize) {
		err = errors.New("it is no file that can be read")
	}
	if err != nil {
		return nil, fmt.Errorf("look at the session file: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the session file: %w", err)
	}
	return f, nil
}

// branchOf reads the branch of the file at path that ends with an entry; empty:
// the one that goes on.
func branchOf(path, last string) (branch, error) {
	f, err := open(path)
	if err != nil {
		return branch{}, err
	}
	defer f.Close()
	b, err := readBranch(bufio.NewReaderSize(f, 1<<20), last)
	if err != nil {
		return branch{}, fmt.Errorf("read the session file: %w", err)
	}
	return b, nil
}

// History reads the conversation of the session file at path: the branch that its
// last entry is on.
func (Adapter) History(path string) (history.History, error) {
	b, err := branchOf(path, "")
	if err != nil {
		return history.History{}, err
	}
	return b.history(), nil
}

func (b branch) history() history.History {
	var h history.History
	cut := b.kept()
	results := b.results()
	for i, e := range b.entries {
		if i == cut {
			h.Steps = append(h.Steps, history.Step{Compacted: true})
		}
		if e.Type != "message" || e.Message.Role != "assistant" {
			continue
		}
		if step, has := batch(e, results); has {
			h.Steps = append(h.Steps, step)
		}
		if e.When.After(h.Newest) {
			h.Newest = e.When
		}
	}
	return h
}

// kept is the place of the first entry that the newest compaction has left in the
// context; -1: none compacted.
func (b branch) kept() int {
	for i, e := range slices.Backward(b.entries) {
		if e.Type != "compaction" {
			continue
		}
		for j := range i {
			if b.entries[j].ID == e.FirstKept {
				return j
			}
		}
		return i
	}
	return -1
}

// results are those of calls, by the call's id: whether it is a success of one of
// our tools.
func (b branch) results() map[string]bool {
	results := map[string]bool{}
	for _, e := range b.entries {
		if e.Message.Role != "toolResult" {
			continue
		}
		texts := textsOf(e.Message.Content)
		results[e.Message.CallID] = !e.Message.Failed &&
			(history.Result(conversation.ToolCheckpoint, texts) || history.Result(conversation.ToolRewind, texts))
	}
	return results
}

type toolCall struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments struct {
		Goal   string `json:"goal"`
		Report string `json:"report"`
	} `json:"arguments"`
}

// batch is the step of a message of the model; false: it calls no tool.
func batch(e entry, results map[string]bool) (history.Step, bool) {
	step, has := history.Step{Done: true}, false
	var parts []json.RawMessage
	if json.Unmarshal(e.Message.Content, &parts) != nil {
		return step, false
	}
	for _, part := range parts {
		var call toolCall
		_ = json.Unmarshal(part, &call) // an argument of another type is as if it were not there
		if call.Type != "toolCall" {
			continue
		}
		ok, done := results[call.ID]
		has, step.Done = true, step.Done && done
		tool, ours := conversation.ParseToolName(conversation.OtherAgent, "", call.Name)
		if !ours {
			continue
		}
		text := call.Arguments.Goal
		if tool == conversation.ToolRewind {
			text = call.Arguments.Report
		}
		step.Calls = append(step.Calls, history.Call{ID: call.ID, Tool: tool, Text: text, Done: done, OK: ok, At: e.When})
	}
	return step, has
}

func textsOf(content json.RawMessage) []string {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return nil
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return texts
}

// EndsInInterrupt is false: pi tells of interrupts by itself.
func (Adapter) EndsInInterrupt(string) bool { return false }

// OpenTranscript opens the session file of a session, as a Place in JSON tells
// where it is, to read it. It has to lie where pi keeps its sessions by the
// environment env, under that session's name, as a file of this user's; no symbolic
// link below that folder is followed.
func (Adapter) OpenTranscript(env func(string) string, session, place string) (f *os.File, path string, err error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, "", err
	}
	folder, err := sessions(env)
	if err != nil {
		return nil, "", err
	}
	f, err = transcript.Open(folder, at.Path, 1)
	return f, at.Path, err
}

// sessions is the folder of pi's sessions; in it is one for each directory.
func sessions(env func(string) string) (string, error) {
	folder := env("PI_CODING_AGENT_DIR")
	if folder == "" {
		folder = filepath.Join(env("HOME"), ".pi", "agent")
	}
	if !filepath.IsAbs(folder) {
		return "", errors.New("pi's folder cannot be found: HOME, or PI_CODING_AGENT_DIR, is no absolute path")
	}
	return filepath.Join(folder, "sessions"), nil
}

// placeOf reads a place. It comes from a checkpoint, which may be anybody's: what
// it names has to be the file of that session.
func placeOf(session, place string) (Place, error) {
	var at Place
	if err := json.Unmarshal([]byte(place), &at); err != nil || at.Entry == "" {
		return Place{}, errors.New("the place in the session cannot be read")
	}
	if !filepath.IsAbs(at.Path) || !isID(session) || !strings.HasSuffix(filepath.Base(at.Path), "_"+session+ext) {
		return Place{}, fmt.Errorf("%q is not the file of session %s", at.Path, session)
	}
	return at, nil
}

// isID says whether a session can have an id.
func isID(id string) bool {
	alphanumeric := func(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && !strings.ContainsRune("._-", rune(c)) {
			return false
		}
	}
	return id != "" && len(id) <= 200 && alphanumeric(id[0]) && alphanumeric(id[len(id)-1])
}
