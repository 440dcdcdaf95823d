package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/turnback/turnback/conversation"
)

// Type says what an entry is.
type Type string

// The types of entries, with the field that each has.
const (
	TypeMessage    Type = "message"        // Message
	TypeRewind     Type = "branch_summary" // Rewind: what a left branch came to, on the entry that the rewind goes back to
	TypeCompaction Type = "compaction"     // Compaction
	TypeCustom     Type = "custom"         // Custom, Data
	TypeLeaf       Type = "leaf"           // Target: the branch is the one through that entry from here on

	typeHeader Type = "session"
)

// Version is of the file's form. A file of a later version is not opened.
const Version = 1

// Names of custom entries. Others are the host's own.
const (
	CustomCleared = "checkpoint_cleared" // {"id": call of the checkpoint}: aborted or abandoned
	CustomSaved   = "checkpoint_saved"   // {"id": call of the checkpoint, "number": work-tree checkpoint}
	CustomUsage   = "usage"              // {"bytes_before", "bytes_after", "tokens"} of a request
)

// Entry is a line of the file behind the header.
type Entry struct {
	ID       string `json:"id"`
	ParentID string `json:"parentId"` // empty at the beginning of the conversation
	Type     Type   `json:"type"`
	Time     string `json:"timestamp"` // see [conversation.Timestamp]

	Message    *Message        `json:"message,omitempty"`
	Rewind     *Rewind         `json:"rewind,omitempty"`
	Compaction *Compaction     `json:"compaction,omitempty"`
	Custom     string          `json:"custom,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	Target     string          `json:"targetId,omitempty"` // empty: before the first entry
}

// Rewind stands for the branch that a rewind left.
type Rewind struct {
	FromID     string    `json:"fromId"`   // the leaf that was left; its branch can be gone back to
	RewindID   string    `json:"rewindId"` // entry with the call of the rewind
	CallID     string    `json:"call"`     // of the rewind
	Checkpoint string    `json:"checkpoint"`
	Goal       string    `json:"goal"`
	Report     string    `json:"report"`
	Facts      string    `json:"facts,omitempty"`
	Said       []string  `json:"said,omitempty"` // uncut
	StartedAt  string    `json:"startedAt"`
	RewoundAt  string    `json:"rewoundAt"`
	Kept       []Message `json:"kept,omitempty"` // what stays of the span, in order
}

// Compaction puts a summary in the place of what came before an entry.
type Compaction struct {
	Summary   string `json:"summary"`
	FirstKept string `json:"firstKept,omitempty"` // entry; empty: nothing before the compaction is kept
	Tokens    int    `json:"tokens,omitempty"`    // of the context before
	// Goal is that of the checkpoint that is open; the model is told so again.
	Goal string `json:"goal,omitempty"`
}

// Header is the first line of a file.
type Header struct {
	Type    Type   `json:"type"`
	Version int    `json:"version"`
	ID      string `json:"id"`
	Cwd     string `json:"cwd"`
	Time    string `json:"timestamp"`
	// Origin of a fork.
	ParentSession string `json:"parentSession,omitempty"`
	ParentEntry   string `json:"parentEntry,omitempty"`
}

type callData struct {
	ID     string `json:"id"`
	Number int    `json:"number,omitempty"`
}

// encode gives a value as a line. Texts are as they are: nothing is escaped that
// need not be.
func encode(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return line.Bytes(), err
}

// check says what an entry lacks to be one, whatever else the file has. Types
// that are not known are let be: a later version may write them.
func (e *Entry) check() error {
	if e.ID == "" {
		return errors.New("it has no id")
	}
	if missing := map[Type]bool{
		"":             true,
		TypeMessage:    e.Message == nil,
		TypeRewind:     e.Rewind == nil,
		TypeCompaction: e.Compaction == nil,
		TypeCustom:     e.Custom == "",
	}[e.Type]; missing {
		return fmt.Errorf("an entry of the type %q has nothing in it", e.Type)
	}
	return nil
}

// at is when an entry was made; the zero time when it does not say.
func (e *Entry) at() time.Time { return parseTime(e.Time) }

func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

func stamp(t time.Time) string { return conversation.Timestamp(t) }
