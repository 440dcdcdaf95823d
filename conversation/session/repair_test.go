package session_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation/session"
)

// A conversation that is cut behind any of its entries is one that providers take.
func TestB139CutAnywhere(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	h.step("one", h.read("a"))
	h.step("two", h.read("b"), h.checkpoint("g"), h.read("c"))
	h.step("three", h.read("d"), h.read("e"))
	h.step("", h.rewind("r"), h.read("f"))
	h.says("done")
	whole := h.s.Context()
	entries := h.s.Entries()
	for i, e := range entries {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			h.must(h.s.MoveLeaf(e.ID))
			checkPairs(t, h.s.Context())
			h.sameInNextProcess()
			fork, err := h.lib.Fork(h.s.ID(), e.ID, "/")
			h.must(err)
			defer fork.Close()
			_, err = fork.Append(session.UserMessage("go on"))
			h.must(err)
			checkPairs(t, fork.Context())
		})
	}
	h.must(h.s.MoveLeaf(entries[len(entries)-1].ID))
	if shown(h.s.Context()) != shown(whole) {
		t.Errorf("the moves changed the conversation to\n%s", shown(h.s.Context()))
	}
}

func TestB139AnInterruptedTool(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	h.asks("", h.read("a"), h.read("b"))
	h.user("what happened?")
	h.wantContext(`
user: "begin"
assistant: call1=read call2=read
tool: ->call1 "Interrupted: this call has no result."! ->call2 "Interrupted: this call has no result."!
user: "what happened?"
`)
	// The file has what happened, and nothing else.
	file, err := os.ReadFile(h.s.Path())
	h.must(err)
	if strings.Contains(string(file), "Interrupted") {
		t.Errorf("the repair is in the file:\n%s", file)
	}
}

func TestB140ParallelCallsInTheirOrder(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	a, cp, b := h.read("a"), h.checkpoint("g"), h.read("b")
	h.asks("", a, cp, b)
	// Results come in any order, one is left out by the abort, one comes twice,
	// one belongs to nothing, and the person typed in between.
	h.add(session.Results(h.result(b)))
	h.user("typed ahead")
	stray := session.Part{Kind: session.KindResult, CallID: "stray", Content: []session.Part{session.Text("x")}}
	h.add(session.Results(stray, h.result(cp), h.result(b)))
	_, err := h.s.Abort(true)
	h.must(err)
	h.reopen()
	h.step("", h.read("c"))
	h.step("", h.rewind("r"))
	want := `
user: "begin"
assistant: call1=read call2=checkpoint call3=read
tool: ->call1 "Interrupted: this call has no result."! ->call2 ` + framed("g", "r", "") + ` ->call3 "read of call3"
user: "typed ahead"
`
	h.wantContext(want)
	h.reopen()
	h.wantContext(want)
	h.same()
}

// Some servers give each message's calls the same ids again.
func TestB140IdsThatComeAgain(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	same := func(p session.Part) session.Part { p.CallID = "call_0"; return p }
	step := func(calls ...session.Part) {
		for i := range calls {
			calls[i] = same(calls[i])
		}
		h.asks("", calls...)
		for _, c := range calls {
			result := h.result(c)
			result.Content[0].Text = strings.Replace(result.Content[0].Text, "call_0", c.Arguments, 1)
			h.add(session.Results(result))
		}
		if h.s.Due() != nil {
			_, err := h.s.Rewind()
			h.must(err)
		}
	}
	step(h.read("a"), h.read("b"))
	step(h.checkpoint("g"))
	step(h.read("c"))
	step(h.rewind("r"))
	step(h.read("d"))
	h.wantContext(`
user: "begin"
assistant: call_0=read call_0=read
tool: ->call_0 "read of {\"path\":\"a\"}" ->call_0 "read of {\"path\":\"b\"}"
assistant: call_0=checkpoint
tool: ->call_0 ` + framed("g", "r", "") + `
assistant: call_0=read
tool: ->call_0 "read of {\"path\":\"d\"}"
`)
	h.same()
}

func TestWhatIsCutOffWhileStreaming(t *testing.T) {
	h := newHarness(t)
	h.user("begin")
	cut := h.read("a")
	cut.Arguments = `{"path":"/src/a`
	h.add(session.Message{Role: session.RoleAssistant, Parts: []session.Part{opaque(`{"type":"thinking"}`)}})
	h.add(session.Message{Role: session.RoleAssistant})
	h.add(session.Message{Role: session.RoleAssistant, Parts: []session.Part{session.Text(" \n"), cut}})
	context := h.s.Context()
	h.wantContext(`
user: "begin"
assistant: call1=read
tool: ->call1 "Interrupted: this call has no result."!
`)
	if got := context[1].Parts[0].Arguments; got != "{}" {
		t.Errorf("arguments that are sent: %s", got)
	}
	h.reopen()
	calls := 0
	for _, e := range h.s.Branch() {
		if e.Type == session.TypeMessage && slices.ContainsFunc(e.Message.Parts, func(p session.Part) bool { return p.Arguments == cut.Arguments }) {
			calls++
		}
	}
	if calls != 1 {
		t.Error("the file does not have what the model wrote")
	}
}
