package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
)

// tailSize is how much of a transcript's end is read.
const tailSize = 256 << 10

// The marks that the agent writes when the person interrupts it. No hook tells.
const (
	interruptMark     = "[Request interrupted by user]"
	interruptMarkTool = "[Request interrupted by user for tool use]"
)

// Place is where in a transcript a turn ended. It is kept with the checkpoint as
// the JSON of this type.
type Place struct {
	Path string `json:"path"` // of the transcript
	UUID string `json:"uuid"` // of the last entry that the agent wrote
	Size int64  `json:"size"` // of the transcript then, in bytes; 0: not known
	// Call, in the place of UUID, is the id of a call: the place is behind the results
	// of those that were made together with it.
	Call string `json:"call,omitempty"`
}

// EndsInInterrupt says whether the newest entry of the transcript at path is that
// the person interrupted the agent. False when the transcript cannot be read.
func (Adapter) EndsInInterrupt(path string) bool {
	t, err := readTail(path)
	if err != nil {
		return false
	}
	for _, e := range slices.Backward(t.chain) {
		if e.Type == "system" {
			continue // a summary of hooks or of the time taken: nobody works for it
		}
		return e.Type == "user" && e.isInterrupt()
	}
	return false
}

// place returns the Place of a turn that ends now, as JSON. It is empty when the
// transcript does not tell, or is seen to be another or an older one: its newest
// prompt is not promptID, or, where no prompt is in reach, its last text is
// not message.
func place(path, promptID, message string) string {
	t, err := readTail(path)
	if err != nil {
		return ""
	}
	last, prompt := t.newestReply(), t.newestPrompt()
	text := last.text()
	switch {
	case last.UUID == "":
		return ""
	case promptID != "" && prompt != "":
		if promptID != prompt {
			return ""
		}
	case message == "" || strings.TrimSpace(text) != strings.TrimSpace(message):
		return ""
	}
	out, err := json.Marshal(Place{Path: path, UUID: last.UUID, Size: t.size})
	if err != nil {
		return ""
	}
	return string(out)
}

// entry is a line of a transcript. Only those with a UUID are part of the
// conversation; others repeat its texts.
type entry struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	Sidechain bool   `json:"isSidechain"` // of a subagent
	PromptID  string `json:"promptId"`    // of user entries
	Message   struct {
		ID      string          `json:"id"`      // of assistant entries: one for all blocks of a message
		Content json.RawMessage `json:"content"` // a string, or a list of blocks
	} `json:"message"`
}

// parseEntry reads a line; ok is false for one that is not part of the
// conversation. A field of another type than expected costs no other field.
func parseEntry(line []byte) (entry, bool) {
	var e entry
	err := json.Unmarshal(line, &e)
	if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mistyped {
		return entry{}, false
	}
	return e, e.UUID != "" && !e.Sidechain
}

// text is the first text of the entry.
func (e entry) text() string {
	var s string
	if json.Unmarshal(e.Message.Content, &s) == nil {
		return s
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		if b.Type == "text" {
			return b.Text
		}
	}
	return ""
}

func (e entry) isInterrupt() bool {
	text := e.text()
	return text == interruptMark || text == interruptMarkTool
}

// tail is the end of a transcript.
type tail struct {
	chain []entry // oldest first
	size  int64   // of the whole transcript
}

// newestReply is the last entry that the agent wrote.
func (t tail) newestReply() entry {
	for _, e := range slices.Backward(t.chain) {
		if e.Type == "assistant" {
			return e
		}
	}
	return entry{}
}

// newestPrompt is the id of the newest prompt; tool results carry it too.
func (t tail) newestPrompt() string {
	for _, e := range slices.Backward(t.chain) {
		if e.PromptID != "" {
			return e.PromptID
		}
	}
	return ""
}

// readTail reads the entries in the last tailSize bytes. Lines that are not
// whole (the first may be cut, the last half-written) or no JSON are left out.
func readTail(path string) (tail, error) {
	if path == "" {
		return tail{}, os.ErrNotExist
	}
	// Opening a FIFO would wait for its writer.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return tail{}, errors.Join(errors.New("not a regular file"), err)
	}
	f, err := os.Open(path)
	if err != nil {
		return tail{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return tail{}, err
	}
	t := tail{size: info.Size()}
	start := max(0, t.size-tailSize)
	text, err := io.ReadAll(io.NewSectionReader(f, start, t.size-start))
	if err != nil {
		return tail{}, err
	}
	for line := range bytes.Lines(text) {
		if e, ok := parseEntry(line); ok {
			t.chain = append(t.chain, e)
		}
	}
	return t, nil
}
