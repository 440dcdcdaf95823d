package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
)

// fullAt is how full the model's window may be, in percent, before the
// conversation is made shorter.
const fullAt = 80

const summaryPrompt = "Write a summary of this conversation so far, for yourself: it takes the place of what it summarises. " +
	"Hold on to what the user asked for and decided, what was found out, which files were changed and how, and what is still to do. Call no tools. Answer with the summary alone."

// usageData is a note of what a request cost.
type usageData struct {
	BytesBefore int   `json:"bytes_before"` // of the request, had nothing been rewound
	BytesAfter  int   `json:"bytes_after"`  // of the request as it was sent
	Tokens      int64 `json:"tokens"`       // of the whole request, by the provider's count
}

// used keeps what a request cost.
func (a *Agent) used(reply provider.Reply) error {
	a.tokens = int(reply.Usage.Input + reply.Usage.Output)
	saved, err := a.savedBytes()
	if err != nil {
		return err
	}
	before := reply.Bytes + saved
	a.face.with(func(f Face) { f.Used(reply.Usage, before, reply.Bytes) })
	_, err = a.o.Session.Note(session.CustomUsage, usageData{before, reply.Bytes, reply.Usage.Input})
	return err
}

// savedBytes is how many bytes the rewinds of the branch keep out of a request. A
// rewind in front of a compaction saves nothing any more.
func (a *Agent) savedBytes() (int, error) {
	total := 0
	for _, e := range a.o.Session.Branch() {
		switch e.Type {
		case session.TypeCompaction:
			total = 0
		case session.TypeRewind:
			n, err := a.savedBy(e)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}

func (a *Agent) savedBy(e *session.Entry) (int, error) {
	if n, known := a.left[e.ID]; known {
		return n, nil
	}
	var gone []session.Message
	for at := a.o.Session.Entry(e.Rewind.FromID); at != nil && at.ID != e.ParentID; at = a.o.Session.Entry(at.ParentID) {
		if at.Type == session.TypeMessage {
			gone = append(gone, *at.Message)
		}
	}
	slices.Reverse(gone)
	before, err := a.o.Model.Size(gone)
	if err != nil {
		return 0, fmt.Errorf("measure what was rewound: %w", err)
	}
	frame := conversation.Frame{Report: e.Rewind.Report, Facts: e.Rewind.Facts, Said: e.Rewind.Said}.String()
	after, err := a.o.Model.Size(append(slices.Clone(e.Rewind.Kept), session.UserMessage(frame)))
	if err != nil {
		return 0, fmt.Errorf("measure what was rewound: %w", err)
	}
	a.left[e.ID] = before - after
	return before - after, nil
}

// compactWhenFull makes the conversation shorter when the window is nearly full.
func (a *Agent) compactWhenFull(ctx context.Context) {
	if a.o.Window <= 0 || a.tokens*100 < a.o.Window*fullAt {
		return
	}
	if err := a.Compact(ctx); err != nil && ctx.Err() == nil {
		a.note("The conversation could not be made shorter: %v", err)
		a.tokens = 0 // not again before the next answer
	}
}

// Compact puts a summary by the model in the place of the conversation before the
// newest prompt. An open checkpoint stays open, with its boundary.
func (a *Agent) Compact(ctx context.Context) error {
	request := a.request()
	if len(request.Messages) == 0 {
		return nil
	}
	request.Messages = append(slices.Clip(request.Messages), session.HostMessage(session.RoleUser, summaryPrompt))
	reply, err := a.o.Model.Answer(ctx, request, func(string) {})
	if err != nil {
		return fmt.Errorf("summarise: %w", err)
	}
	summary := reply.Message.JoinedText()
	if summary == "" {
		return errors.New("summarise: the model gave no text")
	}
	tokens := int(reply.Usage.Input)
	if _, err := a.o.Session.Compact(session.Compaction{Summary: summary, FirstKept: a.firstKept(), Tokens: tokens}); err != nil {
		return err
	}
	a.shortened, a.stripped, a.tokens = true, 0, 0
	a.forget()
	a.face.with(func(f Face) { f.Compacted(tokens) })
	return nil
}

// firstKept is the entry of the newest prompt when what follows it is the smaller
// part of the conversation; else nothing is kept whole.
func (a *Agent) firstKept() string {
	branch := a.o.Session.Branch()
	last := -1
	for i, e := range branch {
		if e.Type == session.TypeMessage && e.Message.Role == session.RoleUser && e.Message.Origin == session.FromPerson {
			last = i
		}
	}
	if last <= 0 || 3*a.sizeOf(branch[last:]) > a.sizeOf(branch) {
		return ""
	}
	return branch[last].ID
}

func (a *Agent) sizeOf(entries []*session.Entry) int {
	var messages []session.Message
	for _, e := range entries {
		if e.Type == session.TypeMessage {
			messages = append(messages, *e.Message)
		}
	}
	n, err := a.o.Model.Size(messages)
	if err != nil {
		return 0
	}
	return n
}
