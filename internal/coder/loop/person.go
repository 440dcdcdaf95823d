package loop

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
)

// Rewind closes the open checkpoint for the person, with files also their state.
// It is a rewind like the model's: the call of it is on the branch that is left.
// On an error nothing has changed.
func (a *Agent) Rewind(ctx context.Context, report string, files bool) error {
	state := a.o.Session.State()
	call := session.Part{
		Kind: session.KindCall, CallID: "person_" + rand.Text(), Name: string(conversation.ToolRewind), Arguments: "{}",
	}
	probe := *state
	c := conversation.Call{ID: call.CallID, Text: report, At: a.o.Now()}
	r, err := a.rewind(ctx, &probe, c, files)
	if err != nil {
		return err
	}
	message := session.Message{Role: session.RoleAssistant, Model: "person", Parts: []session.Part{call}}
	if _, err := a.o.Session.Append(message); err != nil {
		return err
	}
	if _, err := state.Rewind(c); err != nil {
		return fmt.Errorf("rewind: %w", err)
	}
	if _, err := a.o.Session.Append(session.Results(session.Answer(call.CallID, r, nil))); err != nil {
		return err
	}
	return a.takeDue()
}

// Abandon closes the open checkpoint without a report. It returns its goal; empty
// when none was open.
func (a *Agent) Abandon() (string, error) {
	open, err := a.o.Session.Abandon()
	if err != nil || open == nil {
		return "", err
	}
	return open.Goal, nil
}

// Open is the open checkpoint; nil when none is.
func (a *Agent) Open() *conversation.Open { return a.o.Session.State().Open }
