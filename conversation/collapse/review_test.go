package collapse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

// exploring is a step that reads something; what it gives is named by the id.
func exploring(id string, typed ...string) step {
	return step{calls: []generatedCall{{kind: explore, id: id, ok: true}}, typed: typed}
}

func opening(id string) step {
	return step{calls: []generatedCall{{kind: opens, id: id, ok: true}}}
}

func closing(id string) step {
	return step{calls: []generatedCall{{kind: closes, id: id, ok: true}}}
}

// sentOf is what is sent of steps, in each provider's form, with what else has to
// hold of it.
func sentOf(t *testing.T, steps []step, check func(t *testing.T, sent string)) {
	t.Helper()
	for _, p := range providers() {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			t.Parallel()
			checkSteps(t, p, steps)
			check(t, string(collapse.Collapse(p, conversation.OtherAgent, bodyOf(p, render(p, steps, false))).Body))
		})
	}
}

func wants(t *testing.T, sent string, stays, gone []string) {
	t.Helper()
	for _, text := range stays {
		if strings.Count(sent, text) != 1 {
			t.Errorf("%q is there %d times:\n%s", text, strings.Count(sent, text), sent)
		}
	}
	for _, text := range gone {
		if strings.Contains(sent, text) {
			t.Errorf("%q is still there:\n%s", text, sent)
		}
	}
}

// Agents load the instructions of a folder once, with the first read in it: lost
// with a span, they would never come again.
func TestNestedInstructionsReadInASpanAreStillSent(t *testing.T) {
	t.Parallel()
	steps := []step{
		{prompt: []string{"why?"}},
		opening("c1"),
		exploring("r1", "Contents of sub/CLAUDE.md: NESTED-RULES"),
		closing("w1"),
		{said: "It is sub/a.go."},
		{prompt: []string{"NEXT"}},
		exploring("r2"),
	}
	sentOf(t, steps, func(t *testing.T, sent string) {
		wants(t, sent, []string{"NESTED-RULES", "report of w1;", "result of r2;"}, []string{"result of r1;"})
	})
}

// The newest checkpoint is closed; what was explored behind an older one that was
// never closed is plain history.
func TestAnUnclosedCheckpointOfAnEarlierTurnSwallowsNothing(t *testing.T) {
	t.Parallel()
	steps := []step{
		{prompt: []string{"first turn"}},
		opening("c1"),
		exploring("r1"),
		{said: "ANSWER-ONE"},
		{prompt: []string{"second turn"}},
		opening("c2"),
		exploring("r2"),
		closing("w2"),
		{said: "ANSWER-TWO"},
	}
	sentOf(t, steps, func(t *testing.T, sent string) {
		wants(t, sent, []string{"result of r1;", "ANSWER-ONE", "second turn", "report of w2;", "ANSWER-TWO"}, []string{"result of r2;"})
		if strings.Index(sent, "goal of c2;") > strings.Index(sent, "report of w2;") {
			t.Error("the report is with another checkpoint than the one that it closes")
		}
	})
}

// What was called together with the checkpoint, before or behind it, belongs
// before the span.
func TestTheBoundaryIsTheEndOfAParallelBatch(t *testing.T) {
	t.Parallel()
	steps := []step{
		{prompt: []string{"why?"}},
		{calls: []generatedCall{{kind: explore, id: "s1", ok: true}, {kind: opens, id: "c1", ok: true}, {kind: explore, id: "s2", ok: true}}},
		exploring("r1"),
		{calls: []generatedCall{{kind: explore, id: "r2", ok: true}, {kind: explore, id: "r3", ok: true}}},
		closing("w1"),
		{said: "END"},
	}
	sentOf(t, steps, func(t *testing.T, sent string) {
		wants(t, sent, []string{"result of s1;", "result of s2;", "report of w1;", "END"}, []string{"result of r1;", "result of r2;", "result of r3;"})
	})
}
