package coder_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/coder"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func contains(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, text)
		}
	}
}

func lacks(t *testing.T, what, text string, unwanted ...string) {
	t.Helper()
	for _, word := range unwanted {
		if strings.Contains(text, word) {
			t.Errorf("%s has %q:\n%s", what, word, text)
		}
	}
}

const (
	sum  = "sum() { echo $(($1 - $2)); }\n"
	test = ". ./sum.sh\n[ \"$(sum 2 3)\" = 5 ] && echo PASS || { echo FAIL; exit 1; }\n"
)

// The whole point: a failing test is made green, and the turn is told.
func TestEditsUntilTheTestsPass(t *testing.T) {
	h := newHouse(
		t,
		calls("glob", "pattern", "*.sh"),
		calls("read", "path", "sum.sh", "", "read", "path", "test.sh"),
		calls("bash", "command", "sh test.sh"),
		calls("edit", "path", "sum.sh", "old", "$1 - $2", "new", "$1 + $2"),
		calls("bash", "command", "sh test.sh"),
		says("The test passes now."),
	)
	h.write("sum.sh", sum)
	h.write("test.sh", test)
	got := h.works(coder.Flags{Prompt: "make the test pass"})
	equal(t, "output", got.out, "The test passes now.\n")
	contains(t, "file", h.read("sum.sh"), "$1 + $2")
	equal(t, "history", shape(h.last()), strings.TrimSpace(`
user: make the test pass
glob
tool: sum.sh
read+read
tool: sum() { echo $(($1 - $2)); }
tool: . ./sum.sh
bash
tool: FAIL
edit
tool: Edited sum.sh.
bash
tool: PASS`))
	equal(t, "reports", h.daemon.rest(), "session_start prompt stop session_end")
	stop := h.daemon.reports[len(h.daemon.reports)-2]
	if stop.Kind != api.ReportStop || stop.TranscriptPlace == "" || stop.SessionID != h.session().ID() || stop.Message != "The test passes now." {
		t.Errorf("the end of the turn is told as %+v", stop)
	}
	for _, r := range h.daemon.reports {
		if r.Kind == api.ReportToolStart && r.ToolWrites && len(r.Paths) == 1 && strings.HasSuffix(r.Paths[0], "/sum.sh") {
			return
		}
	}
	t.Error("no report names the file that was edited")
}

// explored are replies that check, explore and rewind.
func explored(report string) []fakemodel.ChatReply {
	return []fakemodel.ChatReply{
		calls("find_tools", "query", "checkpoint"),
		calls("checkpoint", "goal", "find the bug"),
		calls("read", "path", "sum.sh"),
		{Text: "Nearly there.", Calls: calls("bash", "command", "cat test.sh").Calls},
		calls("rewind", "report", report),
	}
}

func TestSeedCheckpointExploreRewind(t *testing.T) {
	h := newHouse(t, append(explored("sum.sh subtracts"), says("It subtracts."))...)
	h.write("sum.sh", sum)
	h.write("test.sh", test)
	h.works(coder.Flags{Prompt: "find the bug", Conversation: true})

	requests := h.model.Requests()
	contains(t, "tools behind find_tools", strings.Join(requests[1].Tools, " "), "checkpoint", "rewind")
	lacks(t, "tools before", strings.Join(requests[0].Tools, " "), "checkpoint", "rewind")
	equal(t, "history behind the rewind", shape(h.last()), strings.TrimSpace(`
user: find the bug
find_tools
tool: These can be called now:
checkpoint
tool: Checkpoint created.`))
	result := h.last().Messages[len(h.last().Messages)-1].Text()
	contains(t, "result", result, "Checkpoint created.\nGoal: find the bug", "sum.sh subtracts", "Files changed since the checkpoint: a.go, b.go (work-tree checkpoint 7)", "Already said to the user:\nNearly there.")
	lacks(t, "result", result, conversation.InvestigateLine)
	if n := strings.Count(string(h.last().Body), "sum.sh subtracts"); n != 1 {
		t.Errorf("the report is there %d times", n)
	}

	before := string(requests[len(requests)-2].Body)
	contains(t, "request before the rewind", before, "echo $(($1 - $2))")

	// A process that was killed and goes on sends the same.
	h.model.Add(says("Yes."))
	h.works(coder.Flags{Prompt: "sure?", Continue: true, Conversation: true})
	equal(t, "history after a resume", shape(h.last()), shape(requests[len(requests)-1])+"\nassistant: It subtracts.\nuser: sure?")
	prefix := func(r fakemodel.ChatRequest, n int) (all string) {
		for _, m := range r.Messages[:n] {
			all += string(m.Raw)
		}
		return all
	}
	n := len(requests[len(requests)-1].Messages)
	equal(t, "prefix after a resume", prefix(h.last(), n), prefix(requests[len(requests)-1], n))
}

func TestReadInsideASpanIsShownAgainBehindTheRewind(t *testing.T) {
	replies := append([]fakemodel.ChatReply{calls("read", "path", "test.sh")}, explored("it subtracts")...)
	replies = append(replies, calls("read", "path", "sum.sh", "", "read", "path", "test.sh"), says("done"))
	h := newHouse(t, replies...)
	h.write("sum.sh", sum)
	h.write("test.sh", test)
	h.works(coder.Flags{Prompt: "go", Conversation: true})
	m := h.last().Messages
	equal(t, "read again", m[len(m)-2].Text(), sum)
	equal(t, "read before the span, unchanged", m[len(m)-1].Text(), "test.sh has not changed since it was read above.")
}

// Servers at home give every call the same id, or none.
func TestIDsThatComeAgainAreMadeAnew(t *testing.T) {
	replies := append(explored("it subtracts"), calls("read", "path", "sum.sh"), says("done"))
	for i := range replies {
		for j := range replies[i].Calls {
			replies[i].Calls[j].ID = "call_0"
		}
	}
	h := newHouse(t, replies...)
	h.write("sum.sh", sum)
	h.write("test.sh", test)
	h.works(coder.Flags{Prompt: "go", Conversation: true, RewindFiles: true})
	if n := strings.Count(strings.Join(h.daemon.verbs, " "), "save-checkpoint"); n != 1 {
		t.Errorf("the files were saved %d times for one checkpoint: a rewind would restore the last ones", n)
	}
	m := h.last().Messages
	equal(t, "read again behind the rewind", m[len(m)-1].Text(), sum)
	seen := map[string]bool{}
	for _, message := range m {
		for _, call := range message.Calls {
			if seen[call.ID] {
				t.Errorf("two calls are sent as %s", call.ID)
			}
			seen[call.ID] = true
		}
	}
}

func TestRefusals(t *testing.T) {
	refusal := func(name, want string, replies ...fakemodel.ChatReply) {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, append(replies, fakemodel.ChatReply{Text: "ok", Keep: true})...)
			h.write("sum.sh", sum)
			h.works(coder.Flags{Prompt: "go", Conversation: true})
			for _, r := range h.model.Requests() {
				for _, m := range r.Messages {
					if m.Role == "tool" && m.Text() == want {
						return
					}
				}
			}
			t.Errorf("no result says %q", want)
		})
	}
	refusal("nested", "Checkpoint already active.", calls("checkpoint", "goal", "a"), calls("checkpoint", "goal", "b"))
	refusal("second in a batch", "Checkpoint already active.", calls("checkpoint", "goal", "a", "", "checkpoint", "goal", "b"))
	refusal("goal", "Goal cannot be empty.", calls("checkpoint", "goal", " "))
	refusal("report", "Report cannot be empty.", calls("checkpoint", "goal", "a"), calls("rewind", "report", "\n"))
	refusal("long report", "Report too long.", calls("checkpoint", "goal", "a"), calls("rewind", "report", strings.Repeat("r", conversation.MaxReport+1)))
	refusal("B133 twice in a batch", "Checkpoint already completed; continue from the retained report instead of calling rewind again.",
		calls("checkpoint", "goal", "a"), calls("rewind", "report", "r", "", "rewind", "report", "again"))
	refusal("none", "No active checkpoint. Create a checkpoint before calling rewind.", calls("rewind", "report", "r"))
	refusal("own batch", "No active checkpoint. Create a checkpoint before calling rewind.", calls("checkpoint", "goal", "a", "", "rewind", "report", "r"))
	refusal("B133 twice", "Checkpoint already completed; continue from the retained report instead of calling rewind again.",
		calls("checkpoint", "goal", "a"), calls("rewind", "report", "r"), calls("rewind", "report", "again"))
	refusal("disabled by a subagent", "Checkpoint not available in subagents.", calls("task", "prompt", "look"), calls("checkpoint", "goal", "a"))
}

func TestSubagentGetsRefusals(t *testing.T) {
	h := newHouse(
		t,
		calls("checkpoint", "goal", "the parent's"),
		calls("task", "prompt", "look at sum.sh"),
		calls("rewind", "report", "from below"),
		calls("read", "path", "sum.sh"),
		says("it subtracts"),
		calls("rewind", "report", "done"),
		says("end"),
	)
	h.write("sum.sh", sum)
	h.works(coder.Flags{Prompt: "go", Conversation: true})
	r := h.model.Requests()
	equal(t, "the helper's conversation", shape(r[4]), strings.TrimSpace(`
user: look at sum.sh
rewind
tool: Rewind not available in subagents.
read
tool: sum() { echo $(($1 - $2)); }`))
	lacks(t, "tools of the helper", strings.Join(r[2].Tools, " "), "task", "checkpoint", "rewind", "find_tools")
	equal(t, "the report of the helper", r[5].Messages[len(r[5].Messages)-1].Text(), "it subtracts")
}

func TestWithoutTheGateThereAreNoCheckpoints(t *testing.T) {
	h := newHouse(t, calls("find_tools", "query", ""), calls("checkpoint", "goal", "a"), says("ok"))
	h.works(coder.Flags{Prompt: "go"})
	m := h.last().Messages
	equal(t, "find_tools", m[3].Text(), "There are no further tools for that.")
	equal(t, "checkpoint", m[5].Text(), `there is no tool "checkpoint"`)
}

func TestBatchWithACheckpointBetweenSiblings(t *testing.T) {
	h := newHouse(
		t,
		calls("read", "path", "sum.sh", "", "checkpoint", "goal", "a", "", "bash", "command", "echo sibling"),
		calls("bash", "command", "echo inside"),
		calls("rewind", "report", "found"),
		says("end"),
	)
	h.write("sum.sh", sum)
	h.works(coder.Flags{Prompt: "go", Conversation: true})
	equal(t, "history", shape(h.last()), strings.TrimSpace(`
user: go
read+checkpoint+bash
tool: sum() { echo $(($1 - $2)); }
tool: Checkpoint created.
tool: sibling`))
}

func TestRewindWithOtherCallsInItsMessageStays(t *testing.T) {
	h := newHouse(
		t,
		calls("checkpoint", "goal", "a"),
		calls("bash", "command", "echo inside"),
		calls("rewind", "report", "found", "", "bash", "command", "echo beside"),
		says("end"),
	)
	h.works(coder.Flags{Prompt: "go", Conversation: true})
	equal(t, "history", shape(h.last()), strings.TrimSpace(`
user: go
checkpoint
tool: Checkpoint created.
rewind+bash
tool: Rewind requested.
tool: beside`))
}

func TestGuardRemindsThreeTimes(t *testing.T) {
	h := newHouse(t, calls("checkpoint", "goal", "a"), fakemodel.ChatReply{Text: "I rest.", Keep: true})
	got := h.works(coder.Flags{Prompt: "go", Conversation: true})
	if n := len(h.model.Requests()); n != 5 { // the checkpoint, the first rest, and one for each reminder
		t.Errorf("the model was asked %d times", n)
	}
	contains(t, "note", got.about, `The checkpoint "a" is still open`)
	reminders := 0
	for _, m := range h.last().Messages {
		if conversation.IsReminder(m.Text()) {
			reminders++
			equal(t, "role of a reminder", m.Role, "user")
		}
	}
	if reminders != conversation.MaxReminders {
		t.Errorf("%d reminders", reminders)
	}
	if h.session().State().Open == nil {
		t.Error("the checkpoint is closed")
	}
	// A rewind later takes the reminders out.
	h2 := newHouse(t, calls("checkpoint", "goal", "a"), says("I rest."), calls("rewind", "report", "r"), says("end"))
	h2.works(coder.Flags{Prompt: "go", Conversation: true})
	equal(t, "history", shape(h2.last()), "user: go\ncheckpoint\ntool: Checkpoint created.")
	contains(t, "result", h2.last().Messages[3].Text(), "Already said to the user:\nI rest.")
}

// abortsWhen runs a turn that is aborted once the model has been asked n times.
func (h *house) abortsWhen(n int, f coder.Flags) outcome {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		for len(h.model.Requests()) < n && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // for what had come to be read
		cancel()
	}()
	f.Yes = true
	got := h.does(ctx, f)
	<-stop
	return got
}

func TestB136AbortClearsTheCheckpointForGood(t *testing.T) {
	h := newHouse(t, calls("checkpoint", "goal", "a"), fakemodel.ChatReply{Text: "I am looking", Hang: true})
	got := h.abortsWhen(2, coder.Flags{Prompt: "go", Conversation: true})
	if !errors.Is(got.err, context.Canceled) {
		t.Errorf("error %v", got.err)
	}
	contains(t, "note", got.about, `The checkpoint "a" was cleared`)
	equal(t, "reports", h.daemon.rest(), "session_start prompt aborted session_end")
	h.model.Add(calls("rewind", "report", "r"), says("ok"))
	h.works(coder.Flags{Prompt: "and now", Continue: true, Conversation: true})
	equal(t, "history", shape(h.last()), strings.TrimSpace(`
user: go
checkpoint
tool: Checkpoint created.
assistant: I am looking
user: and now
rewind
tool: No active checkpoint. Create a checkpoint before calling rewind.`))
}

func TestB136KeepOnAbort(t *testing.T) {
	h := newHouse(t, calls("checkpoint", "goal", "a"), fakemodel.ChatReply{Text: "I am looking", Hang: true})
	h.config.Conversation.Checkpoint.KeepOnAbort = true
	h.abortsWhen(2, coder.Flags{Prompt: "go", Conversation: true})
	h.model.Add(calls("rewind", "report", "r"), says("ok"))
	h.works(coder.Flags{Prompt: "and now", Continue: true, Conversation: true})
	equal(t, "history", shape(h.last()), "user: go\ncheckpoint\ntool: Checkpoint created.\nuser: and now")
}

func TestB139AbortedToolHasAResult(t *testing.T) {
	h := newHouse(t, calls("bash", "command", "echo one", "", "bash", "command", "sleep 60", "", "bash", "command", "echo three"))
	h.abortsWhen(1, coder.Flags{Prompt: "go"})
	h.model.Add(says("ok"))
	h.works(coder.Flags{Prompt: "on", Continue: true})
	m := h.last().Messages
	equal(t, "first", m[3].Text(), "one\n")
	equal(t, "second", m[4].Text(), "[interrupted by the user]")
	contains(t, "third", m[5].Text(), "Interrupted")
}

func TestCommandsDoNotSeeKeys(t *testing.T) {
	h := newHouse(t, calls("bash", "command", "env"), says("end"))
	h.env["OPENAI_API_KEY"], h.env["ANTHROPIC_API_KEY"], h.env["HOME_KEY"], h.env["OTHER"] = "k1-secret", "k2-secret", "k3-secret", "seen"
	h.config.Agent.Endpoints = map[string]config.Endpoint{"home": {URL: h.model.URL, KeyEnv: "HOME_KEY"}}
	h.works(coder.Flags{Prompt: "go", Model: "home/m"})
	contains(t, "environment", h.last().Messages[3].Text(), "OTHER=seen")
	lacks(t, "environment", h.last().Messages[3].Text(), "secret")
	equal(t, "the key of the endpoint", h.last().Key, "set")
}

func TestFilesAreAskedFor(t *testing.T) {
	h := newHouse(t, calls("write", "path", "a.txt", "content", "x"), says("no"))
	got := h.does(t.Context(), coder.Flags{Prompt: "go"})
	if got.err != nil {
		t.Fatal(got.err)
	}
	contains(t, "result", h.last().Messages[3].Text(), "there is no terminal to ask", "--yes")
}

func TestRewindFiles(t *testing.T) {
	replies := func() []fakemodel.ChatReply { return append(explored("found"), says("end")) }
	h := newHouse(t, replies()...)
	h.write("sum.sh", sum)
	h.works(coder.Flags{Prompt: "go", Conversation: true, RewindFiles: true})
	contains(t, "calls of the daemon", strings.Join(h.daemon.verbs, " "), "save-checkpoint", "restore-checkpoint")
	equal(t, "history", shape(h.last()), "user: go\nfind_tools\ntool: These can be called now:\ncheckpoint\ntool: Checkpoint created.")

	refused := newHouse(t, replies()...)
	refused.write("sum.sh", sum)
	refused.daemon.refuse = api.Errorf(api.CodeNotReady, "another agent is mid-turn")
	refused.model.Add(fakemodel.ChatReply{Text: "ok", Keep: true})
	refused.works(coder.Flags{Prompt: "go", Conversation: true, RewindFiles: true})
	contains(t, "history", string(refused.last().Body), "nothing was rewound", "another agent is mid-turn", "echo $(($1 - $2))")
	if refused.session().State().Open == nil {
		t.Error("the checkpoint is closed though the files were not restored")
	}
}

func TestUsageIsKept(t *testing.T) {
	h := newHouse(t, append(explored("found"), fakemodel.ChatReply{Text: "end", Usage: map[string]int{"prompt_tokens": 1234}})...)
	h.write("sum.sh", strings.Repeat(sum, 100))
	h.works(coder.Flags{Prompt: "go", Conversation: true})
	var last string
	for _, e := range h.session().Branch() {
		if e.Custom == "usage" {
			last = string(e.Data)
		}
	}
	contains(t, "usage", last, `"tokens":1234`)
	var before, after int
	for _, e := range h.session().Branch() {
		if e.Custom == "usage" {
			before, after = number(t, e.Data, "bytes_before"), number(t, e.Data, "bytes_after")
		}
	}
	if before < after+3000 || after == 0 {
		t.Errorf("before %d bytes, after %d", before, after)
	}
	// Tokens are of the whole request, so the bytes are, too: what the system prompt
	// and the tools take is not saved. The library adds that it wants a stream.
	if sent := len(h.last().Body); after != sent-len(`"stream":true,`) {
		t.Errorf("%d bytes are told, %d were sent", after, sent)
	}
}

func TestCompactionCarriesTheCheckpoint(t *testing.T) {
	h := newHouse(
		t,
		calls("checkpoint", "goal", "a"),
		fakemodel.ChatReply{Calls: calls("bash", "command", "echo long").Calls, Usage: map[string]int{"prompt_tokens": 90_000}},
		says("SUMMARY"),
		calls("rewind", "report", "found"),
		says("end"),
	)
	h.config.Agent.Window = 100_000
	got := h.works(coder.Flags{Prompt: "go", Conversation: true})
	contains(t, "note", got.about, "the conversation was made shorter")
	r := h.model.Requests()
	contains(t, "behind the compaction", string(r[3].Body), "SUMMARY", "A checkpoint is open", "Goal: a")
	contains(t, "tools behind the compaction", strings.Join(r[3].Tools, " "), "rewind")
	lacks(t, "behind the compaction", string(r[3].Body), "echo long")
	equal(t, "behind the rewind", shape(h.last()), "user: go\ncheckpoint\ntool: Checkpoint created.")
}

func TestErrorsSayWhatToDo(t *testing.T) {
	gives := func(r fakemodel.ChatReply) func(*house, *coder.Flags) {
		return func(h *house, _ *coder.Flags) { h.model.Add(r) }
	}
	page := fakemodel.ChatReply{Body: "<!DOCTYPE html>\n<title>Welcome</title>\n", Type: "text/html; charset=utf-8"}
	cases := []struct {
		name   string
		change func(h *house, f *coder.Flags)
		want   string
		hint   string
		code   api.Code
	}{
		{"no model", func(_ *house, f *coder.Flags) { f.Model = "test-model" }, `"test-model" names no provider`, "", api.CodeInvalidParams},
		{"no key", func(h *house, _ *coder.Flags) { h.env["OPENAI_BASE_URL"] = "" }, "there is no key for https://api.openai.com/v1", "set OPENAI_API_KEY", api.CodeNoKey},
		{"no anthropic key", func(_ *house, f *coder.Flags) { f.Model = "anthropic/x" }, "there is no key for https://api.anthropic.com", "set ANTHROPIC_API_KEY", api.CodeNoKey},
		{"a web page", gives(page), "does not answer as a model's API: it sent text/html in the place of events", "is OPENAI_BASE_URL right", api.CodeModelFailed},
		{"no stream", gives(fakemodel.ChatReply{Body: `{"choices":[]}`, Type: "application/json"}), "it sent application/json", "is OPENAI_BASE_URL right", api.CodeModelFailed},
		{"an error in the stream", gives(fakemodel.ChatReply{Body: `data: {"error":{"message":"the engine fell over"}}` + "\n\n", Type: "text/event-stream"}), "/v1 answered with an error: received error while streaming: ", "", api.CodeModelFailed},
		{"no JSON in the stream", gives(fakemodel.ChatReply{Body: "data: {no json}\n\n", Type: "text/event-stream"}), "does not answer as a model's API: an event is no JSON: invalid character", "is OPENAI_BASE_URL right", api.CodeModelFailed},
		{"418 without a word", gives(fakemodel.ChatReply{Status: 418}), "/v1 answered with status 418", "", api.CodeModelFailed},
		{"an empty answer", gives(fakemodel.ChatReply{}), "openai/test-model gave an empty answer (stop)", "ask again", api.CodeModelFailed},
		{"an empty answer that was cut", gives(fakemodel.ChatReply{Finish: "length"}), "gave an empty answer (length)", "ask for less", api.CodeModelFailed},
		{"a filter", gives(fakemodel.ChatReply{Text: "I", Finish: "content_filter"}), "openai/test-model declined to answer (content_filter)", "in other words", api.CodeModelFailed},
		{"--rewind-files alone", func(_ *house, f *coder.Flags) { f.RewindFiles = true }, "--rewind-files is about rewinds", "add --conversation", api.CodeInvalidParams},
		{"no such provider", func(_ *house, f *coder.Flags) { f.Model = "nowhere/x" }, `there is no provider "nowhere"`, "", api.CodeInvalidParams},
		{"refused", func(h *house, _ *coder.Flags) { h.env["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1" }, "no answer from http://127.0.0.1:1/v1", "OPENAI_BASE_URL", api.CodeModelFailed},
		{"401", gives(fakemodel.ChatReply{Status: 401, Message: "bad key"}), "does not take the key: bad key", "check OPENAI_API_KEY", api.CodeModelFailed},
		{"404", gives(fakemodel.ChatReply{Status: 404, Message: "no such model"}), "knows no model test-model", "--model", api.CodeModelFailed},
		{"too long", func(h *house, _ *coder.Flags) {
			h.model.Add(fakemodel.ChatReply{Status: 400, Message: "maximum context length exceeded", Keep: true})
		}, "the conversation is too long for test-model", "start anew without --continue", api.CodeModelFailed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			f := coder.Flags{Prompt: "go", Model: "openai/test-model"}
			c.change(h, &f)
			got := h.does(t.Context(), f)
			e := api.AsError(got.err)
			if e == nil || !strings.Contains(e.Message, c.want) || e.Code != c.code {
				t.Fatalf("error %+v", e)
			}
			if c.hint != "" && (e.Hint == nil || !strings.Contains(e.Hint.Detail, c.hint)) {
				t.Errorf("hint %+v", e.Hint)
			}
		})
	}
}

func TestWorksWithoutADaemonAndSaysSoOnce(t *testing.T) {
	h := newHouse(t, calls("bash", "command", "echo 1"), says("end"))
	h.daemon.none = true
	got := h.works(coder.Flags{Prompt: "go"})
	if n := strings.Count(got.about, "Turns are not saved: no daemon is running"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, got.about)
	}
}

func TestJSONLines(t *testing.T) {
	h := newHouse(t, calls("bash", "command", "echo 1"), says("end"))
	got := h.works(coder.Flags{Prompt: "go", JSON: true})
	for _, want := range []string{`{"type":"call",`, `"arguments":{"command":"echo 1"}`, `{"type":"result",`, `{"type":"text","text":"end"}`, `{"type":"usage",`, `{"type":"end","session":"`, `"ok":true}`} {
		contains(t, "lines", got.out, want)
	}
	equal(t, "standard error", got.about, "")
}
