package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
)

// ErrAborted says that the person ended the turn.
var ErrAborted = errors.New("the turn was aborted")

// restTime is how long the end of a turn may take to be told, behind an abort too.
const restTime = 5 * time.Second

// Turn takes a prompt of the person and returns when the model rests. When ctx
// ends the turn is aborted: what was done is kept, and the error is ErrAborted.
// Other errors are a provider's, or of the session file.
func (a *Agent) Turn(ctx context.Context, prompt string) error {
	entry, err := a.o.Session.Append(session.UserMessage(prompt))
	if err != nil {
		return err
	}
	a.shortened, a.last = false, ""
	if n := utf8.RuneCountInString(prompt); n > session.MaxText {
		a.note("The prompt is cut: a text of a conversation has at most %d characters, and it has %d.", session.MaxText, n)
	}
	if note := a.o.Report.Prompt(ctx, entry.ID, prompt); note != "" {
		if _, err := a.o.Session.Append(session.HostMessage(a.o.Model.ReminderRole(), note)); err != nil {
			return err
		}
	}
	err = a.run(ctx)
	how, said := Done, a.last
	switch {
	case ctx.Err() != nil:
		how, err = Aborted, errors.Join(ErrAborted, a.aborted())
	case err != nil:
		how, said = Failed, err.Error()
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), restTime)
	defer cancel()
	a.o.Report.Rest(last, how, said, a.o.Session.Leaf())
	return err
}

// aborted clears an open checkpoint, and says so.
func (a *Agent) aborted() error {
	open, err := a.o.Session.Abort(a.o.KeepOnAbort)
	if err != nil {
		return err
	}
	if open != nil {
		a.note("The checkpoint %q was cleared: the turn was aborted.", open.Goal)
	}
	return nil
}

func (a *Agent) note(format string, args ...any) {
	a.face.with(func(f Face) { f.Note(fmt.Sprintf(format, args...)) })
}

// run is the loop of a turn.
func (a *Agent) run(ctx context.Context) error {
	if err := a.takeDue(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		a.compactWhenFull(ctx)
		reply, err := a.ask(ctx)
		if err != nil {
			return err
		}
		if calls := reply.Message.Calls(); len(calls) > 0 {
			if err := a.batch(ctx, calls); err != nil {
				return err
			}
			continue
		}
		if reply.Declined {
			return provider.Declined(reply)
		}
		if reply.CutShort {
			a.note("The answer was cut: it reached the length that the model may give.")
		}
		goesOn, err := a.guard()
		switch {
		case err != nil:
			return err
		case !goesOn && reply.Message.JoinedText() == "":
			return provider.Empty(reply)
		case !goesOn:
			return nil
		}
	}
	return ctx.Err()
}

// guard reminds a model that would rest with a checkpoint open. True: the model
// goes on.
func (a *Agent) guard() (bool, error) {
	state := a.o.Session.State()
	g := state.Guard(conversation.Settled{})
	if g.Tell {
		a.note("The checkpoint %q is still open: the model rests without a rewind. /rewind REPORT or /abandon closes it.", state.Open.Goal)
	}
	if g.Reminder == "" {
		return false, nil
	}
	_, err := a.o.Session.Append(session.HostMessage(a.o.Model.ReminderRole(), g.Reminder))
	return err == nil, err
}

// ask gets the next message of the model and keeps it, as far as it has come.
func (a *Agent) ask(ctx context.Context) (provider.Reply, error) {
	reply, err := a.answer(ctx)
	if provider.IsKind(err, provider.KindSignature) && a.stripped == 0 {
		if err := a.strip(); err != nil {
			return reply, err
		}
		reply, err = a.answer(ctx)
	}
	if provider.IsKind(err, provider.KindTooLong) && !a.shortened {
		if cerr := a.Compact(ctx); cerr != nil {
			return reply, errors.Join(err, cerr)
		}
		reply, err = a.answer(ctx)
	}
	a.ownIDs(&reply.Message)
	if len(reply.Message.Parts) > 0 {
		if _, kerr := a.o.Session.Append(reply.Message); kerr != nil {
			return reply, errors.Join(err, kerr)
		}
		if text := reply.Message.JoinedText(); text != "" {
			a.last = text
		}
	}
	if err != nil {
		return reply, err
	}
	return reply, a.used(reply)
}

func (a *Agent) answer(ctx context.Context) (provider.Reply, error) {
	return a.o.Model.Answer(ctx, a.request(), func(text string) { a.face.with(func(f Face) { f.Said(text) }) })
}

// request is what the model is asked now.
func (a *Agent) request() provider.Request {
	messages := a.o.Session.Context()
	if n := min(a.stripped, len(messages)); n > 0 {
		messages = append(provider.WithoutOpaque(messages[:n]), messages[n:]...)
	}
	r := provider.Request{System: a.o.System, Messages: messages}
	loaded := loadedTools(messages)
	for _, t := range a.tools {
		// A model that has to rewind can do so, also behind a compaction.
		if !t.Hidden || loaded[t.Name] || a.Open() != nil {
			r.Tools = append(r.Tools, t.Tool)
		}
	}
	return r
}

// loadedTools are those that find_tools has found in this conversation.
func loadedTools(messages []session.Message) map[string]bool {
	loaded := map[string]bool{}
	for _, m := range messages {
		for _, p := range m.Parts {
			for _, name := range p.Loads {
				loaded[name] = true
			}
		}
	}
	return loaded
}

const noteStripped = "signatures_stripped"

type strippedData struct {
	Messages int `json:"messages"`
}

// strip leaves out the signed blocks of all messages so far from now on: the
// provider has refused one.
func (a *Agent) strip() error {
	a.stripped = len(a.o.Session.Context())
	a.note("The provider has refused a signed block of an earlier message. Earlier reasoning is no longer sent.")
	_, err := a.o.Session.Note(noteStripped, strippedData{a.stripped})
	return err
}

func strippedOf(s *session.Session) int {
	for _, e := range slices.Backward(s.Branch()) {
		if e.Type == session.TypeCustom && e.Custom == noteStripped {
			return min(numberOf(e.Data, "messages"), len(s.Context()))
		}
	}
	return 0
}

// takeDue takes a rewind whose batch has ended.
func (a *Agent) takeDue() error {
	if a.o.Session.Due() == nil {
		return nil
	}
	e, err := a.o.Session.Rewind()
	if err != nil {
		return fmt.Errorf("rewind: %w", err)
	}
	a.stripped = min(a.stripped, len(a.o.Session.Context()))
	a.forget()
	a.face.with(func(f Face) { f.Reported(*e.Rewind) })
	return nil
}

// forget has the tools forget what is no longer in the conversation.
func (a *Agent) forget() {
	calls := map[string]bool{}
	for _, m := range a.o.Session.Context() {
		for _, p := range m.Parts {
			if p.Kind == session.KindResult {
				calls[p.CallID] = true
			}
		}
	}
	a.o.Bench.Shown.Keep(calls)
}
