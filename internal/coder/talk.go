package coder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/coder/loop"
	"github.com/turnback/turnback/internal/coder/ui"
)

const help = `/help              this
/model [NAME]      the model, or another one: PROVIDER/NAME
/compact           put a summary in the place of the conversation so far
/rewind REPORT     close the open checkpoint with a report of yours
/rewind --files    the same, and put the files back as they were at the checkpoint
/abandon           close the open checkpoint without a report
/session           where this conversation is kept
/quit              leave
Esc or Ctrl-C ends a turn; what was done is kept. At the prompt Ctrl-C empties the
line. A text that is pasted is one prompt, whatever lines it has.
`

// talk is an interactive session.
type talk struct {
	o       Options
	agent   *loop.Agent
	session *session.Session
	console *ui.Console
}

func (o Options) interactive(ctx context.Context, a *loop.Agent, s *session.Session, c *ui.Console) error {
	t := &talk{o, a, s, c}
	for ctx.Err() == nil {
		line, err := c.Line()
		if errors.Is(err, ui.ErrLeft) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		left, err := t.take(ctx, line)
		if err != nil && !errors.Is(err, loop.ErrAborted) {
			t.failed(err)
		}
		if left {
			break
		}
	}
	return ctx.Err()
}

// failed tells an error, and what to do.
func (t *talk) failed(err error) {
	e := api.AsError(told(err))
	text := e.Message
	if e.Hint != nil && e.Hint.Detail != "" {
		text += " (" + e.Hint.Detail + ")"
	}
	t.console.Note(text)
}

// take does what a line asks for; left: the person leaves.
func (t *talk) take(ctx context.Context, line string) (left bool, err error) {
	command, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch command {
	case "/help", "/?":
		t.say(help)
	case "/quit", "/exit":
		return true, nil
	case "/model":
		return false, t.model(rest)
	case "/session":
		t.say(t.session.ID() + "\n" + t.session.Path() + "\n")
	case "/abandon":
		return false, t.abandon()
	case "/compact":
		return t.console.During(ctx, t.agent.Compact)
	case "/rewind":
		return t.console.During(ctx, func(ctx context.Context) error { return t.rewind(ctx, rest) })
	default:
		if strings.HasPrefix(command, "/") && !strings.Contains(command[1:], "/") {
			t.console.Note("there is no " + command + "; /help lists what there is")
			return false, nil
		}
		return t.console.During(ctx, func(ctx context.Context) error {
			err := t.agent.Turn(ctx, line)
			if errors.Is(err, loop.ErrAborted) {
				t.console.Note("the turn was aborted; what was done is kept")
			}
			return err
		})
	}
	return false, nil
}

func (t *talk) say(text string) { _, _ = io.WriteString(t.console.About, text) }

func (t *talk) model(name string) error {
	if name == "" {
		t.say(t.agent.Model().Name() + "\n")
		return nil
	}
	m, err := t.o.modelsOf(t.session).pick(name)
	if err != nil {
		return err
	}
	t.agent.SetModel(m.model, m.window)
	return nil
}

func (t *talk) abandon() error {
	goal, err := t.agent.Abandon()
	if err != nil {
		return err
	}
	if goal == "" {
		t.say("No checkpoint is open.\n")
		return nil
	}
	t.say(fmt.Sprintf("The checkpoint %q is closed without a report.\n", goal))
	return nil
}

func (t *talk) rewind(ctx context.Context, rest string) error {
	first, report, _ := strings.Cut(rest, " ")
	files := first == "--files"
	if !files {
		report = rest
	}
	report = strings.TrimSpace(report)
	if report == "" {
		report = "The user rewound to the checkpoint. Nothing is reported of what was explored."
	}
	return t.agent.Rewind(ctx, report, files)
}
