package agentstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSinceIsWhenTheStateWasTakenOn(t *testing.T) {
	m, _ := play(t, []moment{claim(Working).second(3), claim(Working).second(9)})
	if !m.Since.Equal(at(3)) || !m.Claimed.Equal(at(9)) {
		t.Errorf("since = %v, claimed = %v", m.Since, m.Claimed)
	}
}

func TestMessageBelongsToTheState(t *testing.T) {
	m, _ := play(t, []moment{claim(NeedsInput).with(says("May I?")), claim(Working)})
	if m.Message != "" {
		t.Errorf("message = %q after the state changed", m.Message)
	}
}

func TestAMessageIsKeptWithItsState(t *testing.T) {
	m, _ := play(t, []moment{claim(NeedsInput).with(says("May I?"))})
	if m.Message != "May I?" {
		t.Errorf("message = %q", m.Message)
	}
	m, _ = play(t, []moment{claim(NeedsInput).with(says("May I?")), claim(NeedsInput)})
	if m.Message != "May I?" {
		t.Errorf("message = %q after the same state was claimed without one", m.Message)
	}
	if r := Restarted(m, at(9)); r.Message != "" || !r.Since.Equal(at(9)) || !r.Claimed.Equal(at(9)) {
		t.Errorf("after a restart: %+v", r)
	}
}

func TestTheFirstClaimSetsSince(t *testing.T) {
	m, _ := play(t, []moment{claim(None).second(4)})
	if !m.Since.Equal(at(4)) {
		t.Errorf("since = %v", m.Since)
	}
}

func TestNothingHeardIsNone(t *testing.T) {
	m, out := Apply(Machine{}, Event{Kind: ToolEnd}, at(1))
	if m.State != None || out.Applied {
		t.Errorf("state %q, applied %v", m.State, out.Applied)
	}
}

func TestWhatWasCoveredIsAsItWas(t *testing.T) {
	moments := []moment{
		claim(Working).with(says("at it")).second(1), by(Screen, NeedsInput).with(output(3)).second(4),
	}
	m, _ := play(t, moments)
	want := &Cover{State: Working, Source: Report, Since: at(1), Message: "at it"}
	if diff := cmp.Diff(want, m.Covered); diff != "" {
		t.Errorf("covered (-want +got):\n%s", diff)
	}
	if r := Restarted(m, at(9)); r.Covered != nil {
		t.Errorf("after a restart %+v is covered", r.Covered)
	}
	m, _ = Apply(m, Event{Kind: Unclaim, Source: Screen}, at(6))
	if m.Covered != nil || m.Message != "at it" || !m.Since.Equal(at(1)) || !m.Claimed.Equal(at(6)) {
		t.Errorf("after that: %+v", m)
	}
}

func TestPromptsAreRememberedByTheirTurn(t *testing.T) {
	m, _ := play(t, []moment{prompt("", "x"), prompt("p1", "One"), notice("p2"), notice("p2"), prompt("p3", "Three")})
	if diff := cmp.Diff([]string{"p3"}, m.PromptIDs); diff != "" {
		t.Errorf("of the newest turn (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"p1", "p2"}, m.OldPrompts); diff != "" {
		t.Errorf("of the turns before (-want +got):\n%s", diff)
	}
}

func TestApplyLeavesItsArgument(t *testing.T) {
	before, _ := play(t, []moment{prompt("p1", "Add"), notice("p2")})
	kept := before
	kept.PromptIDs = append([]string{}, before.PromptIDs...)
	Apply(before, prompt("p3", "Next").e, at(50))
	Apply(before, notice("p4").e, at(50))
	if diff := cmp.Diff(kept, before); diff != "" {
		t.Errorf("the machine changed (-want +got):\n%s", diff)
	}
}

func TestPromptMemoryIsBounded(t *testing.T) {
	var m Machine
	for i := range 100 {
		id := string(rune('a'+i%26)) + string(rune('0'+i/26))
		m, _ = Apply(m, Event{Kind: Prompt, PromptID: id}, at(float64(i)))
		m, _ = Apply(m, Event{Kind: Prompt, PromptID: "n" + id, SameTurn: true}, at(float64(i)))
	}
	if len(m.OldPrompts) > promptMemory || len(m.PromptIDs) > promptMemory {
		t.Errorf("remembers %d old and %d new prompts", len(m.OldPrompts), len(m.PromptIDs))
	}
}

func TestStatesAreValid(t *testing.T) {
	for _, s := range States() {
		if !s.Valid() {
			t.Errorf("%s is not valid", s)
		}
	}
	if Aborted.Valid() || State("").Valid() {
		t.Error("aborted and empty are no states of a window")
	}
}
