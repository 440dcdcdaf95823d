package coder_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/coder"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// claudeHouse has a scripted Anthropic Messages API in the place of the other.
func claudeHouse(t *testing.T, entries ...fakemodel.Entry) (*house, *fakemodel.Server) {
	t.Helper()
	h := newHouse(t)
	s := fakemodel.Start(t, entries...)
	h.env["ANTHROPIC_BASE_URL"], h.env["ANTHROPIC_API_KEY"] = s.URL, "key"
	return h, s
}

func (h *house) asksClaude(s *fakemodel.Server, f coder.Flags) outcome {
	h.t.Helper()
	f.Model = "anthropic/claude-test"
	got := h.works(f)
	for _, problem := range s.Problems() {
		h.t.Error("a request breaks a rule: " + problem)
	}
	if left := s.Pending(); len(left) > 0 {
		h.t.Errorf("%d scripted replies were not asked for", len(left))
	}
	return got
}

func bash(command string) fakemodel.Block {
	return fakemodel.Tool("bash", map[string]any{"command": command})
}

func content(blocks ...fakemodel.Block) fakemodel.Entry { return fakemodel.Entry{Content: blocks} }

func TestAnthropicCheckpointRewind(t *testing.T) {
	h, s := claudeHouse(
		t,
		content(fakemodel.Thinking("I mark"), fakemodel.Tool("checkpoint", map[string]any{"goal": "look"})),
		content(fakemodel.Text("looking"), bash("echo inside"), bash("echo too")),
		content(fakemodel.Tool("rewind", map[string]any{"report": "found it"})),
		content(fakemodel.Text("end")),
	)
	got := h.asksClaude(s, coder.Flags{Prompt: "go", Conversation: true})
	equal(t, "output", got.out, "looking\nend\n")
	requests := s.Requests()
	last := string(requests[len(requests)-1].Body)
	contains(t, "last request", last, "found it", `"signature":"c2lnbmF0dXJl"`, `"thinking":"I mark"`)
	lacks(t, "last request", last, "echo inside", "Run your investigation")
	var body struct {
		Messages []json.RawMessage `json:"messages"`
		Stream   bool              `json:"stream"`
	}
	if err := json.Unmarshal([]byte(last), &body); err != nil || len(body.Messages) != 3 || !body.Stream {
		t.Errorf("the last request has %d messages: %v", len(body.Messages), err)
	}
}

// The prefix that a provider caches stays, byte by byte, while nothing is rewound.
func TestPrefixGrowsAtItsEnd(t *testing.T) {
	h, s := claudeHouse(t, content(fakemodel.Thinking("hm"), bash("echo 1")), content(bash("echo 2")), content(fakemodel.Text("end")))
	h.asksClaude(s, coder.Flags{Prompt: "go"})
	var before []string
	for i, r := range s.Requests() {
		var body struct {
			Messages []json.RawMessage `json:"messages"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		for j, m := range before {
			if string(body.Messages[j]) != m {
				t.Errorf("request %d, message %d is %s, was %s", i, j, body.Messages[j], m)
			}
		}
		before = nil
		for _, m := range body.Messages {
			before = append(before, string(m))
		}
	}
}

func TestB142SignaturesAreStrippedOnceBehindARefusal(t *testing.T) {
	refused := &fakemodel.APIError{Status: 400, Type: "invalid_request_error", Message: "messages.1.content.0: Invalid `signature` in `thinking` block"}
	h, s := claudeHouse(
		t,
		content(fakemodel.Thinking("old"), bash("echo 1")),
		fakemodel.Entry{Error: refused},
		content(fakemodel.Thinking("new"), bash("echo 2")),
		content(fakemodel.Text("end")),
	)
	got := h.asksClaude(s, coder.Flags{Prompt: "go"})
	if n := strings.Count(got.about, "refused a signed block"); n != 1 {
		t.Errorf("it is said %d times: %s", n, got.about)
	}
	requests := s.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	lacks(t, "request behind the refusal", string(requests[2].Body), `"thinking":"old"`)
	contains(t, "last request", string(requests[3].Body), `"thinking":"new"`)
	lacks(t, "last request", string(requests[3].Body), `"thinking":"old"`)

	// It holds for the session, also in another process.
	s.Add(content(fakemodel.Text("yes")))
	h.asksClaude(s, coder.Flags{Prompt: "on", Continue: true})
	requests = s.Requests()
	lacks(t, "request behind a resume", string(requests[4].Body), `"thinking":"old"`)
	contains(t, "request behind a resume", string(requests[4].Body), `"thinking":"new"`)
}

func TestTooLongIsMadeShorterOnce(t *testing.T) {
	h, s := claudeHouse(
		t,
		content(bash("echo 1")),
		fakemodel.Entry{Error: &fakemodel.APIError{Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 212000 tokens > 200000 maximum"}},
		fakemodel.Entry{Match: regexp.MustCompile("Write a summary"), Content: fakemodel.Say("SUMMARY")},
		content(fakemodel.Text("end")),
	)
	h.asksClaude(s, coder.Flags{Prompt: "go"})
	requests := s.Requests()
	contains(t, "last request", string(requests[len(requests)-1].Body), "SUMMARY")
}

func TestB145ALeftBranchCanBeGoneBackTo(t *testing.T) {
	h := newHouse(t, calls("checkpoint", "goal", "a"), calls("bash", "command", "echo inside"), calls("rewind", "report", "r"), says("end"))
	h.works(coder.Flags{Prompt: "go", Conversation: true})
	var left string
	for _, e := range h.session().Entries() {
		if e.Rewind != nil {
			left = e.Rewind.FromID
		}
	}
	h.model.Add(says("back"))
	h.works(coder.Flags{Prompt: "back there", Resume: h.session().ID() + "/" + left, Conversation: true})
	contains(t, "history", string(h.last().Body), "echo inside")
	h.model.Add(says("back"))
	h.works(coder.Flags{Prompt: "again", Resume: left, Conversation: true})
	contains(t, "history", string(h.last().Body), "echo inside", `"again"`)
	lacks(t, "history", string(h.last().Body), "back there")
}

func TestASessionInUseIsRefusedAndCanBeForked(t *testing.T) {
	h := newHouse(t, says("one"))
	h.works(coder.Flags{Prompt: "go"})
	id := h.session().ID()
	held := h.holds(id)
	got := h.does(t.Context(), coder.Flags{Prompt: "on", Resume: id, Yes: true})
	if got.err == nil || !strings.Contains(got.err.Error(), "session in use by pid") {
		t.Errorf("error %v", got.err)
	}
	h.model.Add(says("two"))
	h.works(coder.Flags{Prompt: "on", Resume: id, Fork: true})
	equal(t, "history of the copy", shape(h.last()), "user: go\nassistant: one\nuser: on")
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}
