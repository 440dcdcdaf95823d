package session_test

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
	"pgregory.net/rapid"
)

// refused runs a call alone and wants a refusal of it.
func (h *harness) refused(call session.Part, want conversation.Refusal) {
	h.t.Helper()
	h.asks("", call)
	result := h.result(call)
	if !result.IsError || result.Content[0].Text != string(want) {
		h.t.Errorf("%s answers %q; want the refusal %q", call.Name, result.Content[0].Text, want)
	}
	h.add(session.Results(result))
}

func TestB133RewindTwiceInASession(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.step("", h.rewind("first"))
	before := shown(h.s.Context())
	h.refused(h.rewind("second"), conversation.ErrAlreadyCompleted)
	h.reopen()
	h.refused(h.rewind("third"), conversation.ErrAlreadyCompleted)
	if after := shown(h.s.Context()); after[:len(before)] != before {
		t.Errorf("the refused rewind changed what was there:\n%s", after)
	}
}

func TestB134AReportOfBeforeIsNotUsed(t *testing.T) {
	h := newHarness(t)
	h.open("one")
	h.step("", h.rewind("report of one"))
	h.reopen()
	h.step("", h.checkpoint("two"))
	h.says("I am done.") // ends without a rewind
	if h.s.Due() != nil {
		t.Errorf("due: %+v", h.s.Due())
	}
	h.reopen()
	if open := h.s.State().Open; h.s.Due() != nil || open == nil || open.Goal != "two" {
		t.Errorf("due %+v, open %+v", h.s.Due(), open)
	}
	if _, err := h.s.Rewind(); err == nil {
		t.Error("a rewind can be taken that nobody asked for")
	}
	h.same()
}

func TestB136AnAbortClearsForGood(t *testing.T) {
	for _, killed := range []bool{false, true} {
		h := newHarness(t)
		h.open("g")
		h.asks("", h.read("a"))
		was, err := h.s.Abort(false)
		h.must(err)
		if was == nil || was.Goal != "g" {
			t.Errorf("cleared: %+v", was)
		}
		h.same()
		if killed {
			h.reopen()
		}
		h.refused(h.rewind("r"), conversation.ErrNoCheckpoint)
		h.step("", h.checkpoint("next"))
		h.step("", h.rewind("r"))
		h.same()
	}
}

func TestB136AnAbortThatKeeps(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.asks("", h.read("a"))
	was, err := h.s.Abort(true)
	h.must(err)
	if was != nil {
		t.Errorf("cleared: %+v", was)
	}
	h.reopen()
	h.user("go on")
	h.step("", h.rewind("r"))
	h.wantContext(begun + "tool: ->call1 " + framed("g", "r", "") + "\n" + `user: "go on"` + "\n")
}

func TestAnAbortWithAReportPending(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	call, other := h.rewind("r"), h.read("a")
	h.asks("", call, other)
	h.add(session.Results(h.result(call)))
	_, err := h.s.Abort(false)
	h.must(err)
	h.reopen()
	if h.s.Due() != nil || h.s.State().Open != nil {
		t.Errorf("after the abort: %+v", h.s.State())
	}
}

// A report that was granted in the aborted batch is due with keep_on_abort, and
// not only after the next answer.
func TestAnAbortThatKeepsAReport(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	call, other := h.rewind("r"), h.read("a")
	h.asks("", call, other)
	h.add(session.Results(h.result(call)))
	_, err := h.s.Abort(true)
	h.must(err)
	if h.s.Due() == nil {
		t.Fatal("no rewind is due")
	}
	_, err = h.s.Rewind()
	h.must(err)
	h.same()
}

// A process that is killed has aborted nothing: wherever that happens, the next
// one goes on with the same.
func TestB136AKillIsNoAbort(t *testing.T) {
	for point := range 4 {
		t.Run(strconv.Itoa(point), func(t *testing.T) {
			h := newHarness(t)
			dies := func(at int) {
				if at == point {
					h.reopen()
				}
			}
			h.open("g")
			dies(0)
			h.step("", h.read("a"))
			dies(1)
			call := h.rewind("r")
			h.asks("", call)
			h.add(session.Results(h.result(call)))
			dies(2) // the rewind was granted, and not taken
			if h.s.Due() == nil {
				t.Fatal("no rewind is due")
			}
			_, err := h.s.Rewind()
			h.must(err)
			dies(3)
			h.wantContext(begun + "tool: ->call1 " + framed("g", "r", "") + "\n")
			h.same()
		})
	}
}

func TestAKillInTheBatchOfTheCheckpoint(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	first, second := h.checkpoint("g"), h.read("a")
	h.asks("", first, second)
	h.add(session.Results(h.result(first)))
	if h.s.State().Open == nil || h.s.State().Open.Boundary != nil {
		t.Fatalf("in the batch: %+v", h.s.State().Open)
	}
	h.same()
	h.reopen()
	h.user("go on")
	h.step("", h.read("b"))
	h.step("", h.rewind("r"))
	h.wantContext(`
user: "begin"
assistant: call1=checkpoint call2=read
tool: ->call1 ` + framed("g", "r", "") + ` ->call2 "Interrupted: this call has no result."!
user: "go on"
`)
	h.same()
}

// The rewind was granted and its batch never ended: the call beside it was killed.
func TestAKillInTheBatchOfTheRewind(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	call, other := h.rewind("r"), h.read("a")
	h.asks("", call, other)
	h.add(session.Results(h.result(call)))
	if h.s.Due() != nil {
		t.Error("a rewind is due in the middle of its batch")
	}
	h.reopen()
	h.user("go on")
	_, err := h.s.Rewind()
	h.must(err)
	h.wantContext(begun + "tool: ->call1 " + framed("g", "r", "") + `
assistant: call2=rewind call3=read
tool: ->call2 "Rewind requested.\nReport captured for context replacement." ->call3 "Interrupted: this call has no result."!
user: "go on"
`)
	h.same()
}

func TestTheGuardCountsAcrossRestarts(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	settle := func(want conversation.Guarded) {
		t.Helper()
		got := h.s.State().Guard(conversation.Settled{})
		if got != want {
			t.Fatalf("the guard wants %+v, not %+v", got, want)
		}
		if got.Reminder != "" {
			h.add(session.HostMessage(session.RoleUser, got.Reminder))
		}
		h.same()
		h.reopen()
	}
	reminders := func() {
		t.Helper()
		for n := 1; n <= conversation.MaxReminders; n++ {
			h.says("Done.")
			settle(conversation.Guarded{Reminder: conversation.Reminder(n)})
		}
		settle(conversation.Guarded{Tell: true})
	}
	reminders()
	h.add(session.HostMessage(session.RoleUser, "a note"))
	h.user("<task-notification>done</task-notification>")
	settle(conversation.Guarded{Tell: true})
	h.user("go on")
	reminders()
	h.step("", h.rewind("r"))
	settle(conversation.Guarded{})
	if text := shown(h.s.Context()); strings.Contains(text, "system-warning") {
		t.Errorf("a reminder is left:\n%s", text)
	}
}

func TestAResultThatIsAnErrorOpensNothing(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	call := h.checkpoint("g")
	h.asks("", call)
	h.add(session.Results(session.Part{
		Kind: session.KindResult, CallID: call.CallID, IsError: true,
		Content: []session.Part{session.Text(conversation.CreatedText("g"))},
	}))
	other := h.call("turnback_checkpoint", map[string]string{"goal": "g"})
	h.asks("", other)
	h.add(session.Results(session.Part{Kind: session.KindResult, CallID: other.CallID, Content: []session.Part{session.Text(conversation.CreatedText("g"))}}))
	read := h.checkpoint("g")
	h.asks("", read)
	h.add(session.Results(session.Part{Kind: session.KindResult, CallID: read.CallID, Content: []session.Part{session.Text("A file says:\n" + conversation.CreatedText("g"))}}))
	if open := h.s.State().Open; open != nil {
		t.Errorf("open: %+v", open)
	}
}

func TestRefusalsInBatches(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	h.step("", h.checkpoint("g"), h.checkpoint("h"), h.rewind("r"))
	h.wantContext(`
user: "begin"
assistant: call1=checkpoint call2=checkpoint call3=rewind
tool: ->call1 "Checkpoint created.\nGoal: g\nRun your investigation, then call rewind with a concise report." ->call2 "Checkpoint already active."! ->call3 "No active checkpoint. Create a checkpoint before calling rewind."!
`)
	h.same()
	h.step("", h.rewind("r"), h.rewind("s"), h.checkpoint("i"))
	if got := h.s.State(); got.Open != nil || got.Completed == nil || got.Completed.Text != "r" {
		t.Errorf("after the batch: %+v", got)
	}
	h.same()
}

func TestStateFollowsTheBranch(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	before := h.s.Leaf()
	h.step("", h.checkpoint("g"))
	h.must(h.s.Saved("call1", 12))
	inside := h.s.Leaf()
	h.step("", h.read("a"))
	h.step("", h.rewind("r"))
	left := h.s.Entry(h.s.Leaf()).Rewind.FromID

	check := func(leaf string, open, completed bool) {
		t.Helper()
		h.must(h.s.MoveLeaf(leaf))
		h.same()
		h.reopen()
		if got := h.s.State(); (got.Open != nil) != open || (got.Completed != nil) != completed || h.s.Due() != nil {
			t.Errorf("at %s: %+v", leaf, got)
		}
	}
	check(before, false, false)
	check(inside, true, false)
	if n := h.s.State().Open.WorkTree; n != 12 {
		t.Errorf("work-tree checkpoint %d", n)
	}
	check(left, false, true) // the report closed it, if on another branch
	check("", false, false)
	if err := h.s.MoveLeaf("nowhere"); err == nil {
		t.Error("the leaf moves to an entry that is not there")
	}
}

// B148: what cannot be written is told, and nothing of it is in memory.
func TestNothingIsAddedToAClosedSession(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.must(h.s.Close())
	if _, err := h.s.Append(session.UserMessage("x")); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("append: %v", err)
	}
	if len(h.s.Context()) != 3 {
		t.Errorf("context:\n%s", shown(h.s.Context()))
	}
	read, err := h.lib.Read(h.s.ID())
	h.must(err)
	if _, err := read.Abandon(); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("abandon: %v", err)
	}
	if read.State().Open == nil {
		t.Error("an abandon that failed closed the checkpoint")
	}
}

// What a host lives through is what the file tells, after each step; calls have
// their results; and what is sent grows at its end, but for rewinds, compactions
// and moves.
func TestLivedIsReloaded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHarnessIn(t, memoryDir(t))
		h.t = failing{t, rt}
		defer func() { h.s.Close(); os.RemoveAll(h.lib.Dir) }()
		var waiting []session.Part
		finish := func() {
			for _, c := range waiting {
				h.add(session.Results(h.result(c)))
			}
			waiting = nil
		}
		before, mayShrink := "", true
		ask := func(rt *rapid.T) {
			finish()
			if h.s.Due() != nil {
				rt.Skip("a rewind comes first")
			}
			var calls []session.Part
			for range rapid.IntRange(0, 3).Draw(rt, "calls") {
				switch rapid.SampledFrom([]string{"checkpoint", "rewind", "read"}).Draw(rt, "tool") {
				case "checkpoint":
					calls = append(calls, h.checkpoint("goal"))
				case "rewind":
					calls = append(calls, h.rewind("report"))
				default:
					calls = append(calls, h.read("a"))
				}
			}
			h.asks(rapid.SampledFrom([]string{"", "I say"}).Draw(rt, "text"), calls...)
			waiting = calls
		}
		rt.Repeat(map[string]func(*rapid.T){
			"ask": ask,
			"result": func(rt *rapid.T) {
				if len(waiting) == 0 {
					rt.Skip("no call waits")
				}
				h.add(session.Results(h.result(waiting[0])))
				waiting = waiting[1:]
			},
			"rewind": func(rt *rapid.T) {
				if h.s.Due() == nil {
					rt.Skip("none is due")
				}
				_, err := h.s.Rewind()
				h.must(err)
				mayShrink = true
			},
			"prompt": func(*rapid.T) { finish(); h.user("go on") },
			"settle": func(*rapid.T) {
				finish()
				if text := h.s.State().Guard(conversation.Settled{}).Reminder; text != "" {
					h.add(session.HostMessage(session.RoleUser, text))
				}
			},
			"abort": func(rt *rapid.T) {
				_, err := h.s.Abort(rapid.Bool().Draw(rt, "keep"))
				h.must(err)
				waiting = nil
			},
			"kill": func(*rapid.T) { h.reopen(); waiting = nil },
			"compact": func(*rapid.T) {
				finish()
				_, err := h.s.Compact(session.Compaction{Summary: "so far", FirstKept: h.s.Leaf()})
				h.must(err)
				mayShrink = true
			},
			"move": func(rt *rapid.T) {
				finish()
				ids := []string{""}
				for _, e := range h.s.Entries() {
					ids = append(ids, e.ID)
				}
				h.must(h.s.MoveLeaf(rapid.SampledFrom(ids).Draw(rt, "to")))
				mayShrink = true
			},
			"": func(rt *rapid.T) {
				if len(waiting) > 0 {
					h.same()
				} else {
					h.sameInNextProcess()
				}
				checkPairs(rt, h.s.Context())
				now := shown(h.s.Context())
				if len(waiting) > 0 {
					return // is not sent before the batch has ended
				}
				if !mayShrink && (len(now) < len(before) || now[:len(before)] != before) {
					rt.Fatalf("what was sent changes from\n%s\nto\n%s", before, now)
				}
				before, mayShrink = now, false
			},
		})
	})
}

// sameInNextProcess compares what is in memory with what the next process has.
func (h *harness) sameInNextProcess() {
	h.t.Helper()
	context, leaf := h.s.Context(), h.s.Leaf()
	var state conversation.State
	text, err := json.Marshal(h.s.State())
	h.must(err)
	h.must(json.Unmarshal(text, &state))
	h.reopen()
	if diff := cmp.Diff(context, h.s.Context()); diff != "" {
		h.t.Fatalf("the context changes in the next process (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(&state, h.s.State()); diff != "" {
		h.t.Fatalf("the state changes in the next process (-before +after):\n%s", diff)
	}
	if leaf != h.s.Leaf() {
		h.t.Fatalf("the leaf was %s and is %s", leaf, h.s.Leaf())
	}
}

// memoryDir is a folder where flushing to the disk costs nothing, if there is one.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "turnback-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// failing lets a step of a random life fail, so that it is made smaller.
type failing struct {
	testing.TB
	rt *rapid.T
}

func (f failing) Helper()                           { f.rt.Helper() }
func (f failing) Fatal(args ...any)                 { f.rt.Fatal(args...) }
func (f failing) Fatalf(format string, args ...any) { f.rt.Fatalf(format, args...) }

type failer interface{ Fatalf(string, ...any) }

// checkPairs wants results directly behind their call message, in call order,
// none twice and none missing, and no empty messages.
func checkPairs(t failer, messages []session.Message) {
	for i, m := range messages {
		if len(m.Parts) == 0 {
			t.Fatalf("message %d is empty:\n%s", i, shown(messages))
		}
		var results, calls []string
		for _, p := range m.Parts {
			if p.Kind == session.KindResult {
				results = append(results, p.CallID)
			}
		}
		if i > 0 {
			for _, c := range messages[i-1].Calls() {
				calls = append(calls, c.CallID)
			}
		}
		if len(results) > 0 && m.Role != session.RoleTool || !equal(results, calls) {
			t.Fatalf("message %d (%s) has results of %q, the one before it calls %q:\n%s", i, m.Role, results, calls, shown(messages))
		}
		if i == len(messages)-1 && len(m.Calls()) > 0 {
			t.Fatalf("the calls of the last message have no results:\n%s", shown(messages))
		}
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
