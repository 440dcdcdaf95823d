package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/history"
	"github.com/turnback/turnback/internal/agents/transcript"
)

// History reads the conversation of the transcript at path: the branch that its
// last entry is on. What a native rewind has left, and what subagents said, is
// not part of it.
func (Adapter) History(path string) (history.History, error) {
	info, err := os.Stat(path)
	if err != nil {
		return history.History{}, fmt.Errorf("look at the transcript: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > transcript.MaxSize {
		return history.History{}, errors.New("the transcript is no file that can be read")
	}
	f, err := os.Open(path)
	if err != nil {
		return history.History{}, fmt.Errorf("open the transcript: %w", err)
	}
	defer f.Close()
	var t talk
	if err := t.read(f); err != nil {
		return history.History{}, fmt.Errorf("read the transcript: %w", err)
	}
	return t.history(), nil
}

// talk is a transcript as far as the tools matter.
type talk struct {
	entries []link           // in the order of the file
	at      map[string]int   // place of an entry, by its uuid
	blocks  map[string][]int // places of an assistant's entries, by the id of the message
	results map[string]bool
	success map[string]bool // by the id of a call of ours
}

// link is an entry with what it hangs on.
type link struct {
	parent  string
	kind    string
	message string // of an assistant's: the id that the blocks of one message share
	compact bool
	when    time.Time
	calls   []toolUse
}

type toolUse struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input struct {
		Goal   string `json:"goal"`
		Report string `json:"report"`
	} `json:"input"`
}

// chainEntry is a line of the transcript as the history needs it.
type chainEntry struct {
	Type      string    `json:"type"`
	Subtype   string    `json:"subtype"`
	UUID      string    `json:"uuid"`
	Parent    string    `json:"parentUuid"`
	Logical   string    `json:"logicalParentUuid"`
	Sidechain bool      `json:"isSidechain"`
	When      time.Time `json:"timestamp"`
	Message   struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

func (t *talk) read(r io.Reader) error {
	t.at, t.blocks, t.results, t.success = map[string]int{}, map[string][]int{}, map[string]bool{}, map[string]bool{}
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := transcript.ReadLine(lines)
		t.add(line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add takes in a line. One that is not whole, or is not part of the
// conversation, is passed over.
func (t *talk) add(line []byte) {
	if !bytes.Contains(line, []byte(`"uuid"`)) {
		return
	}
	var e chainEntry
	err := json.Unmarshal(line, &e)
	if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mistyped {
		return
	}
	if e.UUID == "" || e.Sidechain {
		return
	}
	l := link{parent: e.Parent, kind: e.Type, message: e.Message.ID, when: e.When, compact: e.Subtype == "compact_boundary"}
	if l.compact {
		l.parent = e.Logical
	}
	switch e.Type {
	case "assistant":
		l.calls = toolUses(e.Message.Content)
		t.blocks[l.message] = append(t.blocks[l.message], len(t.entries))
	case "user":
		t.addResults(e.Message.Content)
	}
	t.at[e.UUID] = len(t.entries)
	t.entries = append(t.entries, l)
}

func toolUses(content json.RawMessage) []toolUse {
	var blocks []struct {
		Type string `json:"type"`
	}
	if !bytes.Contains(content, []byte("tool_use")) || json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	var raw []json.RawMessage
	if json.Unmarshal(content, &raw) != nil {
		return nil
	}
	var calls []toolUse
	for i, b := range blocks {
		if b.Type != "tool_use" {
			continue
		}
		var call toolUse
		// An argument of another type is as if it were not there.
		_ = json.Unmarshal(raw[i], &call)
		calls = append(calls, call)
	}
	return calls
}

func (t *talk) addResults(content json.RawMessage) {
	if !bytes.Contains(content, []byte("tool_result")) {
		return
	}
	var blocks []struct {
		Type    string          `json:"type"`
		ID      string          `json:"tool_use_id"`
		Failed  bool            `json:"is_error"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		if b.Type != "tool_result" {
			continue
		}
		t.results[b.ID] = true
		if b.Failed {
			continue
		}
		texts := history.Texts(b.Content)
		t.success[b.ID] = history.Result(conversation.ToolCheckpoint, texts) || history.Result(conversation.ToolRewind, texts)
	}
}

// chain is the branch that the last entry is on, as places, oldest first.
func (t *talk) chain() []int {
	var chain []int
	for i := len(t.entries) - 1; i >= 0; {
		chain = append(chain, i)
		parent, ok := t.at[t.entries[i].parent]
		if !ok || parent >= i {
			break // the root, or one that hangs on what comes later: no chain
		}
		i = parent
	}
	slices.Reverse(chain)
	return chain
}

func (t *talk) history() history.History {
	var h history.History
	seen := map[string]bool{}
	for _, i := range t.chain() {
		l := t.entries[i]
		switch {
		case l.compact:
			h.Steps = append(h.Steps, history.Step{Compacted: true})
		case l.kind != "assistant" || l.message != "" && seen[l.message]:
			continue
		default:
			seen[l.message] = true
			if step, has := t.batch(i); has {
				h.Steps = append(h.Steps, step)
			}
		}
		if l.kind == "assistant" && l.when.After(h.Newest) {
			h.Newest = l.when
		}
	}
	return h
}

// batch is the step of the message that the entry at place i is a block of. Its
// other blocks may hang beside the chain: the results of calls made together
// follow one call each.
func (t *talk) batch(i int) (history.Step, bool) {
	step, any := history.Step{Done: true}, false
	blocks := []int{i}
	if message := t.entries[i].message; message != "" {
		blocks = t.blocks[message]
	}
	for _, place := range blocks {
		l := t.entries[place]
		for _, u := range l.calls {
			any = true
			step.Done = step.Done && t.results[u.ID]
			if tool, ours := conversation.ParseToolName(conversation.OtherAgent, "", u.Name); ours {
				text := u.Input.Goal
				if tool == conversation.ToolRewind {
					text = u.Input.Report
				}
				step.Calls = append(step.Calls, history.Call{ID: u.ID, Tool: tool, Text: text, Done: t.results[u.ID], OK: t.success[u.ID], At: l.when})
			}
		}
	}
	return step, any
}
