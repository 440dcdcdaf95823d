package conversations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/history"
	"github.com/turnback/turnback/internal/api"
)

// claude is a caller that an announcement has to make known.
func claude(id string) api.ConversationCaller {
	return api.ConversationCaller{Agent: "claude", ToolUseID: id}
}

// report is what Claude Code's hook tells of the session c1.
func (b *bench) report(kind api.ReportKind, change func(*api.AgentReport)) *api.ConversationReply {
	r := api.AgentReport{Agent: "claude", Kind: kind, SessionID: "c1", Transcript: "/t.jsonl"}
	if change != nil {
		change(&r)
	}
	return b.book.Report(r)
}

// An agent may tell where its transcript is at the end of a turn alone, and may move
// it: then it is found.
func TestATranscriptThatNoHookToldOfIsFound(t *testing.T) {
	b := newBench(t)
	codex := func(id string) api.ConversationCaller {
		return api.ConversationCaller{Agent: "codex", Session: "x1", ToolUseID: id}
	}
	b.found = "/elsewhere.jsonl"
	b.wrote("a:checkpoint", "b?checkpoint") // a fork of what an earlier session has open
	b.wants(conversation.ErrCheckpointActive.Error(), "checkpoint", "again", codex("b"))
	b.wrote("a:checkpoint", "b!checkpoint", "c?rewind")
	b.wants(requested, "rewind", "report", codex("c"))
	b.found = "/archived.jsonl"
	b.wrote("a:checkpoint", "b!checkpoint", "c:rewind", "d?rewind")
	b.wants(conversation.ErrAlreadyCompleted.Error(), "rewind", "report", codex("d"))
}

// announces tells of a call that is about to come.
func (b *bench) announces(tool, id string) *api.ConversationReply {
	return b.report(api.ReportToolStart, func(r *api.AgentReport) { r.ConversationTool, r.ToolUseID = tool, id })
}

// prompts and stops are the ends of a turn.
func (b *bench) prompts(text string) {
	b.report(api.ReportPrompt, func(r *api.AgentReport) { r.Prompt = text })
}

func (b *bench) stops() api.ConversationReply {
	if r := b.report(api.ReportStop, nil); r != nil {
		return *r
	}
	return api.ConversationReply{}
}

// wrote puts batches of calls into the transcript: "c1:checkpoint" that
// succeeded, "c1?checkpoint" without a result yet, "c1!checkpoint" refused; of a
// batch with several calls apart by blanks. "compact" is a compaction.
func (b *bench) wrote(batches ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(time.Millisecond)
	h := history.History{Newest: b.now}
	for _, batch := range batches {
		step := history.Step{Done: true, Compacted: batch == "compact"}
		for _, word := range strings.Fields(batch) {
			at := strings.IndexAny(word, ":?!")
			if at < 0 {
				continue
			}
			c := history.Call{ID: word[:at], Tool: conversation.Tool(word[at+1:]), Text: "goal", Done: word[at] != '?', OK: word[at] == ':'}
			step.Done = step.Done && c.Done
			step.Calls = append(step.Calls, c)
		}
		h.Steps = append(h.Steps, step)
	}
	b.history = &h
}

// opens has c1 open a checkpoint by the call id, and writes it down.
func (b *bench) opens(id string) {
	b.t.Helper()
	b.announces("checkpoint", id)
	b.wants(created, "checkpoint", "goal", claude(id))
	b.wrote(id + ":checkpoint")
}

func TestAnAnnouncedCallIsOfItsSession(t *testing.T) {
	b := newBench(t)
	if r := b.announces("checkpoint", "t1"); r != nil {
		t.Errorf("the hook answers %+v", r)
	}
	b.restart() // the announcement outlives the daemon
	b.wants(created, "checkpoint", "goal", claude("t1"))
	if diff := cmp.Diff("c1", b.saved[0].Session); diff != "" {
		t.Error(diff)
	}
}

func TestASubagentsCallIsDenied(t *testing.T) {
	b := newBench(t)
	for tool, refusal := range map[string]conversation.Refusal{
		"checkpoint": conversation.ErrCheckpointInSubagent, "rewind": conversation.ErrRewindInSubagent,
	} {
		r := b.report(api.ReportToolStart, func(r *api.AgentReport) {
			r.ConversationTool, r.ToolUseID, r.Subagent = tool, "sub-"+tool, true
		})
		if r == nil || r.Deny != refusal.Error() {
			t.Errorf("%s: the hook answers %+v", tool, r)
		}
		// An agent that does not heed its hook gets the same.
		b.wants(refusal.Error(), tool, "x", claude("sub-"+tool))
	}
}

// Calls that one message makes together come before the transcript has any of
// their results.
func TestB140AParallelBatchOpensOnce(t *testing.T) {
	b := newBench(t)
	b.wrote("t1?checkpoint t2?checkpoint t3?rewind")
	for _, c := range [][2]string{{"checkpoint", "t1"}, {"checkpoint", "t2"}, {"rewind", "t3"}} {
		b.announces(c[0], c[1])
	}
	b.wants(created, "checkpoint", "goal", claude("t1"))
	b.wants("Checkpoint already active.", "checkpoint", "goal", claude("t2"))
	b.wants("No active checkpoint.", "rewind", "r", claude("t3"))
	b.wrote("t1:checkpoint t2!checkpoint t3!rewind", "t4?rewind")
	b.announces("rewind", "t4")
	b.wants(requested, "rewind", "r", claude("t4"))
	b.announces("rewind", "t5")
	b.wrote("t1:checkpoint t2!checkpoint t3!rewind", "t4?rewind t5?rewind")
	b.wants("Checkpoint already completed", "rewind", "r", claude("t5"))
}

// The transcript is behind: the agent answers its model first.
func TestACallWaitsForTheTranscript(t *testing.T) {
	b := newBench(t)
	b.announces("checkpoint", "t1")
	b.wants(created, "checkpoint", "goal", claude("t1"))
	b.announces("rewind", "t2")
	b.mu.Lock()
	b.history = &history.History{} // nothing of it yet
	b.mu.Unlock()
	written := time.AfterFunc(10*time.Millisecond, func() { b.wrote("t1:checkpoint", "t2?rewind") })
	defer written.Stop()
	b.wants(requested, "rewind", "r", claude("t2"))
}

// The result of the checkpoint is not written down yet, but the next message of
// the model is: its batch is over.
func TestAResultThatIsBeingWritten(t *testing.T) {
	b := newBench(t)
	b.announces("checkpoint", "t1")
	b.wants(created, "checkpoint", "goal", claude("t1"))
	b.wrote("t1?checkpoint", "t2?rewind")
	b.announces("rewind", "t2")
	b.wants(requested, "rewind", "r", claude("t2"))
}

func TestTheHistoryIsTheAuthority(t *testing.T) {
	b := newBench(t)
	b.opens("t1")
	t.Run("a native rewind to before the checkpoint", func(t *testing.T) {
		b.wrote("x1:other")
		b.announces("rewind", "t2")
		b.wants("No active checkpoint.", "rewind", "r", claude("t2"))
	})
	t.Run("and back to where it was open", func(t *testing.T) {
		b.wrote("t1:checkpoint")
		b.announces("rewind", "t3")
		b.wants(requested, "rewind", "r", claude("t3"))
	})
	t.Run("a fork has what was before it", func(t *testing.T) {
		fork := func(r *api.AgentReport) {
			r.SessionID, r.ConversationTool, r.ToolUseID = "c2", "rewind", "t4"
		}
		b.wrote("t1:checkpoint", "t4?rewind")
		b.report(api.ReportToolStart, fork)
		b.wants(requested, "rewind", "r", claude("t4"))
	})
}

func TestB143ACompactionLosesTheCheckpoint(t *testing.T) {
	for name, told := range map[string]func(*bench) *api.ConversationReply{
		"told by the hook": func(b *bench) *api.ConversationReply { return b.report(api.ReportCompacted, nil) },
		"told by the transcript alone": func(b *bench) *api.ConversationReply {
			b.wrote("t1:checkpoint", "compact")
			return b.report(api.ReportStop, nil)
		},
		"told by a request": func(b *bench) *api.ConversationReply {
			b.sees(api.ConversationSeenParams{Rewrites: true})
			return b.report(api.ReportStop, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.opens("t1")
			r := told(b)
			if want := `turnback: the checkpoint "goal" of this conversation was lost in a compaction; the history is unchanged`; r == nil || r.Notice != want || r.Reminder != "" {
				t.Errorf("the hook answers %+v, want %q", r, want)
			}
			b.wrote("t1:checkpoint", "compact")
			if again := b.stops(); again != (api.ConversationReply{}) {
				t.Errorf("it is told again, or the guard speaks: %+v", again)
			}
			b.announces("rewind", "t2")
			b.wants("The checkpoint was lost in a compaction; the history is unchanged.", "rewind", "r", claude("t2"))
			b.announces("checkpoint", "t3")
			b.wants(created, "checkpoint", "goal", claude("t3"))
		})
	}
}

// The agent tells of a compaction before its transcript has it.
func TestACompactionIsBelievedBeforeItIsWritten(t *testing.T) {
	b := newBench(t)
	b.opens("t1")
	b.report(api.ReportCompacted, nil)
	list := b.book.List(api.ConversationListParams{})
	if s := list.Sessions[0]; s.Open != nil || !s.Lost {
		t.Errorf("%+v", s)
	}
	// Later the person goes back to before it.
	b.wrote("t1:checkpoint")
	list = b.book.List(api.ConversationListParams{})
	if s := list.Sessions[0]; s.Open == nil || s.Lost {
		t.Errorf("after a native rewind: %+v", s)
	}
}

// A summary may leave no trace of what was before it.
func TestWhatWasLostStaysLost(t *testing.T) {
	b := newBench(t)
	b.opens("t1")
	b.report(api.ReportCompacted, nil)
	b.wrote("x1:other")
	b.announces("rewind", "t2")
	b.wants("The checkpoint was lost in a compaction; the history is unchanged.", "rewind", "r", claude("t2"))
}

func TestARequestOfAnEarlierProcessIsNotBelieved(t *testing.T) {
	b := newBench(t)
	b.opens("t1")
	b.sees(api.ConversationSeenParams{Rewrites: true, Open: &api.ConversationOpenCall{CallID: "t1", Goal: "goal", BatchEnded: true}, Checkpoints: []string{"t1"}})
	b.wrote("t1:checkpoint", "t2:rewind") // in another window, say
	b.report(api.ReportSessionStart, func(r *api.AgentReport) { r.Reason = "resume" })
	if r := b.stops(); r.Reminder != "" {
		t.Errorf("%+v", r)
	}
}

func TestAnOlderRequestIsPassedOver(t *testing.T) {
	b := newBench(t)
	b.sees(api.ConversationSeenParams{Rewrites: true, Completed: true, Checkpoints: []string{"t1"}})
	b.sees(api.ConversationSeenParams{
		At: b.clock().Add(-time.Hour), Rewrites: true, Open: &api.ConversationOpenCall{CallID: "t1", BatchEnded: true}, Checkpoints: []string{"t1"},
	})
	if r := b.stops(); r.Reminder != "" {
		t.Errorf("%+v", r)
	}
}

// sees tells what a proxy saw in a request of c1.
func (b *bench) sees(p api.ConversationSeenParams) {
	b.t.Helper()
	p.Caller = api.ConversationCaller{Agent: "claude", Session: "c1", Launch: "l1"}
	if p.At.IsZero() {
		p.At = b.clock()
	}
	if err := b.book.Seen(p); err != nil {
		b.t.Fatal(err)
	}
}

func TestARequestIsBelievedBeforeTheTranscript(t *testing.T) {
	b := newBench(t)
	b.announces("checkpoint", "t1")
	b.wants(created, "checkpoint", "goal", claude("t1"))
	open := &api.ConversationOpenCall{CallID: "t1", Goal: "goal", BatchEnded: true}
	b.sees(api.ConversationSeenParams{Rewrites: true, Open: open, Checkpoints: []string{"t1"}})
	b.announces("rewind", "t2")
	r := b.call("rewind", "r", claude("t2"))
	if want := "Files changed since the checkpoint: none (work-tree checkpoint 1)"; r.IsError || len(r.Texts) != 2 || r.Texts[1] != want {
		t.Errorf("through a proxy the rewind answers %q, want the facts %q", r.Texts, want)
	}
	b.announces("rewind", "t3")
	b.wants("Checkpoint already completed", "rewind", "r", claude("t3"))
	b.sees(api.ConversationSeenParams{Rewrites: true, Completed: true, Spans: 1, Checkpoints: []string{"t1"}})
	b.announces("rewind", "t4")
	b.wants("Checkpoint already completed", "rewind", "r", claude("t4"))
	// What a subagent's request holds, and one that came before, say nothing.
	if err := b.book.Seen(api.ConversationSeenParams{
		Caller: api.ConversationCaller{Agent: "claude", Session: "c1", Subagent: true}, At: b.clock(), Open: open, Rewrites: true,
	}); err != nil {
		t.Fatal(err)
	}
	b.sees(api.ConversationSeenParams{At: b.clock().Add(-time.Hour), Open: open, Rewrites: true})
	b.announces("rewind", "t5")
	b.wants("Checkpoint already completed", "rewind", "r", claude("t5"))
}

// A request from before a rewind may be told of after it, while the transcript does not
// have the rewind's result: the checkpoint is closed all the same.
func TestARewindStaysCountedWhileItsResultIsWritten(t *testing.T) {
	for _, late := range [][]string{nil, {"t1:checkpoint", "t2?rewind"}, {"t1:checkpoint", "t2:rewind"}} {
		b := newBench(t)
		b.opens("t1")
		open := &api.ConversationOpenCall{CallID: "t1", Goal: "goal", BatchEnded: true}
		asked := b.clock()
		b.announces("rewind", "t2")
		b.wants(requested, "rewind", "report", claude("t2"))
		if late != nil {
			b.wrote(late...)
		}
		b.sees(api.ConversationSeenParams{At: asked, Rewrites: true, Open: open, Checkpoints: []string{"t1"}})
		s := b.book.List(api.ConversationListParams{})
		if len(s.Sessions) != 1 || s.Sessions[0].Rewinds != 1 {
			t.Errorf("%q in the transcript: %+v", late, s.Sessions)
		}
	}
}

func TestALaunchIsInTheSessionThatWasSeenLast(t *testing.T) {
	b := newBench(t)
	launch := api.ConversationCaller{Launch: "l1"}
	b.sees(api.ConversationSeenParams{Rewrites: true})
	b.wants(created, "checkpoint", "goal", launch)
	if b.saved[0].Session != "c1" {
		t.Errorf("saved for %+v", b.saved)
	}
	// An agent that names no sessions has its launch for one.
	b.wants(created, "checkpoint", "goal", api.ConversationCaller{Agent: "gemini", Launch: "l2"})
}

func TestTheGuardRemindsThreeTimes(t *testing.T) {
	b := newBench(t)
	b.prompts("Explore")
	b.opens("t1")
	if r := b.report(api.ReportStop, func(r *api.AgentReport) { r.Background = 1 }); r != nil {
		t.Errorf("with a task in the background: %+v", r)
	}
	for round := range 2 {
		for n := 1; n <= conversation.MaxReminders; n++ {
			if r := b.stops(); r.Reminder != conversation.Reminder(n) || r.Notice != "" {
				t.Errorf("round %d, stop %d: %+v", round, n, r)
			}
			if n == 1 {
				b.restart() // the count outlives the daemon
				b.prompts(conversation.Reminder(1))
				b.prompts("<task-notification>done</task-notification>")
			}
		}
		if r := b.stops(); r.Reminder != "" || !strings.Contains(r.Notice, "still open") || !strings.Contains(r.Notice, "turnback conversation abandon c1") {
			t.Errorf("round %d, after the last: %+v", round, r)
		}
		if r := b.stops(); r != (api.ConversationReply{}) {
			t.Errorf("round %d, told again: %+v", round, r)
		}
		b.prompts("And now?")
	}
	b.announces("rewind", "t2")
	b.wants(requested, "rewind", "r", claude("t2"))
	b.wrote("t1:checkpoint", "t2:rewind")
	if r := b.stops(); r != (api.ConversationReply{}) {
		t.Errorf("after the rewind: %+v", r)
	}
}

// A plugin asks first what the model is to be told, and reports the end of the turn
// then: that is no further stop.
func TestAStopThatIsSettledRemindsNobody(t *testing.T) {
	b := newBench(t)
	b.prompts("Explore")
	b.opens("t1")
	if r := b.report(api.ReportStop, func(r *api.AgentReport) { r.Settled = true }); r != nil {
		t.Errorf("a stop that is settled: %+v", r)
	}
	if r := b.stops(); r.Reminder != conversation.Reminder(1) {
		t.Errorf("the first stop after it: %+v", r)
	}
}

func TestTheGuardIsSilentAfterADeniedRewind(t *testing.T) {
	b := newBench(t)
	b.prompts("Explore")
	b.opens("t1")
	b.announces("rewind", "t2") // and the call never comes
	if r := b.stops(); r != (api.ConversationReply{}) {
		t.Errorf("%+v", r)
	}
	b.prompts("Go on")
	if r := b.stops(); r.Reminder == "" {
		t.Errorf("in the next turn: %+v", r)
	}
}

func TestOtherSessionsAreLeftAlone(t *testing.T) {
	b := newBench(t)
	b.opens("t1")
	for _, session := range []string{"", "c9"} {
		r := b.report(api.ReportStop, func(r *api.AgentReport) { r.SessionID = session })
		if r != nil {
			t.Errorf("%q: %+v", session, r)
		}
	}
	if r := b.report(api.ReportStop, func(r *api.AgentReport) { r.Subagent = true }); r != nil {
		t.Errorf("a subagent: %+v", r)
	}
}

func TestAResumeWithoutTheProxyIsTold(t *testing.T) {
	b := newBench(t)
	b.opens("t1")
	b.sees(api.ConversationSeenParams{Rewrites: true, Completed: true, Spans: 2, Checkpoints: []string{"t1"}})
	start := func(launch, reason string) *api.ConversationReply {
		return b.report(api.ReportSessionStart, func(r *api.AgentReport) { r.Launch, r.Reason = launch, reason })
	}
	if r := start("l2", "resume"); r != nil {
		t.Errorf("with the proxy: %+v", r)
	}
	b.restart()
	want := "2 collapsed spans are back in full; start with turnback run --conversation -- claude --resume c1"
	if r := start("", "resume"); r == nil || r.Notice != want {
		t.Errorf("without: %+v, want %q", r, want)
	}
}

func TestAbandonClosesWithoutAReport(t *testing.T) {
	b := newBench(t)
	b.opens("t1")
	r, err := b.book.Abandon(api.ConversationParams{Session: "c1"})
	if err != nil || r.Checkpoint.State != "abandoned" || r.Checkpoint.Goal != "goal" || r.Agent != "claude" {
		t.Fatalf("%+v, %v", r, err)
	}
	b.restart()
	if r := b.stops(); r != (api.ConversationReply{}) {
		t.Errorf("the guard speaks of it: %+v", r)
	}
	b.announces("rewind", "t2")
	b.wants("No active checkpoint.", "rewind", "r", claude("t2"))
	if _, err := b.book.Abandon(api.ConversationParams{Session: "c1"}); api.AsError(err).Code != api.CodeNoCheckpoint {
		t.Errorf("twice: %v", err)
	}
	if _, err := b.book.Abandon(api.ConversationParams{Session: "none"}); api.AsError(err).Code != api.CodeSessionNotFound {
		t.Errorf("a session that is not known: %v", err)
	}
}

func TestFiguresAreExactAfterAndEstimatedBefore(t *testing.T) {
	b := newBench(t)
	b.opens("t1")
	for _, p := range []api.ConversationFiguresParams{
		{BytesBefore: 1000, BytesAfter: 1000, Tokens: 300}, {BytesBefore: 90_000, BytesAfter: 30_000, Tokens: 8001}, {BytesBefore: 10, BytesAfter: 5},
	} {
		p.Caller, p.At = api.ConversationCaller{Agent: "claude", Session: "c1"}, b.clock()
		if err := b.book.Figures(p); err != nil {
			t.Fatal(err)
		}
	}
	b.restart()
	want := api.ConversationTokens{Requests: 3, BytesBefore: 91_010, BytesAfter: 31_005, TokensBefore: 300 + 24_003, TokensAfter: 8301}
	got := b.book.Stats(api.ConversationListParams{})
	if diff := cmp.Diff(want, got.Total); diff != "" || len(got.Sessions) != 1 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamesOfManyChangedFilesAreCut(t *testing.T) {
	b := newBench(t)
	for i := range 60 {
		b.changed = append(b.changed, fmt.Sprintf("f%02d", i))
	}
	b.wants(created, "checkpoint", "g", script("s1"))
	r := b.call("rewind", "r", script("s1"))
	if !strings.Contains(r.Texts[1], "f48, f49 and 10 more (work-tree checkpoint 1)") {
		t.Errorf("%q", r.Texts[1])
	}
}
