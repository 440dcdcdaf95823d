package session_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
)

func opaque(raw string) session.Part {
	return session.Part{Kind: session.KindOpaque, Provider: "anthropic", Raw: json.RawMessage(raw)}
}

func (h *harness) open(goal string) {
	h.t.Helper()
	h.user("begin")
	h.step("", h.checkpoint(goal))
}

const begun = `
user: "begin"
assistant: call1=checkpoint
`

func TestARewindAloneGoesWithItsResult(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.step("", h.read("a"))
	h.step("", h.rewind("r"))
	h.wantContext(begun + "tool: ->call1 " + framed("g", "r", "") + "\n")
	h.same()
}

func TestARewindWithSiblingsStaysToTheByte(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.step("Looking.", h.read("a"))
	parts := []session.Part{
		opaque(`{"type":"thinking","thinking":"a < b","signature":"c2ln"}`),
		session.Text("Both at once."), h.read("b"), h.rewind("r"), h.read("c"),
	}
	asked := h.add(session.Message{Role: session.RoleAssistant, Parts: parts})
	for _, p := range parts[2:] {
		h.add(session.Results(h.result(p)))
	}
	_, err := h.s.Rewind()
	h.must(err)
	// What the message that stays says needs no repeating.
	h.wantContext(begun + "tool: ->call1 " + framed("g", "r", "", "Looking.") + "\n" +
		`assistant: opaque{"type":"thinking","thinking":"a < b","signature":"c2ln"} "Both at once." call3=read call4=rewind call5=read` + "\n" +
		`tool: ->call3 "read of call3" ->call4 "Rewind requested.\nReport captured for context replacement." ->call5 "read of call5"` + "\n")
	if diff := cmp.Diff(*asked.Message, h.s.Context()[3]); diff != "" {
		t.Errorf("the message of the rewind changed:\n%s", diff)
	}
	h.same()
}

func TestWhatStaysFromASpan(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.step("First look.", h.read("a"))
	h.user("also look at the tests")
	h.asks("Second look.", h.read("b"))
	h.add(session.Results(
		session.Part{Kind: session.KindResult, CallID: "call3", Content: []session.Part{session.Text("secret of b")}},
		session.Text("Instructions of sub/CLAUDE.md: use tabs."),
	))
	h.add(session.HostMessage(session.RoleSystem, "a system note"))
	h.add(session.HostMessage(session.RoleDeveloper, conversation.Reminder(1)))
	h.add(session.HostMessage(session.RoleUser, conversation.Reminder(3)))
	h.user("<task-notification>task 1 is done</task-notification>")
	h.add(session.Message{Role: session.RoleUser, Parts: []session.Part{
		session.Text("see"),
		{Kind: session.KindImage, MediaType: "image/png", Data: "aGVsbG8="},
		{Kind: session.KindDocument, MediaType: "application/pdf", Name: "x.pdf", Data: "aGVsbG8="},
	}})
	h.says("Not said before a text of the person's.")
	h.add(session.HostMessage(session.RoleUser, "a note of the host"))
	h.user("<task-notification>task 2 is done</task-notification>")
	h.says("Third look.")
	h.step("Now I know.", h.rewind("r"))
	h.wantContext(begun +
		"tool: ->call1 " + framed("g", "r", "", "First look.", "Second look.", "Now I know.") + `
user: "also look at the tests"
user(host): "Instructions of sub/CLAUDE.md: use tabs."
system(host): "a system note"
user: "<task-notification>task 1 is done</task-notification>"
user: "see" image document
user(host): "a note of the host"
user: "<task-notification>task 2 is done</task-notification>"
`)
	h.same()
}

// What was saved and seen inside a span is still there after the rewind: the file
// only grows, and the number of the files' checkpoint stays with the left branch.
func TestB146ARewindTakesNothingAway(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.must(h.s.Saved("call1", 7))
	h.add(session.Message{Role: session.RoleUser, Parts: []session.Part{{Kind: session.KindImage, MediaType: "image/png", Data: "aGVsbG8="}}})
	h.step("", h.read("a"))
	before := h.file()
	h.step("", h.rewind("r"))
	if !bytes.HasPrefix(h.file(), before) {
		t.Error("the rewind changed what was in the file")
	}
	left := h.s.Entry(h.s.Leaf()).Rewind.FromID
	if data, err := h.s.Data(h.s.Context()[3].Parts[0]); err != nil || data != "aGVsbG8=" {
		t.Errorf("the image that stays: %q, %v", data, err)
	}
	h.must(h.s.MoveLeaf(h.s.Entry(left).ParentID)) // before the rewind's result
	h.reopen()
	if open := h.s.State().Open; open == nil || open.WorkTree != 7 {
		t.Errorf("on the left branch: %+v", open)
	}
}

// The host may come to take a rewind late: what has come behind it stays.
func TestWhatCameBehindTheRewindStays(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.step("", h.read("a"))
	call := h.rewind("r")
	h.asks("", call)
	h.add(session.Results(h.result(call), session.Text("A note beside it.")))
	h.reopen()
	h.user("go on")
	h.step("I say.", h.read("b"))
	h.wantContext(begun + "tool: ->call1 " + framed("g", "r", "") + `
user(host): "A note beside it."
user: "go on"
assistant: "I say." call4=read
tool: ->call4 "read of call4"
`)
	h.same()
}

func TestAPairThatLoadedAToolStays(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	find, read := h.call("find_tools", map[string]string{"query": "web"}), h.read("a")
	signed := opaque(`{"type":"thinking","signature":"x"}`)
	h.add(session.Message{Role: session.RoleAssistant, Parts: []session.Part{signed, session.Text("I need a tool."), find, read}})
	loaded := h.result(find)
	loaded.Loads = []string{"fetch"}
	h.add(session.Results(h.result(read), loaded))
	h.step("", h.rewind("r"))
	h.wantContext(begun +
		"tool: ->call1 " + framed("g", "r", "", "I need a tool.") + `
assistant: opaque{"type":"thinking","signature":"x"} call2=find_tools
tool: ->call2 "find_tools of call2"
`)
	if got := h.s.Context()[4].Parts[0].Loads; len(got) != 1 || got[0] != "fetch" {
		t.Errorf("loaded: %q", got)
	}
	h.same()
}

func TestFactsOfTheSecondBlock(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	call := h.rewind("r")
	h.asks("", call)
	result := h.result(call)
	result.Content = append(result.Content, session.Text("Files changed since the checkpoint: a (work-tree checkpoint 3)"))
	h.add(session.Results(result))
	_, err := h.s.Rewind()
	h.must(err)
	h.wantContext(begun + "tool: ->call1 " + framed("g", "r", "Files changed since the checkpoint: a (work-tree checkpoint 3)") + "\n")
}

func TestB137ThreeCyclesInOneSession(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	for i, goal := range []string{"one", "two", "three"} {
		h.step("", h.checkpoint(goal))
		h.step("", h.read("x"))
		h.step("", h.rewind("report "+goal))
		text := shown(h.s.Context())
		if got := strings.Count(text, "<checkpoint-report>"); got != i+1 {
			t.Fatalf("%d reports after %d rewinds:\n%s", got, i+1, text)
		}
		if strings.Contains(text, "call rewind") || strings.Contains(text, "read of") {
			t.Fatalf("after rewind %d the model still reads:\n%s", i+1, text)
		}
		h.same()
	}
}

// Signed blocks stay as they are: before, inside kept messages, and behind.
func TestB142SignedBlocksStayToTheByte(t *testing.T) {
	h := newHarness(t)
	block := func(n string) session.Part {
		return opaque(`{"type":"thinking","a":1.0,"a":9007199254740993,"s":"<\u2028&>","z":"é\u00e9","n":"` + n + `"}`)
	}
	message := func(n string, calls ...session.Part) {
		h.add(session.Message{Role: session.RoleAssistant, Parts: append([]session.Part{block(n)}, calls...)})
		for _, c := range calls {
			h.add(session.Results(h.result(c)))
		}
	}
	h.user("begin")
	message("before", h.read("a"))
	message("checkpoint", h.checkpoint("g"))
	message("inside", h.read("b"))
	message("rewind", h.rewind("r"), h.read("c"))
	_, err := h.s.Rewind()
	h.must(err)
	message("behind", h.read("d"))
	h.reopen()
	var got []string
	for _, m := range h.s.Context() {
		for _, p := range m.Parts {
			if p.Kind == session.KindOpaque {
				got = append(got, string(p.Raw))
			}
		}
	}
	var want []string
	for _, n := range []string{"before", "checkpoint", "rewind", "behind"} {
		want = append(want, string(block(n).Raw))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signed blocks (-want +got):\n%s", diff)
	}
}

func TestB143ACompactionIsCarried(t *testing.T) {
	h := newHarness(t)
	h.open("the goal")
	for range 100 {
		h.step("", h.read("x"))
	}
	kept := h.s.Leaf() // a result: its call has to be kept, too
	_, err := h.s.Compact(session.Compaction{Summary: "100 files were read.", FirstKept: kept, Tokens: 1000})
	h.must(err)
	h.wantContext(`
user(compaction): "100 files were read.\n\nA checkpoint is open at this point. Goal: the goal"
assistant: call101=read
tool: ->call101 "read of call101"
`)
	h.same()
	h.user("go on")
	h.reopen()
	h.step("", h.rewind("nothing there"))
	h.wantContext(begun + "tool: ->call1 " + framed("the goal", "nothing there", "") + "\n" + `user: "go on"` + "\n")
	h.same()
}

func TestACompactionPartsNoReportFromItsCheckpoint(t *testing.T) {
	h := newHarness(t)
	h.open("g")
	h.step("", h.read("x"))
	h.user("typed")
	call := h.rewind("r")
	h.asks("", call)
	h.add(session.Results(h.result(call)))
	rewound, err := h.s.Rewind()
	h.must(err)
	h.says("Done.")
	want := `
user(compaction): "so far"
assistant: call1=checkpoint
tool: ->call1 ` + framed("g", "r", "") + `
user: "typed"
assistant: "Done."
`
	_, err = h.s.Compact(session.Compaction{Summary: "so far", FirstKept: rewound.ID})
	h.must(err)
	h.wantContext(want)
	h.same()

	_, err = h.s.Compact(session.Compaction{Summary: "all of it"})
	h.must(err)
	h.wantContext("\n" + `user(compaction): "all of it"` + "\n")
	if _, err := h.s.Compact(session.Compaction{FirstKept: "nowhere"}); err == nil {
		t.Error("an entry that is not on the branch can be kept from")
	}
}
