package conversation_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation"
)

var start = time.Date(2026, 11, 30, 9, 8, 7, 6_543_210, time.FixedZone("", 3600))

func call(id, text string) conversation.Call {
	return conversation.Call{ID: id, Text: text, At: start}
}

func subagent(id, text string) conversation.Call {
	c := call(id, text)
	c.Subagent = true
	return c
}

// opened is a conversation in which a checkpoint of this call is open.
func opened(t *testing.T, id string) *conversation.State {
	t.Helper()
	s := new(conversation.State)
	open(t, s, id)
	return s
}

func open(t *testing.T, s *conversation.State, id string) {
	t.Helper()
	if _, err := s.Checkpoint(call(id, "goal of "+id)); err != nil {
		t.Fatal(err)
	}
	if due := s.BatchEnded(conversation.Boundary{EntryID: "after " + id, Messages: 3}); due != nil {
		t.Fatalf("a report is due after a checkpoint: %+v", due)
	}
}

// rewind closes the open checkpoint by a rewind that is alone in its batch.
func rewind(t *testing.T, s *conversation.State, id string) conversation.Report {
	t.Helper()
	if _, err := s.Rewind(call(id, "report of "+id)); err != nil {
		t.Fatal(err)
	}
	due := s.BatchEnded(conversation.Boundary{})
	if due == nil {
		t.Fatal("no report is due after a rewind")
	}
	s.Rewound(*due)
	return *due
}

func refuses(t *testing.T, err error, want conversation.Refusal) {
	t.Helper()
	var got conversation.Refusal
	if !errors.As(err, &got) || got != want {
		t.Errorf("answer: %v; want the refusal %q", err, want)
	}
}

func TestCheckpointAnswers(t *testing.T) {
	var s conversation.State
	got, err := s.Checkpoint(call("c1", "  find the leak\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := "Checkpoint created.\nGoal: find the leak\nRun your investigation, then call rewind with a concise report."
	if !reflect.DeepEqual(got.Texts, []string{text}) {
		t.Errorf("texts: %q", got.Texts)
	}
	details, _ := json.Marshal(got.Details)
	if want := `{"goal":"find the leak","startedAt":"2026-11-30T08:08:07.006Z"}`; string(details) != want {
		t.Errorf("details: %s, want %s", details, want)
	}
}

func TestRewindAnswers(t *testing.T) {
	got, err := opened(t, "c1").Rewind(call("r1", "\n it was a.go \n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Rewind requested.\nReport captured for context replacement."}; !reflect.DeepEqual(got.Texts, want) {
		t.Errorf("texts: %q", got.Texts)
	}
	details, _ := json.Marshal(got.Details)
	if want := `{"report":"it was a.go","rewound":true}`; string(details) != want {
		t.Errorf("details: %s, want %s", details, want)
	}
}

// Each refusal, with all those that come behind it holding as well where that
// can be.
func TestRefusals(t *testing.T) {
	none := func(*testing.T) *conversation.State { return new(conversation.State) }
	open := func(t *testing.T) *conversation.State { return opened(t, "c1") }
	lost := func(t *testing.T) *conversation.State {
		s := opened(t, "c1")
		s.Compacted(false)
		return s
	}
	completed := func(t *testing.T) *conversation.State {
		s := opened(t, "c1")
		rewind(t, s, "r1")
		return s
	}
	sameBatch := func(t *testing.T) *conversation.State {
		s := completed(t)
		if _, err := s.Checkpoint(call("c2", "again")); err != nil {
			t.Fatal(err)
		}
		return s
	}
	requested := func(t *testing.T) *conversation.State {
		s := opened(t, "c1")
		if _, err := s.Rewind(call("r1", "report")); err != nil {
			t.Fatal(err)
		}
		return s
	}
	type tool = func(*conversation.State, conversation.Call) (conversation.Result, error)
	const tooLong = conversation.MaxReport + 1
	checkpoint, rewind := (*conversation.State).Checkpoint, (*conversation.State).Rewind
	for name, c := range map[string]struct {
		state func(*testing.T) *conversation.State
		tool  tool
		call  conversation.Call
		want  conversation.Refusal
	}{
		"checkpoint in a subagent":                {open, checkpoint, subagent("c2", ""), conversation.ErrCheckpointInSubagent},
		"checkpoint inside another":               {open, checkpoint, call("c2", ""), conversation.ErrCheckpointActive},
		"second checkpoint in one batch":          {sameBatch, checkpoint, call("c3", "g"), conversation.ErrCheckpointActive},
		"checkpoint in the batch of the rewind":   {requested, checkpoint, call("c3", "g"), conversation.ErrCheckpointActive},
		"checkpoint without a goal":               {none, checkpoint, call("c1", " \n\t"), conversation.ErrGoalEmpty},
		"rewind in a subagent":                    {lost, rewind, subagent("r2", ""), conversation.ErrRewindInSubagent},
		"rewind after a compaction":               {lost, rewind, call("r2", ""), conversation.ErrLost},
		"B133 rewind after a rewind":              {completed, rewind, call("r2", ""), conversation.ErrAlreadyCompleted},
		"B133 second rewind in one batch":         {requested, rewind, call("r2", "other"), conversation.ErrAlreadyCompleted},
		"rewind without a checkpoint":             {none, rewind, call("r1", ""), conversation.ErrNoCheckpoint},
		"rewind in the batch of the checkpoint":   {sameBatch, rewind, call("r2", ""), conversation.ErrNoCheckpoint},
		"rewind without a report":                 {open, rewind, call("r1", " \n"), conversation.ErrReportEmpty},
		"rewind with a report that has no end":    {open, rewind, call("r1", strings.Repeat("é", tooLong)), conversation.ErrReportTooLong},
		"checkpoint in a subagent, nothing open":  {none, checkpoint, subagent("c1", "g"), conversation.ErrCheckpointInSubagent},
		"rewind in a subagent with one open":      {open, rewind, subagent("r1", "r"), conversation.ErrRewindInSubagent},
		"rewind in a subagent, nothing ever open": {none, rewind, subagent("r1", "r"), conversation.ErrRewindInSubagent},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.state(t)
			before, _ := json.Marshal(s)
			_, err := c.tool(s, c.call)
			refuses(t, err, c.want)
			if after, _ := json.Marshal(s); string(after) != string(before) {
				t.Errorf("a refused call changed the state from %s to %s", before, after)
			}
		})
	}
}

func TestAReportOfTheLongestLength(t *testing.T) {
	report := "\n" + strings.Repeat("é", conversation.MaxReport) + "\n"
	if _, err := opened(t, "c1").Rewind(call("r1", report)); err != nil {
		t.Error(err)
	}
}

func TestB133RewindTwice(t *testing.T) {
	s := opened(t, "c1")
	first := rewind(t, s, "r1")
	_, err := s.Rewind(call("r2", "report 2"))
	refuses(t, err, conversation.ErrAlreadyCompleted)
	if due := s.BatchEnded(conversation.Boundary{}); due != nil {
		t.Errorf("the refused rewind has a report: %+v", due)
	}
	if s.Completed == nil || *s.Completed != first {
		t.Errorf("the retained report is %+v, want %+v", s.Completed, first)
	}
}

func TestB134AReportClosesItsOwnCheckpointAlone(t *testing.T) {
	s := opened(t, "c1")
	old := rewind(t, s, "r1")
	open(t, s, "c2")
	if s.Pending != nil || s.Completed != nil {
		t.Errorf("an opened checkpoint has a report of before: %+v", s)
	}
	s.Rewound(old)
	s.Reported("r1", old.Text) // as a history that is read again may tell
	if s.Open == nil || s.Open.CallID != "c2" {
		t.Errorf("the report of the first closed the second: %+v", s)
	}
	s = opened(t, "c2")
	s.Rewound(old)
	if s.Open == nil {
		t.Error("a report closed a checkpoint that it does not name")
	}
}

func TestOpeningClearsAPendingReport(t *testing.T) {
	s := opened(t, "c1")
	s.Reported("r1", "report")
	s.Opened("c2", "next", start)
	if s.Pending != nil || s.BatchEnded(conversation.Boundary{}) != nil {
		t.Errorf("the report of the first is pending for the second: %+v", s)
	}
}

func TestARewindClosesTheNewest(t *testing.T) {
	s := opened(t, "c1")
	s.Opened("c2", "next", start)
	s.BatchEnded(conversation.Boundary{EntryID: "b2"})
	if r := rewind(t, s, "r1"); r.Checkpoint != "c2" {
		t.Errorf("the report closes %q", r.Checkpoint)
	}
	if s.Open != nil {
		t.Error("the unclosed one of before is open again")
	}
}

func TestB136AnAbortClears(t *testing.T) {
	s := opened(t, "c1")
	if was := s.Aborted(false); was == nil || was.CallID != "c1" {
		t.Errorf("cleared: %+v", was)
	}
	_, err := s.Rewind(call("r1", "report"))
	refuses(t, err, conversation.ErrNoCheckpoint)

	s = opened(t, "c1")
	s.Reported("r1", "report")
	s.Aborted(false)
	if s.BatchEnded(conversation.Boundary{}) != nil {
		t.Error("the report outlives the abort")
	}

	s = opened(t, "c1")
	if was := s.Aborted(true); was != nil || s.Open == nil {
		t.Error("keep_on_abort does not keep it")
	}
	if was := new(conversation.State).Aborted(false); was != nil {
		t.Errorf("nothing was open, and %+v is cleared", was)
	}
}

func TestB143Compaction(t *testing.T) {
	s := opened(t, "c1")
	s.Compacted(true)
	if r := rewind(t, s, "r1"); r.Checkpoint != "c1" {
		t.Errorf("a checkpoint that was carried: %+v", r)
	}

	s = opened(t, "c1")
	s.Saved("c1", 7)
	if was := s.Compacted(false); was == nil || was.CallID != "c1" || was.WorkTree != 7 {
		t.Errorf("lost: %+v", was)
	}
	if again := s.Compacted(false); again != nil {
		t.Errorf("told a second time: %+v", again)
	}
	if got := s.Guard(conversation.Settled{}); got != (conversation.Guarded{}) {
		t.Errorf("the guard speaks of a lost checkpoint: %+v", got)
	}
	_, err := s.Rewind(call("r1", "report"))
	refuses(t, err, conversation.ErrLost)
	open(t, s, "c2")
	rewind(t, s, "r2")
	_, err = s.Rewind(call("r3", "report"))
	refuses(t, err, conversation.ErrAlreadyCompleted)

	s = opened(t, "c1")
	rewind(t, s, "r1")
	if s.Compacted(false) != nil {
		t.Error("a checkpoint that was closed is lost")
	}
}

func TestAbandon(t *testing.T) {
	s := opened(t, "c1")
	if was := s.Abandoned(); was == nil || was.CallID != "c1" {
		t.Errorf("abandoned: %+v", was)
	}
	_, err := s.Rewind(call("r1", "report"))
	refuses(t, err, conversation.ErrNoCheckpoint)
	open(t, s, "c2")
	s.Cleared("c1")
	if s.Open == nil {
		t.Error("the clearing of another call cleared it")
	}
}

func TestGuard(t *testing.T) {
	const most = conversation.MaxReminders
	s := opened(t, "c1")
	remind := func(n int) {
		t.Helper()
		got := s.Guard(conversation.Settled{})
		if got.Reminder != conversation.Reminder(n) || got.Tell {
			t.Fatalf("settled for the time %d: %+v", n, got)
		}
		s.Reminded()
	}
	for n := 1; n <= most; n++ {
		remind(n)
		s.Prompted(conversation.Reminder(n)) // comes back as a prompt
		s.Prompted("<task-notification>\n<task-id>1</task-id></task-notification>")
	}
	for range 2 {
		if got := s.Guard(conversation.Settled{}); got != (conversation.Guarded{Tell: true}) {
			t.Fatalf("after the last reminder: %+v", got)
		}
	}
	if s.Open == nil {
		t.Error("the guard closed the checkpoint")
	}
	s.Prompted("go on")
	remind(1)
	rewind(t, s, "r1")
	open(t, s, "c2")
	remind(1)
}

func TestGuardLetsRest(t *testing.T) {
	pending := opened(t, "c1")
	pending.Reported("r1", "report")
	for name, c := range map[string]struct {
		s   *conversation.State
		how conversation.Settled
	}{
		"nothing open":       {new(conversation.State), conversation.Settled{}},
		"report pending":     {pending, conversation.Settled{}},
		"goes on with tools": {opened(t, "c1"), conversation.Settled{Calls: 1}},
		"error":              {opened(t, "c1"), conversation.Settled{Failed: true}},
		"aborted":            {opened(t, "c1"), conversation.Settled{Aborted: true}},
		"compaction":         {opened(t, "c1"), conversation.Settled{Compacting: true}},
		"background":         {opened(t, "c1"), conversation.Settled{Busy: true}},
		"rewind denied":      {opened(t, "c1"), conversation.Settled{RewindDenied: true}},
	} {
		if got := c.s.Guard(c.how); got != (conversation.Guarded{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestStateAsJSON(t *testing.T) {
	s := opened(t, "c1")
	s.Saved("c1", 4)
	s.Reminded()
	s.Reported("r1", "report")
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back conversation.State
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&back, s) {
		t.Errorf("%+v comes back as %+v", s, back)
	}
}
