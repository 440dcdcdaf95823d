package coder

import (
	"context"
	"errors"
	"sync"

	"github.com/turnback/turnback/internal/coder/tool"
	"github.com/turnback/turnback/internal/coder/ui"
)

// asker asks the person.
type asker func(ctx context.Context, a tool.Ask) (ui.Answer, error)

// permits remembers what the person allowed for this session.
type permits struct {
	all   bool
	ask   asker // nil: there is nobody to ask
	waits func(ctx context.Context, question string)

	mu     sync.Mutex // one question at a time
	always map[string]bool
}

var errNobody = errors.New("there is no terminal to ask the user for permission, so this is not done; the user can start with --yes, which allows everything")

// permit implements tool.Bench.Permit. "Always" is for one tool, and never for
// what reaches out of the work tree.
func (p *permits) permit(ctx context.Context, a tool.Ask) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p.all, p.always[a.Tool] && !a.Outside:
		return nil
	case p.ask == nil:
		return errNobody
	}
	p.waits(ctx, "may I "+a.Line+"?")
	answer, err := p.ask(ctx, a)
	switch {
	case err != nil:
		return err
	case answer == ui.No:
		return tool.ErrDenied
	case answer == ui.Always && !a.Outside:
		if p.always == nil {
			p.always = map[string]bool{}
		}
		p.always[a.Tool] = true
	}
	return nil
}
