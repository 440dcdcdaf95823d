package conversation_test

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/turnback/turnback/conversation"
	"pgregory.net/rapid"
)

// life is a conversation that is lived through, with the history that it leaves.
type life struct {
	state   conversation.State
	history []conversation.Event
	calls   int
}

func (l *life) tell(e conversation.Event) { l.history = append(l.history, e) }

func (l *life) call(text string) conversation.Call {
	l.calls++
	return call("call"+strconv.Itoa(l.calls), text)
}

func (l *life) checkpoint(goal string) {
	c := l.call(goal)
	if got, err := l.state.Checkpoint(c); err == nil {
		l.tell(conversation.Event{Kind: conversation.EventOpened, CallID: c.ID, Text: got.Details.(conversation.CheckpointDetails).Goal, At: c.At})
	}
}

func (l *life) rewind(report string) {
	c := l.call(report)
	if got, err := l.state.Rewind(c); err == nil {
		l.tell(conversation.Event{Kind: conversation.EventReported, CallID: c.ID, Text: got.Details.(conversation.RewindDetails).Report})
	}
}

func (l *life) endBatch() {
	b := conversation.Boundary{Messages: len(l.history)}
	due := l.state.BatchEnded(b)
	l.tell(conversation.Event{Kind: conversation.EventBatchEnded, Boundary: b})
	if due != nil {
		l.state.Rewound(*due)
		l.tell(conversation.Event{Kind: conversation.EventRewound, Report: *due})
	}
}

func (l *life) clear(was *conversation.Open) {
	if was != nil {
		l.tell(conversation.Event{Kind: conversation.EventCleared, CallID: was.CallID})
	}
}

func (l *life) settle() {
	if text := l.state.Guard(conversation.Settled{}).Reminder; text != "" {
		l.state.Reminded()
		l.tell(conversation.Event{Kind: conversation.EventPrompted, Text: text})
	}
}

func (l *life) compact(carried bool) {
	l.state.Compacted(carried)
	l.tell(conversation.Event{Kind: conversation.EventCompacted, Carried: carried})
}

func (l *life) prompt(text string) {
	l.state.Prompted(text)
	l.tell(conversation.Event{Kind: conversation.EventPrompted, Text: text})
}

// What a history tells is what was lived through, after each step of it.
func TestDerivedIsLived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l life
		text := rapid.SampledFrom([]string{"", " ", "look", "look closer\n"})
		t.Repeat(map[string]func(*rapid.T){
			"checkpoint": func(t *rapid.T) { l.checkpoint(text.Draw(t, "goal")) },
			"rewind":     func(t *rapid.T) { l.rewind(text.Draw(t, "report")) },
			"end batch":  func(*rapid.T) { l.endBatch() },
			"settle":     func(*rapid.T) { l.settle() },
			"prompt":     func(*rapid.T) { l.prompt("and now?") },
			"task":       func(*rapid.T) { l.prompt("<task-notification>done</task-notification>") },
			"abort":      func(t *rapid.T) { l.clear(l.state.Aborted(rapid.Bool().Draw(t, "keep"))) },
			"abandon":    func(*rapid.T) { l.clear(l.state.Abandoned()) },
			"compact":    func(t *rapid.T) { l.compact(rapid.Bool().Draw(t, "carried")) },
			"": func(t *rapid.T) {
				if got := conversation.Derive(l.history); !reflect.DeepEqual(got, l.state) {
					t.Fatalf("derived %+v, lived %+v", got, l.state)
				}
				if s := l.state; s.Reminders > conversation.MaxReminders || s.Pending != nil && s.Pending.Checkpoint != s.Open.CallID {
					t.Fatalf("impossible: %+v", s)
				}
			},
		})
	})
}
