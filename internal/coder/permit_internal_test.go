package coder

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/coder/tool"
	"github.com/turnback/turnback/internal/coder/ui"
)

// person gives answers in their order, and notes what they were asked.
type person struct {
	answers []ui.Answer
	asked   []string
}

func (p *person) ask(_ context.Context, a tool.Ask) (ui.Answer, error) {
	p.asked = append(p.asked, a.Line)
	answer := p.answers[0]
	p.answers = p.answers[1:]
	return answer, nil
}

func TestWhatThePersonAllows(t *testing.T) {
	inside, other := tool.Ask{Tool: "write", Line: "inside"}, tool.Ask{Tool: "bash", Line: "other"}
	outside := tool.Ask{Tool: "write", Line: "outside", Outside: true}
	someone := &person{answers: []ui.Answer{ui.No, ui.Yes, ui.Always, ui.Always, ui.No, ui.No}}
	waits := 0
	p := &permits{ask: someone.ask, waits: func(context.Context, string) { waits++ }}
	for i, step := range []struct {
		ask  tool.Ask
		want error
	}{
		{inside, tool.ErrDenied},
		{inside, nil},             // this once
		{outside, nil},            // an always about the outside is one yes
		{inside, nil},             // asked again, and now always
		{inside, nil},             // not asked
		{other, tool.ErrDenied},   // of another tool
		{outside, tool.ErrDenied}, // never without asking
	} {
		if err := p.permit(t.Context(), step.ask); !errors.Is(err, step.want) {
			t.Errorf("step %d, %s: %v, want %v", i, step.ask.Line, err, step.want)
		}
	}
	if got, want := strings.Join(someone.asked, " "), "inside inside outside inside other outside"; got != want {
		t.Errorf("asked about %s, want %s", got, want)
	}
	if waits != len(someone.asked) {
		t.Errorf("%d questions were told, of %d", waits, len(someone.asked))
	}
}

func TestNobodyAllowsNothing(t *testing.T) {
	if err := (&permits{}).permit(t.Context(), tool.Ask{Tool: "write"}); !errors.Is(err, errNobody) {
		t.Errorf("error %v", err)
	}
	if err := (&permits{all: true}).permit(t.Context(), tool.Ask{Tool: "write", Outside: true}); err != nil {
		t.Errorf("with all allowed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&permits{all: true}).permit(ctx, tool.Ask{Tool: "write"}); !errors.Is(err, context.Canceled) {
		t.Errorf("after an abort: %v", err)
	}
}
