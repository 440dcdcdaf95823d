package codex

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/history"
	"github.com/turnback/turnback/internal/agents/transcript"
)

// maxForks bounds how many rollouts a conversation may lie in.
const maxForks = 32

// History reads the conversation of the rollout at path, with what it goes on from
// where it is a fork. A last line that is not whole is passed over.
func (Adapter) History(path string) (history.History, error) {
	t := talk{open: map[string]spot{}}
	err := t.read(path, homeOf(path), math.MaxInt64, maxForks)
	return t.History, err
}

// read reads the lines of a rollout that come before the ordinal end.
func (t *talk) read(path, home string, end int64, forks int) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at the rollout: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > transcript.MaxSize {
		return errors.New("the rollout is no file that can be read")
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the rollout: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		text, err := transcript.ReadLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var i item
		if err == nil && matters(text) && readLineOf(text, &i) && i.Ordinal < end {
			if err = t.add(i); i.Type == "session_meta" && i.Payload.Forked != "" {
				err = t.fork(i, home, forks)
			}
		}
		if err != nil {
			return fmt.Errorf("read the rollout: %w", err)
		}
	}
}

// fork reads what a fork goes on from.
func (t *talk) fork(meta item, home string, forks int) error {
	from, err := find(home, meta.Payload.Forked)
	if forks == 0 {
		err = errors.New("too many forks of forks")
	}
	if err == nil {
		err = t.read(from, home, meta.Payload.ForkedAt, forks-1)
	}
	if err != nil {
		return fmt.Errorf("it goes on from the thread %s: %w", meta.Payload.Forked, err)
	}
	return nil
}

// matters says whether a line may be of those that tell of the conversation.
func matters(text []byte) bool {
	if bytes.Contains(text, []byte(`"event_msg"`)) {
		return bytes.Contains(text, []byte(`"thread_rolled_back"`))
	}
	return !bytes.Contains(text, []byte(`"world_state"`))
}

// talk is a rollout as far as the tools matter.
type talk struct {
	history.History
	open    map[string]spot // calls that have no result yet, by id
	inModel bool            // the newest item is the model's
	inStep  bool            // a step of the model's batch is there
}

// spot is where a call stands: its step, and its place among ours; -1: it is none
// of ours.
type spot struct{ step, call int }

// item is a line of a rollout as the history needs it.
type item struct {
	When    time.Time `json:"timestamp"`
	Ordinal int64     `json:"ordinal"`
	Type    string    `json:"type"`
	Payload struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		ID        string          `json:"call_id"`
		Name      string          `json:"name"`
		Namespace string          `json:"namespace"`
		Arguments string          `json:"arguments"`
		Output    json.RawMessage `json:"output"`
		Forked    string          `json:"forked_from_id"`
		ForkedAt  int64           `json:"forked_from_ordinal_exclusive"`
	} `json:"payload"`
}

// add takes in a line.
func (t *talk) add(i item) error {
	switch p := i.Payload; {
	case i.Type == "event_msg" && p.Type == "thread_rolled_back":
		return errors.New("turns were taken back in it")
	case i.Type == "compacted":
		t.Steps = append(t.Steps, history.Step{Compacted: true})
		t.inModel = false
	case i.Type == "response_item" && strings.HasSuffix(p.Type, "_output"):
		t.inModel = false
		t.answer(p.ID, p.Output)
	case i.Type == "response_item":
		t.said(i)
	}
	return nil
}

// said takes in an item that is no result.
func (t *talk) said(i item) {
	p := i.Payload
	if p.Type == "message" && p.Role != "assistant" {
		t.inModel = false
		return
	}
	if !t.inModel {
		t.inModel, t.inStep = true, false
	}
	if i.When.After(t.Newest) {
		t.Newest = i.When
	}
	if p.ID == "" {
		return
	}
	if !t.inStep {
		t.inStep = true
		t.Steps = append(t.Steps, history.Step{Done: true})
	}
	at := spot{len(t.Steps) - 1, -1}
	step := &t.Steps[at.step]
	step.Done = false
	if tool, ours := conversation.ParseToolName(conversation.OtherAgent, p.Namespace, p.Name); ours {
		at.call = len(step.Calls)
		step.Calls = append(step.Calls, history.Call{ID: p.ID, Tool: tool, Text: argument(tool, p.Arguments), At: i.When})
	}
	t.open[p.ID] = at
}

func argument(tool conversation.Tool, arguments string) string {
	var said struct {
		Goal   string `json:"goal"`
		Report string `json:"report"`
	}
	// An argument of another type is as if it were not there.
	_ = json.Unmarshal([]byte(arguments), &said)
	if tool == conversation.ToolRewind {
		return said.Report
	}
	return said.Goal
}

// answer takes in the result of a call.
func (t *talk) answer(id string, output json.RawMessage) {
	at, waits := t.open[id]
	if !waits {
		return
	}
	delete(t.open, id)
	step := &t.Steps[at.step]
	if at.call >= 0 {
		c := &step.Calls[at.call]
		c.Done, c.OK = true, history.Result(c.Tool, texts(output))
	}
	step.Done = true
	for _, other := range t.open {
		step.Done = step.Done && other.step != at.step
	}
}

// texts are those that a tool gave, without the line of time that Codex puts before
// them.
func texts(output json.RawMessage) []string { return withoutTime(history.Texts(output)) }

func withoutTime(texts []string) []string {
	if len(texts) == 0 || !strings.HasPrefix(texts[0], "Wall time: ") {
		return texts
	}
	_, rest, found := strings.Cut(texts[0], "\nOutput:")
	switch rest = strings.TrimPrefix(rest, "\n"); {
	case !found:
		return texts
	case rest == "":
		return texts[1:]
	}
	return append([]string{rest}, texts[1:]...)
}
